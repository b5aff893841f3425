"""What the page says of requests that failed: how many, of which model, and the commonest reason."""

from collections import Counter
from dataclasses import replace
from itertools import cycle

import torch
from tests.edition.test_makers import CONFIGURATION
from tests.report import editions
from tests.report.test_answer import finding
from tests.suites.ic_lke.small_world import tiny_model

from almanac import tables
from almanac.cli import main
from almanac.config import Asking
from almanac.models.answering import LocalAnswerer
from almanac.report.failing import NOT_FINITE, Failures, Unanswered, unanswered
from almanac.report.sentences import sentences
from almanac.rows import Entity, Relation, Request, Response, Template
from almanac.suites.headline import ABOVE_CHANCE, TOO_FEW


def test_the_page_names_a_model_whose_weights_are_no_numbers(tmp_path, capsys):
    broken = tiny_model.__wrapped__()
    with torch.no_grad():
        for weights in broken.network.parameters():
            weights.fill_(torch.nan)
    entities = [Entity(f"{kind}{at}", f"{kind}{at}", (), None) for kind in "QO" for at in range(60)]
    template = Template("t", "P1", "[X] was made by [Y].", "statement", "x", None, ())
    known = editions.Known([Relation("P1", "maker", *[None] * 4)], editions.facts_of(["P1"]), entities, [template])
    config = CONFIGURATION | {
        "sources": {"real": {"path": "facts"}},
        "datasets": {"invented": {"source": "real", **editions.SIZES}},
        "models": [{"name": "nan", "path": "nan"}],
    }
    layout = editions.asked(tmp_path, config, known)
    editions.answered(layout, lambda _: LocalAnswerer(broken))
    editions.measure(layout)
    said = "requests of nan failed: log-probability 1 of 6 is nan, which is no finite number of nats; " + NOT_FINITE
    assert f"All 4 {said}" in layout.page().read_text("utf-8")
    assert main(["report", "found", "--edition", str(layout.root)]) == 0
    printed = capsys.readouterr().out
    assert said in printed
    assert "answered up to 0" not in printed


def test_requests_that_failed_are_counted_and_a_model_without_any_answer_is_no_model_of_another_kind():
    some = Failures({"the server is busy.": 2, "no token": 1}, 240)
    rows = [finding("m", "asking", ABOVE_CHANCE), finding("n", "asking", TOO_FEW, facts=0)]
    failed = {"m": some, "n": Failures({"is nan, no finite number": 8}, 8)}
    found = sentences(rows, missing=Unanswered(failed))
    assert found.found[1:] == [
        "3 of 240 requests of m failed, most often: the server is busy.",
        f"All 8 requests of n failed: is nan, no finite number; {NOT_FINITE}",
    ]
    assert found.notes == []


LONG = "300 tokens; the model reads at most 256"


def asked_of(model, label):
    """A method that a model did not answer, and what was asked for it."""
    row = finding(model, label, TOO_FEW, facts=0)
    return row, Asking(model, row.known.suite, row.known.dataset)


def test_texts_that_are_too_long_are_told_as_that_and_not_as_what_a_model_cannot_do():
    (short, _), (masked, fills) = asked_of("short", "sequences"), asked_of("masked", "asking")
    long = Unanswered({}, {Asking("short", "eic_lke", "world"): Failures({LONG: 2183}, 2184)})
    assert list(long.notes()) == [
        "Too long for short (at most 256 tokens are read): 2,183 of 2,184 texts of EIC-LKE (world). "
        "Fewer examples, a shorter wrapper or less thinking make a text shorter."
    ]
    [found] = long.too_long.values()
    more = {
        Asking(model, "eic_lke", "world"): replace(found, reasons={reason: 2183})
        for model, reason in (("a", LONG), ("b", "too long"))
    }
    [alike, unlike] = Unanswered({}, {**long.too_long, **more}).notes()
    assert alike.startswith("Too long for short, a (at most") and unlike.startswith("Too long for b: 2,183")
    row = short._replace(known=replace(short.known, suite="eic_lke"))
    rows = [finding("m", "asking", ABOVE_CHANCE), row, masked]
    declined = Failures({"the model answers fill; the request is of the kind 'choices'": 3, "other": 1}, 9)
    assert sentences(rows, missing=long._replace(unsupported={fills: declined})).notes == [
        "No answers from masked to asking. "
        "Why, most often: “the model answers fill; the request is of the kind 'choices'”.",
        *long.notes(),
    ]
    assert sentences(rows).notes == ["No answers from short to sequences. No answers from masked to asking."]


