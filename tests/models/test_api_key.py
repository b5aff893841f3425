"""A server's key stays out of every file and stream, wherever the server repeats it and in whatever form."""

import base64
import html
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.servers import Reply, Wire, reference_wire

import almanac
from almanac import tables
from almanac.cli import main
from almanac.errors import AlmanacError
from almanac.models.api import ApiAnswerer
from almanac.models.api.key import IN_MESSAGES, IN_TEXTS, ApiKey
from almanac.models.options import AnswerOptions
from almanac.rows import Context, Request, Response

KEY = 'sk-0123456789/ab+cd"ef<gh\\secret~ijkl'


def base64_of(text):
    return base64.b64encode(text.encode()).decode()


def forms(key):
    """Ways in which a server shows what it was sent."""
    return {
        "plain": key,
        "capitals": key.upper(),
        "part": f"(that is {key[3:20]}…)",
        "JSON": json.dumps(json.dumps({"authorization": f"Bearer {key}"})),
        "JSON of PHP": json.dumps(key).replace("/", "\\/"),
        "HTML": f"<td>{html.escape(key)}</td>",
        "URL": f"https://host/v1?key={quote(key, safe='')}&again={quote(key)}",
        "hexadecimal": key.encode().hex(),
        "basic": base64_of(f"me:{key}"),
        "header": base64_of(f"Bearer {key}"),
        "base64 for URLs": base64.urlsafe_b64encode(f"Authorization: Bearer {key}".encode()).decode(),
    }


SAID = " | ".join(forms(KEY).values())


