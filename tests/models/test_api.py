"""Models behind a server: the numbers of the plain forward pass come back, and nothing is lost."""

import math
import re
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from tests.models.servers import Reply, Wire, proxy, reference_wire

from almanac import tables
from almanac.cli import main
from almanac.errors import AlmanacError
from almanac.models.api import ApiAnswerer
from almanac.models.api.client import Server
from almanac.models.options import AnswerOptions
from almanac.models.scoring import reference
from almanac.models.scoring.blanks import read_blank
from almanac.models.scoring.boundaries import tokenise
from almanac.rows import Context, Request, Response

CONTEXT = "Ada Lovelace was born in London in 1815. "
SCORES = ("choices", "spans", "fill")


def choices(number, text, *words, **more):
    return Request(f"choices {number}", "choices", None, text, choices=words, **more)


REQUESTS = [
    choices(1, "The capital of France is", " Paris", " Rome", " the red clock", "."),
    choices(2, "", "Paris", "Bordira makes", "1990 times"),
    Request("choices 3", "choices", "long", "Paris is the", choices=(" capital of France", " tape"), per_token=True),
    Request("spans 1", "spans", None, "Rome is the capital of Italy.", span_starts=(0, 12, 23), span_ends=(4, 19, 28)),
    Request("spans 2", "spans", "long", "The clock is red", span_starts=(4,), span_ends=(9,), per_token=True),
    Request("spans 3", "spans", None, "Ada was born", span_starts=(0, 4), span_ends=(3, 7)),
    Request("fill 1", "fill", None, "The tape of Paris is [MASK]", choices=("blue", "red", "born in London")),
]
PIECES = Request("pieces", "spans", None, "The", pieces=(" river", " flows", " naïve"))


def plain(request, model):
    """The log-probabilities of the plain forward pass of the local model."""
    if request.kind == "fill":
        sequences = read_blank(request, request.text, model).choices
    else:
        [tokenised] = tokenise([request], {"long": CONTEXT}, model)
        assert tokenised.problem is None
        sequences = tokenised.sequences
    return [part for value in reference.score(model, list(sequences)) for part in value]


def options(url, **more):
    return AnswerOptions(**{"api": url, "api_retries": 3, "kinds": SCORES} | more)


@pytest.fixture(scope="module", params=["llama", "llama2", "gpt2"])
def served(request, checkpoint, model):
    """A model, the wire that serves it, its URL, and its tokenizer's folder."""
    wire = reference_wire(model(request.param))
    with wire.running() as url:
        yield model(request.param), wire, url, checkpoint(request.param)


@pytest.fixture(scope="module")
def target(model):
    """The URL of a server that scores as it should."""
    with reference_wire(model("llama")).running() as url:
        yield url


@pytest.fixture(scope="module")
def ready(target):
    """An answerer that has passed the self-test; `asked` sends its calls elsewhere afterwards."""
    return ApiAnswerer(options(target))


def asked(answerer, url, *requests, **more):
    server = answerer._server
    home = server.url, server.options
    server.url, server.options = url, server.options.model_copy(update=more)
    answerer._echoes.clear()
    try:
        return answerer.answer(requests, {})
    finally:
        server.url, server.options = home


@pytest.mark.parametrize("by_ids", [False, True], ids=["text", "ids"])
def test_scores_are_those_of_the_plain_forward_pass(served, by_ids):
    model, _, url, folder = served
    answerer = ApiAnswerer(options(url, api_tokenizer=str(folder) if by_ids else None))
    requests = [*REQUESTS, *([PIECES] if by_ids else [])]
    for request, response in zip(requests, answerer.answer(requests, {"long": CONTEXT}), strict=True):
        values = plain(request, model)
        assert (response.request_id, response.status) == (request.request_id, "ok"), response.reason
        assert response.logprobs == pytest.approx([math.fsum(part) for part in values], abs=1e-5)
        assert response.token_counts == tuple(len(part) for part in values)
        if request.per_token:
            assert response.token_logprobs == pytest.approx([value for part in values for value in part], abs=1e-5)
        assert (response.model_digest, response.engine) == (answerer.digest, "api/1")


def test_equal_prompts_of_a_window_are_asked_once_and_no_more_at_a_time_than_allowed(served):
    _, wire, url, _ = served
    answerer = ApiAnswerer(options(url, api_concurrency=3))
    wire.calls.clear()
    wire.most = 0
    requests = [choices(number, "The river", " flows", " is", " flows") for number in range(9)]
    done = []
    found = answerer.answer(requests, {}, done.append)
    assert len(wire.bodies) == 2
    assert 1 <= wire.most <= 3
    assert sum(done) == 9
    assert [response.request_id for response in found] == [request.request_id for request in requests]
    assert len({response.logprobs for response in found}) == 1


