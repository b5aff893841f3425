"""What a self-test makes of servers whose echo is not what it should be; what is left out where one says too much."""

import json
import math

import pytest
from tests.models import test_api
from tests.models.servers import Reply, Wire, proxy
from tests.models.test_api import CONTEXT, REQUESTS, choices, options, plain

from almanac.errors import AlmanacError
from almanac.models.api import ApiAnswerer

target = test_api.target  # a server that scores as it should


def shifted(answer):
    values = answer["choices"][0]["logprobs"]["token_logprobs"]
    if len(values) > 1:  # One generated token alone is left as it is.
        answer["choices"][0]["logprobs"]["token_logprobs"] = [None, values[1], *values[1:-1]]
    return answer


def shifted_back(answer):
    values = answer["choices"][0]["logprobs"]["token_logprobs"]
    if len(values) > 1:
        answer["choices"][0]["logprobs"]["token_logprobs"] = [None, *values[2:], -1.0]
    return answer


def shifted_late(answer):
    values = answer["choices"][0]["logprobs"]["token_logprobs"]
    if len(values) > 31:  # What is longer is two pieces to the server.
        answer["choices"][0]["logprobs"]["token_logprobs"] = [*values[:30], values[30], *values[30:-1]]
    return answer


def changed(**keys):
    def change(answer):
        answer["choices"][0]["logprobs"] |= keys
        return answer

    return change


def bare(answer):
    answer["choices"][0]["logprobs"] = None
    return answer


def first_scored(answer):
    values = answer["choices"][0]["logprobs"]["token_logprobs"]
    answer["choices"][0]["logprobs"]["token_logprobs"] = [value if value is not None else -1.0 for value in values]
    return answer


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (shifted, "the wrong places"),
        (shifted_back, "the wrong places"),
        (shifted_late, "the wrong places"),
        (bare, "no log-probabilities of the prompt"),
        (first_scored, "nothing stands before it"),
        (changed(tokens=["x"]), "1 tokens and"),
        (changed(tokens=[5]), "log-probabilities are damaged: tokens.0: Input should be a valid string"),
        (changed(token_logprobs=[{}]), "damaged: token_logprobs.0: Input should be a valid number"),
        (changed(token_logprobs=[None, 10**400]), "damaged: token_logprobs.1: Input should be a valid number"),
    ],
)
def test_a_server_whose_prompt_values_cannot_be_trusted_is_refused(target, change, said):
    with proxy(target, change=lambda body: change(body) if "choices" in body else body).running() as url:
        with pytest.raises(AlmanacError, match=said) as error:
            ApiAnswerer(options(url, api_model="tiny"))
        assert "kinds: [generate]" in str(error.value)


def without_a_limit(answer):
    """Show a text and a token more as llama-cpp-python does: without BOS, the first token without its value."""
    logprobs = answer["choices"][0]["logprobs"]
    tokens, values = (logprobs[key][1:] for key in ("tokens", "token_logprobs"))
    answer["choices"][0]["logprobs"] = {"tokens": tokens, "token_logprobs": [None, *values[1:]]}
    answer["usage"] = {"prompt_tokens": len(tokens), "completion_tokens": 1}
    return answer


def lacks_a_token(answer):
    """Show a text and a token more as llama-cpp-python does for a model without BOS: tokens stand a place off."""
    answer = without_a_limit(answer)
    logprobs = answer["choices"][0]["logprobs"]
    tokens, values = logprobs["tokens"], logprobs["token_logprobs"]
    answer["choices"][0]["logprobs"] = {"tokens": tokens[:-1], "token_logprobs": [None, *values[2:]]}
    answer["usage"]["prompt_tokens"] -= 1
    return answer


def llama_cpp_python(target, change):
    """A server that takes no limit of tokens for the whole context, here a token, and reads no token ids."""

    def answer(call):
        if call.body and not isinstance(call.body["prompt"], str):
            return Reply.of({"detail": "Input should be a valid string"}, 422)
        echo = bool(call.body and call.body.get("echo"))
        if call.body:
            call.body["max_tokens"] = max(1, call.body["max_tokens"])
        reply = call.pass_on(target)
        return Reply.of(change(json.loads(reply.body))) if echo and reply.status == 200 else reply

    return Wire(answer)


def test_what_a_server_without_a_limit_generates_is_not_scored(target, model):
    requests = [*REQUESTS[:1], REQUESTS[2], choices(4, "", "Paris", " tape"), REQUESTS[3]]
    wire = llama_cpp_python(target, without_a_limit)
    with wire.running() as url:
        answerer = ApiAnswerer(options(url, api_model="tiny"))
        wire.calls.clear()
        one, three, none, spans = answerer.answer(requests, {"long": CONTEXT})
    assert {body["max_tokens"] for body in wire.bodies} == {1}
    for request, response in zip(requests, (one, three), strict=False):
        values = plain(request, model("llama"))
        assert response.logprobs == pytest.approx([math.fsum(part) for part in values], abs=1e-5), response.reason
        assert response.token_counts == tuple(len(part) for part in values)
    # The reference scores these first tokens, which BOS stands before; without their values a sum would be of the rest.
    for response in (none, spans):
        assert response.status == "unsupported"
        assert "first token" in response.reason


def test_an_echo_that_lacks_its_last_token_is_refused(target):
    wire = llama_cpp_python(target, lacks_a_token)
    with wire.running() as url, pytest.raises(AlmanacError, match="the echo lacks the end of the text"):
        ApiAnswerer(options(url, api_model="tiny"))


def test_a_server_that_reads_no_token_ids_is_asked_without_a_tokenizer(target, checkpoint):
    wire = llama_cpp_python(target, without_a_limit)
    with wire.running() as url, pytest.raises(AlmanacError, match="leave api_tokenizer out"):
        ApiAnswerer(options(url, api_model="tiny", api_tokenizer=str(checkpoint("llama"))))


def test_the_wrong_tokenizer_is_refused(target, checkpoint):
    with pytest.raises(AlmanacError, match="the served model's own"):
        ApiAnswerer(options(target, api_tokenizer=str(checkpoint("gpt2"))))
