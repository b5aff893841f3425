"""Answers of a real llama-cpp-python against the plain forward pass: `make test-llama-cpp` builds it and runs this."""

import math
import os
from pathlib import Path

import pytest
from tests.models.servers import llama_cpp_server
from tests.models.test_api_vllm import CONTEXT, EXACT, generated, options, requests, save, values

from almanac.errors import AlmanacError
from almanac.models.api import ApiAnswerer
from almanac.models.options import AnswerOptions
from almanac.models.registry import load
from almanac.rows import Request

PYTHON = Path(os.environ.get("ALMANAC_LLAMA_CPP", "")) / "bin" / "python"
pytestmark = [
    pytest.mark.skipif(
        "ALMANAC_LLAMA_CPP" not in os.environ,
        reason="llama-cpp-python has an environment of its own: run `make test-llama-cpp`",
    ),
    pytest.mark.xdist_group("llama-cpp"),
]
CONTEXT_SIZE = 256  # llama.cpp rounds up to a multiple of it, which llama-cpp-python does not know.
# What is sent where the server's own defaults are no plain decoding: it penalises repetition and cuts the distribution.
PLAIN = ("repeat_penalty=1", "top_k=0", "min_p=0")


@pytest.fixture(scope="module", params=["byte_level", "metaspace"])
def served(request, tmp_path_factory):
    """A tiny Llama that reads BOS, and its URL."""
    folder = save(tmp_path_factory.mktemp("llama-cpp") / request.param)
    with llama_cpp_server(PYTHON, folder, folder.parent / "log", CONTEXT_SIZE) as url:
        yield load(str(folder), AnswerOptions(device="cpu")), url


def test_scores_are_those_of_the_plain_forward_pass(served, capsys):
    model, url = served
    answerer = ApiAnswerer(options(url))
    asked = list(requests())
    differences, unscored = [], {}
    for request, response in zip(asked, answerer.answer(asked, {"c": CONTEXT}), strict=True):
        if response.status != "ok":
            unscored[request.request_id] = response.reason
            continue
        expected = values(request, model)
        assert response.token_counts == tuple(len(part) for part in expected)
        differences += [abs(a - math.fsum(b)) for a, b in zip(response.logprobs, expected, strict=True)]
    with capsys.disabled():
        print(f"\nllama-cpp-python: {len(differences)} sums differ by at most {max(differences):.1e} nats; ", end="")
        print(answerer.record()["self_test"])
    assert max(differences) <= EXACT
    assert len(differences) >= 28
    lost = {"choices 2"} & {*unscored}  # The pieces of ï are left out of what the server shows of byte-level tokens.
    assert {*unscored} - lost == {"choices 3", "spans 0", "spans 1"}
    assert all("first token" in reason for name, reason in unscored.items() if name not in lost)


def test_what_is_too_long_is_said(served):
    _, url = served
    [response] = ApiAnswerer(options(url)).answer([Request("long", "choices", None, "é" * 400, choices=(" x",))], {})
    assert (response.status, response.logprobs) == ("too_long", None)


def test_token_ids_are_refused(served, tmp_path):
    _, url = served
    with pytest.raises(AlmanacError, match="leave api_tokenizer out"):
        ApiAnswerer(options(url, api_tokenizer=str(save(tmp_path / "byte_level"))))


def test_a_model_that_reads_no_bos_is_refused(tmp_path):
    folder = save(tmp_path / "no_bos")
    server = llama_cpp_server(PYTHON, folder, tmp_path / "log", CONTEXT_SIZE)
    with server as url, pytest.raises(AlmanacError, match="the echo lacks the end of the text"):
        ApiAnswerer(options(url))


def test_generation_is_the_model_s_own(served):
    model, url = served
    own = options(url, kinds=("generate",), api_generate_with="completions", api_extra=PLAIN)
    whole, texts, _ = generated(model, ApiAnswerer(own))
    assert texts[0].startswith(whole.split("�")[0])  # Bytes that are no character are left out.