def test_what_cannot_be_asked_is_said(ready):
    requests = [
        PIECES,
        Request("top", "fill", None, "Paris is [MASK]", choices=("red",), top_k=5),
        Request("middle", "fill", None, "The [MASK] is red", choices=("clock",)),
        Request("generate", "generate", None, "The", max_new_tokens=2),
        choices("none", "The"),
        choices("long", "The river " * 60, " flows"),
        Request("outside", "spans", None, "The", span_starts=(1,), span_ends=(9,)),
        choices("first", "", "a"),
    ]
    found = {response.request_id: response for response in ready.answer(requests, {})}
    statuses = {name.removeprefix("choices "): response.status for name, response in found.items()}
    assert statuses == {
        "pieces": "unsupported",
        "top": "unsupported",
        "middle": "unsupported",
        "generate": "unsupported",
        "none": "failed",
        "long": "too_long",
        "outside": "failed",
        "first": "ok",
    }
    assert "api_tokenizer" in found["pieces"].reason
    assert "maximum context length is 96" in found["choices long"].reason


# Retries: faults in front of a server that scores as it should.


def too_many(wait):
    return lambda forward: Reply.of({"error": {"message": "slow down"}}, 429, Retry_After=wait())


def in_a_date(seconds):
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


def broken(forward):
    return Reply.of({"error": {"message": "engine"}}, 500)


def cut(forward):
    return Reply(200, forward().body, cut=True)


