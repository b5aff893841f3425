import copy
import dataclasses
import math
import re

import numpy as np
import pytest
import torch

from almanac.errors import AlmanacError
from almanac.models import asked as lots_of_requests
from almanac.models.answering import LocalAnswerer, answer
from almanac.models.options import ENGINES
from almanac.models.scoring import prefix_cache, reference, selftest
from almanac.models.scoring.boundaries import TokenSequence
from almanac.models.scoring.forest import decoding, reading
from almanac.rows import Request

CONTEXT = "Ada Lovelace London Paris France Rome Italy Bordira clock tape river towns London"
CONTEXTS = {"c": CONTEXT}
CHOICES = (" France", " Italy and Rome", " 3M", " naïve café", ".", " x")


def requests_of(count=12):
    texts = [" Paris", " Rome", " the red clock of", " Zoë said", " 3M", ""]
    asked = [
        Request(f"choices-{index}", "choices", "c", texts[index % 6] + " is" * (index // 6), choices=CHOICES)
        for index in range(count)
    ]
    asked.append(Request("spans", "spans", "c", " Paris is red", span_starts=(1,), span_ends=(6,), per_token=True))
    asked.append(Request("pieces", "spans", None, "", pieces=("Paris", " is", " red")))
    asked.append(Request("generate", "generate", "c", " Paris", max_new_tokens=4, samples=2, temperature=1.0, seed=3))
    asked.append(Request("fill", "fill", "c", " Paris is [MASK]", top_k=3, choices=("red", "the")))
    return asked


def scored_by(responses):
    """Return the ways by which log-probabilities were computed."""
    return {response.engine for response in responses if response.logprobs is not None}


@pytest.mark.parametrize("name", ["llama", "gpt2", "bert", "modernbert"])
def test_there_is_one_response_for_every_request_in_order(model, name):
    asked = requests_of()
    counted = []
    responses = LocalAnswerer(model(name)).answer(asked, CONTEXTS, counted.append)
    assert [response.request_id for response in responses] == [request.request_id for request in asked]
    assert sum(counted) == len(asked)
    by_id = {response.request_id: response for response in responses}
    for request in asked:
        response = by_id[request.request_id]
        assert response.model_digest == model(name).digest
        if request.kind == "generate" and name in ("bert", "modernbert"):
            assert response.status == "unsupported"
            assert "answers choices, fill, similarity, spans;" in response.reason
            continue
        assert (response.status, response.reason) == ("ok", None)
        if request.choices is not None:
            assert len(response.logprobs) == len(response.token_counts) == len(request.choices)
    if name in ("llama", "gpt2"):
        assert len(by_id["generate"].texts) == 2
        assert not any(text.startswith(CONTEXT) for text in by_id["generate"].texts)
    assert len(by_id["spans"].token_logprobs) == by_id["spans"].token_counts[0]


def test_without_bos_the_first_token_is_skipped(model):
    request = Request("pieces", "spans", None, "", pieces=("Paris", " is"))
    [with_bos], [without] = (answer(model(name), [request], {}) for name in ("llama", "gpt2"))
    first, second = (len(model("gpt2").tokens.ids(piece)) for piece in request.pieces)
    assert with_bos.token_counts == (first, second)
    assert without.token_counts == (first - 1, second)
    if first == 1:
        assert without.logprobs[0] == 0


@pytest.mark.parametrize("name", ["llama", "llama2", "gpt2", "neox"])
def test_all_engines_agree_and_the_difference_is_recorded(model, name):
    asked = requests_of(30)
    plain = answer(model(name), asked, CONTEXTS, engine="reference")
    assert scored_by(plain) == {"reference/1"}
    for engine in ENGINES[:-1]:
        answerer = LocalAnswerer(model(name), engine)
        record = answerer.record()
        assert record["engine"] == f"{engine}/1"
        assert record["model"] == model(name).digest
        assert re.fullmatch(r"\d\.\de[+-]\d\d nats at most on \d+ sequences", record["self_test"])
        responses = answerer.answer(asked, CONTEXTS)
        assert responses[0].engine == f"{engine}/1"
        for a, b in zip(responses, plain, strict=True):
            assert (a.status, a.texts, a.token_counts, a.tokens, a.ranks) == (
                b.status,
                b.texts,
                b.token_counts,
                b.tokens,
                b.ranks,
            )
            assert (a.logprobs or ()) == pytest.approx(b.logprobs or (), abs=1e-4)
            assert (a.token_logprobs or ()) == pytest.approx(b.token_logprobs or (), abs=1e-4)


@pytest.mark.parametrize("name", ["llama", "bert"])
def test_the_order_of_the_requests_does_not_matter(model, name):
    asked = requests_of()
    forwards = answer(model(name), asked, CONTEXTS)
    backwards = answer(model(name), asked[::-1], CONTEXTS)
    assert forwards == backwards[::-1]


def test_what_else_is_asked_does_not_matter(model):
    asked = requests_of()
    together = answer(model("llama"), asked, CONTEXTS)
    for request, expected in zip(asked, together, strict=True):
        [alone] = answer(model("llama"), [request], CONTEXTS)
        assert alone.texts == expected.texts
        assert (alone.logprobs or ()) == pytest.approx(expected.logprobs or (), abs=1e-5)


@pytest.mark.parametrize("name", ["llama", "gpt2", "bert"])
def test_where_only_the_best_choice_is_asked_it_and_its_share_are_the_same(model, name):
    words = CONTEXT.split()
    choices = tuple(dict.fromkeys(f" {first} {second}" for first in words for second in words[:5]))
    asked = [dataclasses.replace(one, choices=choices) for one in requests_of(24) if one.kind == "choices"]
    network = copy.deepcopy(model(name).network)
    with torch.no_grad():
        network.get_output_embeddings().weight.mul_(4)  # So that some choices are as unlikely as with real models.
    sure = dataclasses.replace(model(name), network=network)
    whole = answer(sure, asked, CONTEXTS)
    best = answer(sure, [dataclasses.replace(one, best_only=True) for one in asked], CONTEXTS)
    for a, b in zip(best, whole, strict=True):
        values, right = np.array(a.logprobs), np.array(b.logprobs)
        left = np.array(a.bounds or [False] * len(choices))
        assert values.argmax() == right.argmax()
        assert (a.status, a.token_counts, a.engine) == (b.status, b.token_counts, b.engine)
        assert not left[values.argmax()]
        assert (values >= right - 1e-4).all()
        assert np.abs(values - right)[~left].max() <= 1e-4
        shares = [np.exp(one.max() - np.logaddexp.reduce(one)) for one in (values, right)]
        assert shares[0] == pytest.approx(shares[1], rel=2e-4)
    # A masked model reads a choice whole or not at all.
    assert any(any(one.bounds or ()) for one in best) == (name != "bert")
    assert all(one.bounds is None for one in whole)


def shifted(right, by, longer=0):
    """Return scoring that is wrong by a little: for every text, or for those longer than the probes alone."""

    def wrong(machine, model, sequences, *arguments, **options):
        values = right(machine, model, sequences, *arguments, **options)
        return [
            [[value + (by if one.length > longer else 0) for value in part] for part in parts]
            for one, parts in zip(sequences, values, strict=True)
        ]

    return wrong


def test_a_way_that_is_wrong_on_the_probes_is_passed_over_at_load(model, monkeypatch, capsys):
    monkeypatch.setattr(reading, "score", shifted(reading.score, 2e-3))
    answerer = LocalAnswerer(model("llama"))
    assert answerer.record()["engine"] == "prefix_cache/1"
    said = capsys.readouterr().err
    assert re.search(r"passed over forest: differs from the reference by 0\.0\d+ nats", said)
    assert "passed over stock_mask" in said
    assert scored_by(answerer.answer(requests_of(), CONTEXTS)) == {"prefix_cache/1"}


@pytest.mark.parametrize(("exact", "least"), [(True, 1e-3), (False, 0.5)])
def test_sums_may_differ_by_so_much_a_token(exact, least):
    plain = [[[-3.0, -1.0]], [[-2.0]]]
    for by, agrees in ((0.9 * least, True), (1.1 * least, False)):
        shifted = [[[value + by for value in part] for part in parts] for parts in plain]
        found = selftest.compare(shifted, plain, exact)
        assert (found.agrees, found.largest) == (agrees, pytest.approx(2 * by))


def test_a_deep_model_that_differs_by_rounding_alone_is_not_passed_over(model):
    deep = model("deep")
    probes = selftest.probes(deep)
    plain = reference.score(deep, probes)
    twice = dataclasses.replace(deep, network=copy.deepcopy(deep.network).double())
    rounding = selftest.compare(plain, reference.score(twice, probes), True)
    assert rounding.largest > 3e-4, "the model is too shallow to tell"
    answerer = LocalAnswerer(deep)
    assert (answerer.engine, answerer.tested.decodes) == ("forest", True)
    assert scored_by(answerer.answer(requests_of(), CONTEXTS)) == {"forest/1"}


def test_texts_are_continued_together_only_where_they_are_those_of_plain_passes(model, monkeypatch):
    right = decoding.generate

    def wrong(machine, prompts):
        found = right(machine, prompts)
        for own in found:
            own[0].ids[-1] = (own[0].ids[-1] + 1) % machine.model.vocabulary
        return found

    assert LocalAnswerer(model("llama")).machine is not None
    monkeypatch.setattr(decoding, "generate", wrong)
    answerer = LocalAnswerer(model("llama"))
    assert answerer.machine is None
    assert "shared decoding: a token of a greedy text is" in answerer.tested.passed_over[0]


def test_a_way_that_is_wrong_only_on_what_is_asked_is_noticed_there(model, monkeypatch, capsys):
    monkeypatch.setattr(reading, "score", shifted(reading.score, 2e-3, longer=75))
    best = [Request(f"best-{at}", "choices", "c", " the" * at, choices=CHOICES, best_only=True) for at in range(6)]
    asked = [Request("long", "choices", None, " 3M naïve café" * 21, choices=CHOICES), *requests_of(), *best]
    answerer = LocalAnswerer(model("llama"))
    assert answerer.record()["engine"] == "forest/1"
    assert 75 < len(model("llama").tokens.ids(asked[0].text)) < 90
    responses = answerer.answer(asked, CONTEXTS)
    assert responses[0].engine == "prefix_cache/1"
    assert "forest/1 cannot be used" in capsys.readouterr().err
    # What the forest left unfinished is scored to its end by the next way.
    assert {response.bounds for response in responses} == {None}
    for a, b in zip(responses, answer(model("llama"), asked, CONTEXTS, engine="reference"), strict=True):
        assert (a.logprobs or ()) == pytest.approx(b.logprobs or (), abs=1e-5)


@pytest.mark.parametrize("error", [prefix_cache.NoCacheError("no keys"), ValueError("a layer of its own kind")])
def test_a_model_whose_cache_is_of_no_use_goes_by_the_reference(model, monkeypatch, capsys, error):
    def refuse(*arguments):
        raise error

    monkeypatch.setattr(prefix_cache, "score", refuse)
    answerer = LocalAnswerer(model("llama"), "prefix_cache")
    assert f"passed over prefix_cache: {type(error).__name__}: {error}" in capsys.readouterr().err
    responses = answerer.answer(requests_of(), CONTEXTS)
    assert scored_by(responses) == {"reference/1"}
    assert {response.status for response in responses} == {"ok"}


def test_what_is_too_long_is_said_with_both_lengths_and_not_truncated(model):
    long = "Paris is the capital of France. " * 30
    asked = [
        Request("c", "choices", None, long, choices=(" red",)),
        Request("s", "spans", None, long, span_starts=(0,), span_ends=(5,)),
        Request("g", "generate", None, long, max_new_tokens=1),
        Request("g2", "generate", None, "Paris", max_new_tokens=96),
        Request("f", "fill", None, long + "[MASK]", top_k=1),
        Request("short", "choices", None, "Paris is", choices=(" red",)),
    ]
    responses = answer(model("llama"), asked, {})
    assert [response.status for response in responses] == ["too_long"] * 5 + ["ok"]
    for response in responses[:5]:
        tokens, limit = map(int, re.findall(r"\d+", response.reason))
        assert tokens > limit == 96
    assert responses[0].logprobs is None


def test_the_last_token_that_fits_fits(model):
    one = model("llama")
    room = 96 - len(one.wrap(one.tokens.ids("Paris"))[0])
    fits, over = (Request(str(new), "generate", None, "Paris", max_new_tokens=new) for new in (room, room + 1))
    assert [response.status for response in answer(one, [fits, over], {})] == ["ok", "too_long"]


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (Request("r", "choices", None, "Paris", choices=("",)), "no token that can be scored"),
        (Request("r", "choices", None, "Paris"), "no choices"),
        (Request("r", "spans", None, "Paris", span_starts=(0,), span_ends=(9,)), "does not lie in the text"),
        (Request("r", "generate", None, "Paris", max_new_tokens=2, temperature=1.0), "needs a seed"),
        (Request("r", "generate", None, "Paris"), "max_new_tokens"),
    ],
)
def test_a_malformed_request_fails_with_its_reason(model, request_, reason):
    [response] = answer(model("llama"), [request_], {})
    assert response.status == "failed"
    assert reason in response.reason