def test_a_suite_that_asks_nothing_of_a_dataset_says_so_with_the_reason(tmp_path, capsys):
    entities = [Entity(f"{kind}{at}", f"{kind}{at}", (), None) for kind in "QO" for at in range(60)]
    known = editions.Known([Relation("P1", "maker", *[None] * 4)], editions.facts_of(["P1"]), entities, [])
    config = {
        "sources": {"real": {"path": "facts"}},
        "datasets": {"real": {"source": "real", **editions.SIZES}},
        "suites": {"head_to_tail": {"real": {}}, "ic_lke": {"real": {"shots": 2}}},
        "models": [{"name": "m", "path": "m"}],
    }
    layout = editions.asked(tmp_path, config, known)
    editions.finish(layout, lambda model, request: Response(request.request_id, "failed", "busy"))
    capsys.readouterr()
    assert main(["report", "found", "--edition", str(layout.root)]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if " is asked by Head" in line]
    assert len(said) == 1 and said[0].startswith("Nothing of dataset real is asked by Head-to-Tail. "), said
    assert said[0] in layout.page().read_text("utf-8") and "the first: " in said[0]


def test_where_a_served_model_that_wrote_by_chat_knows_nothing_a_base_model_is_thought_of(tmp_path):
    entities = [Entity(f"{kind}{at}", f"{kind}{at}", (), None) for kind in "QO" for at in range(60)]
    known = editions.Known([Relation("P1", "maker", *[None] * 4)], editions.facts_of(["P1"]), entities, [])
    served = {"api": "http://127.0.0.1:9/v1", "api_model": "m"}
    config = {
        "sources": {"real": {"path": "facts"}},
        "datasets": {"real": {"source": "real", **editions.SIZES}},
        "suites": {"lke_generated": {"real": {"shots": 2}}},
        "models": [
            {"name": "chatted", **served},
            {"name": "continued", **served, "api_generate_with": "completions"},
        ],
    }
    layout = editions.asked(tmp_path, config, known)
    editions.finish(layout, lambda model, request: Response(request.request_id, "ok", None, texts=("nothing",)))
    page = layout.page().read_text("utf-8")
    assert "What chatted wrote was asked for as chat messages." in page and "continued wrote" not in page


def test_models_of_the_same_weights_and_weights_that_are_not_used_are_told(tmp_path, capsys):
    """A training that saved its base reads like one that changed nothing."""
    entities = [Entity(f"{kind}{at}", f"{kind}{at}", (), None) for kind in "QO" for at in range(60)]
    known = editions.Known([Relation("P1", "maker", *[None] * 4)], editions.facts_of(["P1"]), entities, [])
    weights = {"base": "a", "short": "a", "tuned": "a", "other": "b"}
    config = {
        "sources": {"real": {"path": "facts"}},
        "datasets": {"real": {"source": "real", **editions.SIZES}},
        "suites": {"lke_generated": {"real": {"shots": 2}}},
        "models": [{"name": one, "path": one} for one in weights if one != "short"],
    }
    config["models"].append({"name": "short", "path": "base", "dtype": "bfloat16"})
    layout = editions.asked(tmp_path, config, known)

    def reply(model, files):
        rows = [Response(one.request_id, "ok", None, texts=("x",)) for one in tables.read(files.requests, Request)]
        said = {"almanac.weights": weights[model]} | ({"almanac.unused": "h.0.gate"} if model == "other" else {})
        tables.write(files.output, Response, rows, said)

    editions.play(layout, reply)
    editions.measure(layout)
    capsys.readouterr()
    assert main(["report", "found", "--edition", str(layout.root)]) == 0
    printed, page = capsys.readouterr().out, layout.page().read_text("utf-8")
    for said in (
        "The weights of base, tuned, short are the same, to the byte.",
        "The network that other's config.json describes has no place for some of its weights: h.0.gate.",
    ):
        assert said in printed and said[:20] not in page, "an archive does not hold what it rests on"


def test_why_nothing_was_answered_is_read_from_the_responses(tmp_path):
    reasons = cycle(
        (
            ("too_long", LONG),
            ("unsupported", "a decoder fills no blanks"),
            ("failed", "the server is busy"),
        )
    )

    def answer(model, request):
        return Response(request.request_id, *next(reasons))

    entities = [Entity(f"{kind}{at}", f"{kind}{at}", (), None) for kind in "QO" for at in range(60)]
    known = editions.Known([Relation("P1", "maker", *[None] * 4)], editions.facts_of(["P1"]), entities, [])
    config = CONFIGURATION | {"datasets": {"invented": {"source": "real", **editions.SIZES}}}
    config |= {"sources": {"real": {"path": "facts"}}, "models": [{"name": "m", "path": "m"}], "shards": 2}
    layout = editions.asked(tmp_path, config, known)
    editions.finish(layout, answer)
    found, [asking] = unanswered(layout), layout.config.asked()
    [files] = layout.rounds(asking)
    status = Counter(row.status for path in files.responses for row in tables.read(path, Response))
    assert set(status) == {"too_long", "unsupported", "failed"}
    assert found.failed == {"m": Failures({"the server is busy": status["failed"]}, status.total())}
    assert found.too_long == {asking: Failures({LONG: status["too_long"]}, status.total())}
    assert found.unsupported == {asking: Failures({"a decoder fills no blanks": 1}, 4)}