def half(forward):
    body = forward().body
    return Reply(200, body[: len(body) // 2])


def page(forward):
    return Reply(200, b"<html>please wait</html>", {"Content-Type": "text/html"})


def late(forward):
    time.sleep(60)  # much longer than the client waits; nobody waits for this thread
    return forward()


def closed(forward):
    return Reply(200, b"", {"Content-Length": "40"}, cut=True)


@pytest.mark.parametrize(
    ("fault", "wait"),
    [
        (too_many(lambda: "1"), 1.0),
        (too_many(lambda: in_a_date(3)), 1.0),
        (broken, 0.3),
        (cut, 0.3),
        (half, 0.3),
        (page, 0.3),
        (late, 1.0),
        (closed, 0.3),
    ],
    ids=["seconds", "date", "500", "cut", "half", "page", "late", "closed"],
)
def test_what_fails_on_the_way_is_asked_again_after_a_wait(target, ready, fault, wait):
    wire = proxy(target, faults=[fault])
    patience = {"api_timeout": 4} if fault is late else {}  # longer than a busy machine takes for the second call
    with wire.running() as url:
        [response] = asked(ready, url, choices(1, "The river", " flows"), **patience)
    assert response.status == "ok", response.reason
    assert len(wire.calls) == 2
    assert wire.times[1] - wire.times[0] >= wait


def test_one_request_that_fails_for_good_fails_alone(target, ready):
    def poison(call):
        if "poison" in str(call.body):
            return Reply.of({"error": {"message": "bad word"}}, 400)
        return call.pass_on(target)

    with Wire(poison).running() as url:
        found = asked(ready, url, choices(1, "The", " tape"), choices(2, "poison", " tape"), REQUESTS[3])
    assert [response.status for response in found] == ["ok", "failed", "ok"]
    assert found[1].reason == "HTTP 400: bad word"


def test_what_a_server_that_was_away_has_cost_is_asked_once_more_at_the_end(target):
    away = 0

    def restarting(call):
        nonlocal away
        away -= 1
        return Reply.of({"error": {"message": "loading"}}, 503) if 0 <= away < 3 else call.pass_on(target)

    wire = Wire(restarting)
    with wire.running() as url:
        answerer = ApiAnswerer(options(url, api_retries=0, api_concurrency=1))
        before, away, kept = len(wire.calls), 4, []
        asking = [choices(number, f"The {number}", " tape") for number in range(6)]
        found = answerer.answer(asking, {}, keep=kept.append)
    assert [(one.request_id, one.status) for one in found] == [(one.request_id, "ok") for one in asking]
    assert [one.request_id[-1] for one in kept] == list("045123"), "each is kept once"
    assert len(wire.calls) - before == 6 + 3


def test_what_one_of_many_calls_at_a_time_has_lost_is_asked_again_whatever_the_others_find(target):
    begun = set()

    def busy(call):
        asked = str(call.body)
        if "poor" in asked and asked not in begun:  # The first time of each; others succeed meanwhile.
            begun.add(asked)
            time.sleep(0.05)
            return Reply.of({"error": {"message": "busy"}}, 503)
        return call.pass_on(target)

    with Wire(busy).running() as url:
        answerer = ApiAnswerer(options(url, api_retries=0, api_concurrency=4))
        asking = [choices(at, f"The {'poor' if at % 3 == 0 else 'good'} {at}", " tape") for at in range(18)]
        assert {one.status for one in answerer.answer(asking, {})} == {"ok"}
    assert len(begun) == 6


def sampling(answer, samples, **more):
    """Four requests of so many samples, of a server of chats, and the seeds of what each call asked."""

    def chatting(call):
        if call.method == "GET":
            return Reply.of({"data": [{"id": "m"}]})
        return answer(call) if call.body.get("seed") else Reply.of({"choices": [{"message": {"content": "fine"}}]})

    wire = Wire(chatting)
    asking = [
        Request(str(at), "generate", None, str(at), max_new_tokens=4, samples=samples, temperature=1.0, seed=at)
        for at in range(4)
    ]
    with wire.running() as url:
        answerer = ApiAnswerer(AnswerOptions(api=url, kinds=("generate",), **{"api_retries": 0} | more))
        found = answerer.answer(asking, {})
    return found, [body["seed"] for body in wire.bodies if "seed" in body]


MESSAGES = {
    "text": ({"content": "Rome"}, "ok", "Rome"),
    "parts": ({"content": [{"type": "text", "text": "Ro"}, {"type": "text", "text": "me"}]}, "ok", "Rome"),
    "reference": ({"content": [{"type": "text", "text": "Rome"}, {"type": "reference", "ids": [1]}]}, "ok", "Rome"),
    "thought": (
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "?"}]},
                {"type": "text", "text": "\nRome"},
            ]
        },
        "ok",
        "Rome",
    ),
    "only thought": (
        {"content": [{"type": "thinking", "thinking": []}]},
        "failed",
        "the model thinks before it answers",
    ),
    "no text": ({"content": [{"type": "text", "text": 5}]}, "failed", "choices.0.message.content: Input should be a"),
    "none": (None, "failed", "the answer has no message"),
    "tool": ({"content": None, "finish_reason": "tool_calls"}, "failed", "the answer is a tool call, not a text"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_the_forms_that_a_chats_message_may_have(name):
    message, status, said = MESSAGES[name]
    choice = {"finish_reason": (message or {}).get("finish_reason", "stop")} | ({"message": message} if message else {})
    [found, *_], _ = sampling(lambda call: Reply.of({"choices": [choice]}), 1, api_concurrency=1)
    assert (found.status, said in (found.reason or found.texts[0])) == (status, True), found
    assert found.texts in (None, (said,))


def test_an_answer_whose_form_is_none_is_not_repeated_at_once():
    choices = [{"message": {"content": 5}}]
    _, seeds = sampling(lambda call: Reply.of({"choices": choices}), 1, api_concurrency=8, api_retries=6)
    assert len(seeds) <= 9, "each once, and once more at the end, and one to see whether the server is up"
    [found, *_], _ = sampling(lambda call: Reply.of(None), 1, api_concurrency=1, api_retries=1)
    assert "the answer is damaged" in found.reason, "an answer that is no object is an outage as others"


def test_of_a_request_that_is_asked_once_more_only_the_samples_that_failed_are():
    lost = set()

    def busy(call):
        key = call.body["messages"][0]["content"]
        if key != "3" and key not in lost:  # One sample of each request but the last.
            lost.add(key)
            return Reply.of({"error": {"message": "busy"}}, 503)
        return Reply.of({"choices": [{"message": {"content": str(call.body["seed"])}}]})

    found, seeds = sampling(busy, 5, api_concurrency=2)
    assert {one.status for one in found} == {"ok"}
    assert len(seeds) == 4 * 5 + 3 and len({text for one in found for text in one.texts}) == 4 * 5


def test_the_samples_that_wait_are_not_asked_where_one_has_failed_for_good():
    found, seeds = sampling(lambda call: Reply.of({"error": {"message": "bad word"}}, 400), 20, api_concurrency=2)
    assert {one.status for one in found} == {"failed"}
    assert len(seeds) < 20


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "HTTP 401: the key in OPENAI_API_KEY is not set; see whether the server is up and the key right"),
        (503, "HTTP 503: busy; see whether the server is up and the key right"),
        (400, "the model 'm' does not generate: HTTP 400: busy; see api_model"),
        (404, "the model 'm' does not generate: HTTP 404: busy; see api_model"),
    ],
)
def test_why_a_server_cannot_be_opened_is_told_from_what_its_model_cannot_do(status, said):
    wire = Wire(lambda call: Reply.of({"error": {"message": "busy"}}, status))
    with wire.running() as url, pytest.raises(AlmanacError, match=re.escape(said)):
        ApiAnswerer(AnswerOptions(api=url, api_model="m", api_retries=0, kinds=("generate",)))
    with wire.running() as url, pytest.raises(AlmanacError, match="the self-test of the model 'm' failed") as error:
        ApiAnswerer(AnswerOptions(api=url, api_model="m", api_retries=0))
    assert ("whether the server is up and the key right" in str(error.value)) is (status not in (400, 404))