def test_an_unknown_kind_is_unsupported(model):
    [response] = answer(model("llama"), [Request("r", "translation", None, "Paris")], {})
    assert response.status == "unsupported"
    assert "'translation'" in response.reason


def test_one_request_that_fails_does_not_take_others_with_it(model, monkeypatch):
    right = lots_of_requests.tokenise

    def fragile(requests, contexts, model):
        if any(request.request_id == "choices-3" for request in requests):
            raise RuntimeError("it broke")
        return right(requests, contexts, model)

    monkeypatch.setattr(lots_of_requests, "tokenise", fragile)
    responses = {response.request_id: response for response in answer(model("llama"), requests_of(), CONTEXTS)}
    assert (responses["choices-3"].status, responses["choices-3"].reason) == ("failed", "RuntimeError: it broke")
    assert {response.status for name, response in responses.items() if name != "choices-3"} == {"ok"}


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_finite_number_is_no_answer(model, value):
    one = dataclasses.replace(model("llama"), network=_spoilt(model("llama").network, value))
    asked = requests_of(6)
    for engine in ENGINES:
        for response in answer(one, asked, CONTEXTS, engine=engine):
            assert response.status == "failed"
            assert "finite" in response.reason
            assert response.logprobs is None


def _spoilt(network, value):
    spoilt = copy.deepcopy(network)
    with torch.no_grad():
        spoilt.lm_head.weight[:] = value
    return spoilt