def shows(text, key=KEY, size=IN_MESSAGES):
    """Whether a text holds as many characters of a key on end, as they are or after what undoes their form."""
    undone = [text, unquote(text), html.unescape(text), re.sub(r"\\(.)", r"\1", re.sub(r"\\(.)", r"\1", text))]
    for run in re.findall(r"[A-Za-z0-9+/_-]{8,}", text):
        undone += [bytes.fromhex(run[: len(run) // 2 * 2]).decode("latin1")] if re.fullmatch("[0-9a-f]+", run) else []
        for skipped in range(4):
            coded = run[skipped:].replace("-", "+").replace("_", "/")
            undone.append(base64.b64decode(coded[: len(coded) // 4 * 4]).decode("latin1"))
    folded = "\n".join(undone).lower()
    return any(key[at : at + size].lower() in folded for at in range(len(key) - size + 1))


@pytest.mark.parametrize("form", forms(KEY))
def test_a_form_of_the_key_is_masked_in_messages_and_texts(form):
    said = forms(KEY)[form]
    assert shows(said)
    for masked in (ApiKey(KEY).masked(f"before {said} after"), ApiKey(KEY).in_text(f"before {said} after")):
        assert not shows(masked)
        assert masked.startswith("before ") and masked.endswith(" after") and "[key]" in masked


@given(st.text("abcXYZ0189-_.~", min_size=16, max_size=64), st.text("abcXYZ0189 \n", max_size=20), st.data())
def test_no_part_of_a_key_is_left(key, around, data):
    start = data.draw(st.integers(0, len(key) - IN_TEXTS))
    stop = data.draw(st.integers(start + IN_TEXTS, len(key)))
    said = around + key[start:stop] + around + key + around
    for masked, size in ((ApiKey(key).masked(said), IN_MESSAGES), (ApiKey(key).in_text(said), IN_TEXTS)):
        assert not any(key[at : at + size] in masked for at in range(len(key) - size + 1))


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("", "no key is set"),
        ("none", "none of the above"),
        ("EMPTY", "an EMPTY room"),
        ("sk-no-key-required", "No answer is required here."),
        ("token-abc123", "The token is abc123."),
        (KEY, "Ada Lovelace was born in London in 1815."),
    ],
)
def test_the_words_of_an_answer_are_not_taken_for_the_key(key, text):
    assert ApiKey(key).in_text(text) == text


def test_a_short_key_is_masked_as_a_whole():
    assert ApiKey("hunter2").in_text("Bearer hunter2, hunter") == "Bearer [key], hunter"
    assert ApiKey("abc").masked("bad key abc") == "bad key [key]"
    assert repr(ApiKey("hunter2")) == "[key]"


@pytest.mark.parametrize("key", ["sk-0123456789\nabcdef", "sk-01234567é", "sk-\udcff0123456789"])
def test_a_key_that_no_header_takes_is_refused_without_showing_it(monkeypatch, key):
    monkeypatch.setenv("SOME_KEY", key)
    with pytest.raises(AlmanacError, match="SOME_KEY: the key holds a character that cannot be sent") as error:
        ApiAnswerer(AnswerOptions(api="http://127.0.0.1:9/v1", api_key_variable="SOME_KEY"))
    assert key[3:] not in str(error.value)


# A server that repeats the key, in whatever it says.


def chat(**message):
    return Reply.of({"choices": [{"message": message, "finish_reason": "stop", "index": 0}]})


def refused(status):
    error = {"message": SAID, "code": KEY, "type": SAID, "headers": {"Authorization": f"Bearer {KEY}"}}
    return Reply.of({"error": error, "detail": SAID}, status)


def sent_to(place):
    return Reply(307, b"", {"Location": place})


HEADERS = {"Retry-After": KEY, "x-request-id": KEY, "Set-Cookie": f"key={quote(KEY)}", "x-should-retry": KEY}
REPLIES = {
    "text": lambda: chat(content=SAID),
    "refusal": lambda: chat(content=None, refusal=SAID),
    "filter": lambda: Reply.of({"error": {"message": f"content filter: {SAID}", "code": "content_filter"}}, 400),
    "too long": lambda: Reply.of({"error": {"message": f"maximum context length: {SAID}"}}, 400),
    "error 400": lambda: refused(400),
    "error 401": lambda: refused(401),
    "error 429": lambda: refused(429),
    "error 500": lambda: refused(500),
    "no dictionary": lambda: Reply.of([SAID], 418),
    "page": lambda: Reply(502, f"<html><h1>{html.escape(SAID)}</h1>{SAID}".encode(), {"Content-Type": "text/html"}),
    "page that passes": lambda: Reply(200, f"<html>{SAID}".encode(), {"Content-Type": "text/html"}),
    "status line": lambda: Reply(400, b"", reason=KEY),
    "header line": lambda: Reply(200, b"{}", {f"{KEY} is no name": KEY}),
    "headers": lambda: Reply(500, b"", HEADERS),
    "damaged": lambda: Reply.of({"choices": [{"message": {"content": [SAID], SAID: SAID}}], SAID: SAID}),
    "half": lambda: Reply(200, json.dumps({"choices": SAID}).encode()[:-9]),
    "half a character": lambda: chat(content=f"{SAID} \ud83d"),
    "cut": lambda: Reply(200, SAID.encode(), cut=True),
    "redirect": lambda: sent_to(f"/v1/{quote(KEY, safe='')}?key={quote(KEY)}"),
    "redirect nowhere": lambda: sent_to(f"http://127.0.0.1:9/{quote(KEY, safe='')}"),
    "redirect to no address": lambda: sent_to(f"{KEY}://{KEY}"),
    "redirect for ever": lambda: sent_to("/v1/chat/completions"),
}
SCORES = {
    "tokens": {"tokens": SAID.split(" "), "token_logprobs": [None, *[-1.0] * SAID.count(" ")]},
    "values": {"tokens": ["a"], "token_logprobs": [SAID]},
    "fields": {"tokens": {SAID: SAID}, "token_logprobs": SAID},
}


def reflecting(target):
    """A server that repeats the key where a request names how, and else passes calls on to one that scores."""

    def answer(call):
        if call.method == "GET":
            return Reply.of({"data": [{"id": f"tiny-{KEY}"}]})
        said = json.dumps(call.body)
        if (name := next((name for name in REPLIES if f"<{name}>" in said), None)) is not None:
            return REPLIES[name]()
        if (name := next((name for name in SCORES if f"<{name}>" in said), None)) is not None:
            return Reply.of({"choices": [{"text": SAID, "finish_reason": SAID, "logprobs": SCORES[name]}]})
        return chat(content="London") if "chat" in call.path else call.pass_on(target)

    return Wire(answer)


@pytest.fixture(scope="module")
def target(model):
    with reference_wire(model("llama")).running() as url:
        yield url


def test_a_key_that_is_repeated_everywhere_stands_in_no_file_and_no_stream(target, tmp_path):
    """The whole command in a process of its own, with every log that its libraries can write switched on."""
    requests = [Request(f"g {name}", "generate", None, f"<{name}>", max_new_tokens=999) for name in REPLIES]
    requests += [Request(f"s {name}", "choices", None, f"<{name}>", choices=(" a", " b")) for name in SCORES]
    requests += [Request("well", "generate", None, "Ada was born in", max_new_tokens=9)]
    requests += [Request("scored", "choices", None, "The river", choices=(" flows", " is"))]
    tables.write(tmp_path / "requests.parquet", Request, requests)
    tables.write(tmp_path / "contexts.parquet", Context, [])
    output = tmp_path / "responses.parquet"
    with reflecting(target).running() as url:
        words = ["answer", "--api", url, "--api-key-variable", "SOME_KEY", "--api-retries", "1", "--kinds", "generate"]
        words += ["choices", "--api-concurrency", "32", "--output", str(output)]
        words += [
            word for name in ("requests", "contexts") for word in (f"--{name}", str(tmp_path / f"{name}.parquet"))
        ]
        logs = {"OPENAI_LOG": "debug", "PYTHONASYNCIODEBUG": "1", "PYTHONWARNINGS": "always", "PYTHONDEVMODE": "1"}
        package = str(Path(almanac.__file__).parents[1])
        run = subprocess.run(
            [sys.executable, "-m", "almanac", *words],
            env={**os.environ, **logs, "SOME_KEY": KEY, "PYTHONPATH": package},
            capture_output=True, cwd=tmp_path, check=False,
        )  # fmt: skip
    streams = (run.stdout + run.stderr).decode("utf-8", "replace")
    assert run.returncode == 0, streams
    assert "answers repeat the key in SOME_KEY, which is written as [key]" in streams
    found = {row.request_id: row for row in tables.read(output, Response)}
    told = "".join(f"{name} {text} " for name, text in tables.read_metadata(output).items())
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 4, "requests, contexts, responses, and a copy of these"
    raw = "".join(path.read_bytes().decode("latin1") for path in files)
    for text in (streams, told, raw, *map(str, found.values())):
        assert not shows(text), text
    assert "tiny-[key], revision undeclared, by the word of" in told
    assert found["well"].texts == ("London",) and found["scored"].status == "ok"
    assert found["g text"].status == "ok" and found["g text"].texts[0].count("[key]") >= len(forms(KEY))
    statuses = {name: row.status for name, row in found.items() if row.status != "failed"}
    assert statuses == {
        "g text": "ok", "well": "ok", "scored": "ok", "g refusal": "refused", "g filter": "refused",
        "g too long": "too_long",
    }  # fmt: skip
    masked = {name.removeprefix("g ") for name, row in found.items() if "[key]" in str(row)}
    assert masked >= {"text", "refusal", "filter", "too long", "error 400", "error 500", "no dictionary", "page"}


def names(*found):
    return lambda call: Reply.of({"data": [{"id": name} for name in found]})


OPENINGS = {
    "refused": lambda call: refused(400),
    "no key": lambda call: refused(403),
    "broken": lambda call: refused(500),
    "several": names(SAID, f"tiny-{KEY}"),
    "damaged": names([SAID]),
    "half a character": names(f"{KEY} \ud83d"),
    "no name": names(SAID * 9),
    "deep": lambda call: Reply(200, b"[" * 100_000),
    "no text": lambda call: names("tiny")(call) if call.method == "GET" else Reply(200, SAID.encode()),
    "no scores": lambda call: names("tiny")(call) if call.method == "GET" else Reply.of({"choices": [{"text": SAID}]}),
} | {
    f"scores of {name}": lambda call, given=given: (
        names("tiny")(call) if call.method == "GET" else Reply.of({"choices": [{"text": SAID, "logprobs": given}]})
    )
    for name, given in SCORES.items()
}


@pytest.mark.parametrize(
    ("opening", "kind"),
    [(name, kind) for name in OPENINGS for kind in ("choices", "generate") if kind == "choices" or "score" not in name],
)
def test_a_server_that_cannot_be_used_is_refused_without_a_traceback_or_its_key(
    tmp_path, monkeypatch, capfd, opening, kind
):
    monkeypatch.setenv("SOME_KEY", KEY)
    tables.write(tmp_path / "requests.parquet", Request, [])
    tables.write(tmp_path / "contexts.parquet", Context, [])
    with Wire(OPENINGS[opening]).running() as url:
        words = ["answer", "--api", url, "--api-key-variable", "SOME_KEY", "--api-retries", "0", "--kinds", kind]
        words += [
            word for name in ("requests", "contexts") for word in (f"--{name}", str(tmp_path / f"{name}.parquet"))
        ]
        status = main([*words, "--output", str(tmp_path / "responses.parquet")])
    said = capfd.readouterr()
    assert not shows(said.out + said.err)
    assert status == 1 and said.err.startswith(f"almanac answer: {url}: ") and said.err.count("\n") == 1


def test_a_missing_key_is_named(target, monkeypatch):
    monkeypatch.delenv("SOME_KEY", raising=False)
    refusing = Wire(lambda call: Reply.of({"error": {"message": "no key"}}, 401))
    said = "HTTP 401: the key in SOME_KEY is not set"
    with refusing.running() as url, pytest.raises(AlmanacError, match=said):
        ApiAnswerer(AnswerOptions(api=url, api_retries=0, api_key_variable="SOME_KEY", api_model="tiny"))


def test_where_a_server_sends_calls_on_to_nothing_is_sent(monkeypatch):
    monkeypatch.setenv("SOME_KEY", KEY)
    elsewhere = Wire(lambda call: chat(content="Paris"))
    with elsewhere.running() as other, Wire(lambda call: sent_to(f"{other}/chat/completions")).running() as url:
        options = AnswerOptions(api=url, api_key_variable="SOME_KEY", api_model="tiny", kinds=("generate",))
        with pytest.raises(AlmanacError, match="HTTP 307") as error:
            ApiAnswerer(options)
    assert not elsewhere.calls
    assert not shows(str(error.value))


def test_what_is_made_of_a_key_does_not_show_it(monkeypatch):
    monkeypatch.setenv("SOME_KEY", KEY)
    with Wire(lambda call: chat(content="Paris")).running() as url:
        options = AnswerOptions(api=url, api_key_variable="SOME_KEY", api_model="tiny", kinds=("generate",))
        answerer = ApiAnswerer(options)
        [response] = answerer.answer([Request("r", "generate", None, "<x>", max_new_tokens=3)], {})
    assert response.texts == ("Paris",)
    shown = (answerer, vars(answerer), vars(answerer._server), answerer.record())
    assert not any(shows(f"{part} {part!r}") for part in shown)


def test_when_the_server_dies_nothing_that_is_left_behind_shows_the_key(target, monkeypatch, capfd):
    """Many calls fail at once; asyncio writes down errors that nobody asks for, with all that led to them."""
    monkeypatch.setenv("SOME_KEY", KEY)
    dead = False
    with Wire(lambda call: refused(500) if dead else call.pass_on(target)).running() as url:
        options = AnswerOptions(api=url, api_retries=0, api_key_variable="SOME_KEY", kinds=("choices",))
        answerer = ApiAnswerer(options)
        dead = True
        asked = [Request(f"{number}", "choices", None, f"The {number}", choices=(" a",)) for number in range(50)]
        with pytest.raises(AlmanacError, match=r"16 calls in a row failed.*\[key\]") as error:
            answerer.answer(asked, {})
    chain = itertools.takewhile(lambda one: one is not None, (error.value, error.value.__cause__))
    assert error.value.__suppress_context__ and not any(shows(f"{one} {one!r}") for one in chain)
    streams = capfd.readouterr()
    assert not shows(streams.out + streams.err)
