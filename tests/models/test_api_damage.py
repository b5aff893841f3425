"""What a server says that no file can hold, or that is no answer, fails alone; what else was paid for is kept."""

import json
import re

import pytest
from tests.edition.forging import TOO_DEEP
from tests.models.servers import Reply, Wire, reference_wire

from almanac import tables
from almanac.cli import main
from almanac.models.api import ApiAnswerer
from almanac.models.api.answerer import LONG
from almanac.models.options import AnswerOptions
from almanac.rows import Context, Request, Response


def chat(content):
    """An answer on the wire, its text as it stands in JSON."""
    return b'{"choices": [{"finish_reason": "stop", "message": {"content": %s}}]}' % content


HALF = rb'"half \ud83d a face"'
# What is said instead of an answer, the status of its response and its reason.
TEXTS = {
    "half a character": (chat(HALF), "failed", r"it cannot be written: column 'texts': .*surrogates not allowed"),
    "halves reversed": (chat(rb'"\udc00\ud800"'), "failed", "surrogates not allowed"),
    "half a refusal": (
        b'{"choices": [{"message": {"refusal": %s}}]}' % HALF,
        "refused",
        r"the model refused: half \\ud83d a face",
    ),
    "half an error": (b'{"error": {"message": %s, "code": %s}}' % (HALF, HALF), "failed", r"HTTP 400: half \\ud83d"),
    "enormous": (chat(b'"%s"' % (b"x" * (LONG + 1))), "failed", f"has {LONG + 1} characters, and at most {LONG} are"),
    "no text": (b'{"choices": []}', "failed", "a call asked for: 1, and that came back: 0; see the server's log"),
    "number": (chat(b"5"), "failed", "damaged: choices.0.message.content: Input should be a valid string"),
    "list": (chat(b'["a"]'), "failed", "damaged: choices.0.message.content: Input should be a valid string"),
    "deep": (chat(b"[" * 100_000), "failed", f"damaged: {TOO_DEEP}"),
    "digits": (b'{"choices": [], "usage": %s}' % (b"9" * 5000), "failed", "damaged: Exceeds the limit"),
    "bytes": (chat(b'"\xff\xfe"'), "failed", "damaged: 'utf-8' codec can't decode byte 0xff"),
    "nothing": (b"", "failed", "damaged: Expecting value"),
    "NUL": (chat(rb'"a\u0000b"'), "ok", ""),  # a character like any other
}
VALUES = {
    "NaN": "is nan, which is no number of nats up to 0",
    "Infinity": "is inf, which is no number",
    "-Infinity": "is -inf, which is no number",
    "-1e999": "is -inf, which is no number",
    "1e308": r"is 1e\+308, which is no number",
    "true": "is 1.0, which is no number",
    "null": "is None, which is no number",
    f"-{'9' * 400}": r"damaged: token_logprobs.\d+: Input should be a valid number",
    f"-{'9' * 5000}": "damaged: Exceeds the limit",
    '"much"': r"damaged: token_logprobs.\d+: Input should be a valid number",
    "{}": r"damaged: token_logprobs.\d+: Input should be a valid number",
}
TOKENS = {
    r'"\ud83d"': "the server's tokens are not those of the text",
    r'"\u0000"': "the server's tokens are not those of the text",
    f'"{"x" * 10**6}"': "the server's tokens are not those of the text",
    "5": r"damaged: tokens.\d+: Input should be a valid string",
    "null": r"damaged: tokens.\d+: Input should be a valid string",
}


@pytest.fixture
def answered(tmp_path):
    """Return a function that answers requests by the command and a server, and returns the responses by id."""

    def run(requests, url, kind):
        tables.write(tmp_path / "requests.parquet", Request, requests)
        tables.write(tmp_path / "contexts.parquet", Context, [])
        words = ["answer", "--api", url, "--api-model", "tiny", "--kinds", kind, "--api-retries", "0"]
        words += ["--requests", str(tmp_path / "requests.parquet"), "--contexts", str(tmp_path / "contexts.parquet")]
        assert main([*words, "--output", str(tmp_path / "responses.parquet")]) == 0
        return {row.request_id: row for row in tables.read(tmp_path / "responses.parquet", Response)}

    return run


def test_a_text_that_cannot_be_kept_fails_alone_and_is_asked_again_alone(answered):
    mended = False

    def answer(call):
        name = call.body["messages"][0]["content"]
        if name not in TEXTS or mended:
            return Reply.of({"choices": [{"message": {"content": f"{name} is fine"}}]})
        return Reply(400 if "error" in name else 200, TEXTS[name][0])

    good = [f"good {number}" for number in range(20)]
    requests = [Request(name, "generate", None, name, max_new_tokens=8) for name in (*good, *TEXTS)]
    wire = Wire(answer)
    with wire.running() as url:
        found = answered(requests, url, "generate")
        for name, (_, status, reason) in TEXTS.items():
            assert found[name].status == status and re.search(reason, found[name].reason or ""), found[name]
        assert all(found[name].texts == (f"{name} is fine",) for name in good)
        assert found["NUL"].texts == ("a\0b",)
        mended = True
        wire.calls.clear()
        again = answered(requests, url, "generate")
        asked = {call.body["messages"][0]["content"] for call in wire.calls} & {request.text for request in requests}
    stays = {"NUL", *(name for name, (_, status, _) in TEXTS.items() if status == "refused")}
    assert asked == set(TEXTS) - stays
    assert all(again[name] == found[name] for name in (*good, *stays))
    assert all(again[name].texts == (f"{name} is fine",) for name in asked)


def test_what_samples_may_be_long_is_counted_over_all_of_them():
    def answer(call):
        return Reply.of({"data": [{"id": "m"}]}) if call.method == "GET" else Reply(200, chat(b'"%s"' % (b"x" * LONG)))

    request = Request("r", "generate", None, "Rome", max_new_tokens=LONG // 64, samples=3, temperature=1.0, seed=0)
    with Wire(answer).running() as url:
        [found] = ApiAnswerer(AnswerOptions(api=url, kinds=("generate",))).answer([request], {})
    assert (found.status, sum(map(len, found.texts or ()))) == ("ok", 3 * LONG)


def test_a_value_or_a_token_that_is_none_fails_alone(answered, model):
    """The last value, or token, of what a server echoes."""
    said = {f"<{index}>": (list_, one) for index, (list_, one) in enumerate(
        [("token_logprobs", one) for one in VALUES] + [("tokens", one) for one in TOKENS]
    )}  # fmt: skip

    def answer(call, target):
        reply = call.pass_on(target)
        name = next((name for name in said if name in str(call.body.get("prompt"))), None)
        if name is not None:
            whole = json.loads(reply.body)
            logprobs = whole["choices"][0]["logprobs"]
            list_, one = said[name]
            logprobs[list_][-1] = "ONE"
            reply.body = json.dumps(whole).replace('"ONE"', one).encode()
        return reply

    with reference_wire(model("llama")).running() as target, Wire(lambda call: answer(call, target)).running() as url:
        texts = {**{name: name for name in said}, "good": "The river", "fine": "The clock"}
        requests = [Request(name, "choices", None, text, choices=(" a",)) for name, text in texts.items()]
        found = answered(requests, url, "choices")
    for name, reason in zip(said, (*VALUES.values(), *TOKENS.values()), strict=True):
        assert found[name].status == "failed" and re.search(reason, found[name].reason), (said[name], found[name])
    assert {name for name, row in found.items() if row.status == "ok"} == {"good", "fine"}