def test_a_missing_context_and_a_repeated_request_are_named(model):
    request = requests_of()[0]
    with pytest.raises(AlmanacError, match="request choices-0: its context c is not among the 0 contexts"):
        answer(model("llama"), [request], {})
    with pytest.raises(AlmanacError, match="request choices-0 occurs twice"):
        answer(model("llama"), [request, request], CONTEXTS)
    with pytest.raises(
        AlmanacError, match="engine 'fast' is unknown; allowed are forest, stock_mask, prefix_cache, reference"
    ):
        answer(model("llama"), [request], CONTEXTS, engine="fast")


def test_no_requests_are_answered_by_no_responses(model):
    assert answer(model("llama"), [], {}) == []


def test_the_sample_is_spread_over_the_lengths_whatever_the_order():
    sequences = [TokenSequence(tuple(range(length)), ((length - 1, length),)) for length in range(2, 42)]
    names = [str(sequence.length) for sequence in sequences]
    chosen = selftest.sample(sequences, names, 5)
    assert chosen[-1] == 39
    assert all(
        index in part
        for index, part in zip(chosen, (range(9), range(9, 19), range(19, 29), range(29, 39)), strict=False)
    )
    backwards = selftest.sample(sequences[::-1], names[::-1], 5)
    assert [39 - index for index in backwards] == chosen
    assert sorted(selftest.sample(sequences[:3], names[:3], 8)) == [0, 1, 2]
    assert selftest.sample(sequences, names, 1) == [39]
    assert selftest.sample(sequences, names, 0) == []


def test_memory_that_runs_out_costs_time_and_no_answer(model, monkeypatch):
    right = reference._score_causal

    def small(model, batch):
        if len(batch) > 2:
            raise torch.OutOfMemoryError("out of memory")
        return right(model, batch)

    asked = requests_of(3)
    expected = answer(model("llama"), asked, CONTEXTS, engine="reference")
    monkeypatch.setattr(reference, "_score_causal", small)
    for a, b in zip(answer(model("llama"), asked, CONTEXTS, engine="reference"), expected, strict=True):
        assert a.status == "ok"
        assert (a.logprobs or ()) == pytest.approx(b.logprobs or (), abs=1e-5)