def test_a_text_is_scored_once_however_often_and_in_whatever_parts_it_is_asked(model, monkeypatch):
    wire = reference_wire(model("llama"))
    longer = choices(1, "The clock", " is red", " is red", " is blue")
    shorter = choices(2, "The clock is", " red", " blue")
    with wire.running() as url:
        answerer, other = ApiAnswerer(options(url)), ApiAnswerer(options(url))
        before = len(wire.calls)
        [first], [second] = answerer.answer([longer], {}), answerer.answer([shorter], {})
        assert len(wire.calls) - before == 2
        assert [second] == other.answer([shorter], {})
        assert (first.status, second.status, first.logprobs[0]) == ("ok", "ok", first.logprobs[1])
        assert second.logprobs[0] > first.logprobs[0]
        monkeypatch.setattr("almanac.models.api.answerer.REMEMBERED", 1)
        before = len(wire.calls)
        new = choices(3, "The wall is", " red")
        assert other.answer([new], {}) == other.answer([new], {})
        assert other.answer([longer], {}) == [first]
        assert len(wire.calls) - before == 4, "none is kept"


def test_a_content_filter_refuses(target, ready):
    def filtered(call):
        if "Rome" in str(call.body):
            return Reply.of({"error": {"code": "content_filter", "message": "the policy"}}, 400)
        return call.pass_on(target)

    with Wire(filtered).running() as url:
        [response] = asked(ready, url, choices(1, "Rome", " is"))
    assert response.status == "refused"
    assert "the policy" in response.reason


@pytest.mark.parametrize(
    ("message", "status", "reason"),
    [
        ("Your input was flagged", "refused", "HTTP 403: Your input was flagged"),
        ("no such deployment", "failed", "HTTP 403: no such deployment"),
    ],
)
def test_what_is_forbidden_once_is_no_wrong_key(target, ready, message, status, reason):
    def forbidding(call):
        if "Rome" in str(call.body):
            return Reply.of({"error": {"message": message}}, 403)
        return call.pass_on(target)

    with Wire(forbidding).running() as url:
        [response] = asked(ready, url, choices(1, "Rome", " is"))
    assert (response.status, response.reason) == (status, reason)


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        ({"error": {"message": "upstream overloaded"}}, "failed", "the server says {'message': 'upstream overloaded'}"),
        ({"error": {"message": "cut"}, "choices": [{"text": "R"}]}, "failed", "the server says {'message': 'cut'}"),
        ({"choices": [{"text": "R", "finish_reason": "error"}]}, "failed", "the server ended an answer by an error"),
        ({"error": {"code": "content_filter"}}, "refused", "the server says {'code': 'content_filter'}"),
        ({"error": {"code": 400, "message": "flagged"}}, "refused", "'message': 'flagged'}"),
        ({"error": {"code": 503, "message": "moderation: timed out"}}, "failed", "moderation: timed out"),
        ({"error": None, "choices": [{"text": "R"}]}, "failed", "no log-probabilities"),
    ],
)
def test_an_error_that_is_sent_as_an_answer_says_what_the_server_said(target, ready, sent, status, said):
    wire = Wire(lambda call: Reply.of(sent) if "Rome" in str(call.body) else call.pass_on(target))
    with wire.running() as url:
        [response] = asked(ready, url, choices(1, "Rome", " is"), api_retries=0)
    assert response.status == status and said in response.reason
    assert sum("Rome" in str(call.body) for call in wire.calls) <= 2, "a filter answers the same each time"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (500, "EngineCore"),
        (402, "Insufficient Balance"),
        (400, "Your credit balance is too low to access the API"),
        (404, "The model `m` does not exist"),
    ],
)
def test_a_server_that_dies_or_whose_account_is_empty_or_whose_model_is_gone_stops_the_run(target, status, message):
    dead = False

    def dying(call):
        return Reply.of({"error": {"message": message}}, status) if dead else call.pass_on(target)

    with Wire(dying).running() as url:
        answerer = ApiAnswerer(options(url, api_retries=0, api_concurrency=2))
        dead = True
        with pytest.raises(AlmanacError, match=f"4 calls in a row failed; the last: HTTP {status}: {message}"):
            answerer.answer([choices(number, f"The {number}", " tape") for number in range(9)], {})


def test_a_server_that_answers_others_is_up_however_many_requests_it_fails(target):
    def poison(call):
        fails = "poison" in str(call.body)
        return Reply.of({"error": {"message": "too long"}}, 500) if fails else call.pass_on(target)

    asking = [choices(number, f"The {'poison' if number else 'river'} {number}", " tape") for number in range(14)]
    with Wire(poison).running() as url:
        found = ApiAnswerer(options(url, api_retries=0, api_concurrency=2)).answer(asking, {})
    assert [one.status for one in found] == ["ok", *["failed"] * 13]


def test_floors_and_numbers_that_are_none_are_not_passed_off_as_scores(target, ready):
    def floor(answer):
        answer["choices"][0]["logprobs"]["token_logprobs"][-1] = -9999.0
        return answer

    with proxy(target, change=floor).running() as url:
        [response] = asked(ready, url, choices(1, "The", " tape"))
    assert response.status == "failed"
    assert "-9999" in response.reason


# Secrets.


@pytest.mark.parametrize("url", ["http://me:hunter2@host/v1", "https://host/v1?key=hunter2", "https://host/#hunter2"])
def test_a_url_that_holds_a_secret_is_refused_without_showing_it(url):
    with pytest.raises(AlmanacError) as error:
        ApiAnswerer(options(url))
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "more", "told"),
    [
        ("http://example.org/v1", {}, True),
        ("http://example.org/v1", {"api_key_variable": "OTHER_KEY"}, False),
        ("http://api.openai.com.example.org/v1", {}, True),
        ("https://api.openai.com/v1", {}, False),
        ("http://localhost:8000/v1", {}, False),
    ],
)
def test_where_the_key_of_the_default_variable_goes_is_said(url, more, told, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OTHER_KEY", "sk-other")
    Server(options(url, **more))
    error = capsys.readouterr().err
    assert (f"{url}: is sent the key in OPENAI_API_KEY" in error, "sk-" in error) == (told, False)


# Identity.


def test_the_digest_is_of_what_is_asked_and_not_of_how_fast(target):
    digest = ApiAnswerer(options(target)).digest
    assert ApiAnswerer(options(f"{target}/", api_concurrency=2, api_timeout=9, api_model="tiny")).digest == digest
    for more in ({"api_revision": "r2"}, {"api_extra": ("top_k=1",)}, {"api_samples": 4}):
        assert ApiAnswerer(options(target, **more)).digest != digest


def test_the_record_says_whose_word_it_is(target, checkpoint):
    answerer = ApiAnswerer(options(target, api_revision="r7", api_tokenizer=str(checkpoint("llama"))))
    record = answerer.record()
    assert record["model"] == answerer.digest
    assert record["weights"] == f"tiny, revision r7, by the word of {target}"
    assert len(record["tokenizer"]) == 64
    assert "differ by at most" in record["self_test"]


def test_a_server_of_several_models_needs_a_name(target):
    def two(call):
        return Reply.of({"data": [{"id": "a"}, {"id": "b"}]})

    with Wire(two).running() as url, pytest.raises(AlmanacError, match="it serves a, b; name one with api_model"):
        ApiAnswerer(options(url))


def test_a_server_that_is_not_there(target):
    with pytest.raises(AlmanacError, match="see whether the server is up"):
        ApiAnswerer(options("http://127.0.0.1:9/v1", api_retries=0))


def test_windows_may_follow_each_other(ready):
    first = ready.answer([REQUESTS[0]], {})
    assert ready.answer([REQUESTS[0]], {}) == first
    assert ready.answer([], {}) == []


def test_the_verb_asks_a_server(target, model, tmp_path):
    tables.write(tmp_path / "requests.parquet", Request, REQUESTS)
    tables.write(tmp_path / "contexts.parquet", Context, [Context("long", CONTEXT)])
    output = tmp_path / "responses.parquet"
    words = ["answer", "--api", target, "--kinds", *SCORES]
    words += ["--requests", str(tmp_path / "requests.parquet"), "--contexts", str(tmp_path / "contexts.parquet")]
    assert main([*words, "--output", str(output)]) == 0
    found = {response.request_id: response for response in tables.read(output, Response)}
    for request in REQUESTS:
        sums = [math.fsum(part) for part in plain(request, model("llama"))]
        assert found[request.request_id].logprobs == pytest.approx(sums, abs=1e-5)
    assert tables.read_metadata(output)["almanac.engine"] == "api/1"
