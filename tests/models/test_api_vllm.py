"""Log-probabilities of a real vLLM against the plain forward pass: `make test-servers` installs it and runs this."""

import math
import os
from pathlib import Path

import pytest
import torch
from tests.models.servers import proxy, vllm_server
from tests.models.tiny_networks import LENGTH, llama, sharpen
from tests.models.tiny_tokenizers import byte_level, metaspace

from almanac.errors import AlmanacError
from almanac.models.api import ApiAnswerer
from almanac.models.options import AnswerOptions
from almanac.models.registry import load
from almanac.models.scoring import reference
from almanac.models.scoring.boundaries import tokenise
from almanac.rows import Request

VLLM = Path(os.environ.get("ALMANAC_SERVERS", "")) / "bin" / "vllm"
pytestmark = [
    pytest.mark.skipif(
        "ALMANAC_SERVERS" not in os.environ, reason="vLLM has an environment of its own: run `make test-servers`"
    ),
    pytest.mark.xdist_group("vllm"),
]
EXACT = 1e-5  # Nats of a summed log-probability, both in float32.
TOKENIZERS = {"byte_level": byte_level, "no_bos": lambda: byte_level(bos=False), "metaspace": metaspace}
TEXTS = [
    "Ada Lovelace was born in",
    "The capital of France is",
    "naïve café 東京 Zoë said:",
    "",
    "Bordira makes the red",
]
WORDS = (" London", " Paris in 1815.", " the red clock", " 東京", " naïve", " 'hello'", " Italy and Rome")
CONTEXT = "Paris is the capital of France, and Rome is the capital of Italy. "


def save(folder):
    """Write a tiny Llama with the tokenizer of the folder's name."""
    words = TOKENIZERS[folder.name]()
    torch.manual_seed(0)
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 64}
    network = llama(len(words), hidden_size=128, intermediate_size=128, **heads)
    sharpen(network, by=6.0)
    network.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=TOKENIZERS)
def served(request, tmp_path_factory):
    """A tiny Llama (heads as wide as vLLM's kernels want them), its folder, and its URL."""
    folder = save(tmp_path_factory.mktemp("vllm") / request.param)
    with vllm_server(VLLM, folder, folder.parent / "log", LENGTH) as url:
        yield load(str(folder), AnswerOptions(device="cpu")), folder, url


def options(url, **more):
    return AnswerOptions(**{"api": url, "kinds": ("choices", "spans", "fill"), "api_retries": 1} | more)


def requests():
    yield from (Request(f"choices {n}", "choices", None, text, choices=WORDS) for n, text in enumerate(TEXTS))
    yield Request("context", "choices", "c", "Ada was born in", choices=WORDS, per_token=True)
    for number, text in enumerate(("Ada Lovelace was born in London in 1815.", "The river flows through 12 towns")):
        places = [place for place, letter in enumerate(text) if letter == " "]
        starts, ends = (0, *(place + 1 for place in places)), (*places, len(text))
        yield Request(f"spans {number}", "spans", None, text, span_starts=starts, span_ends=ends)


def values(request, model):
    [tokenised] = tokenise([request], {"c": CONTEXT}, model)
    if tokenised.problem is not None:  # A choice of one token with nothing before it, not even BOS.
        return None
    return [part for value in reference.score(model, list(tokenised.sequences)) for part in value]


def test_scores_are_those_of_the_plain_forward_pass(served, capsys):
    model, folder, url = served
    asked = list(requests())
    pieces = Request("pieces", "spans", None, "The", pieces=(" river", " flows", " naïve"))
    for way, tokenizer in (("text", None), ("ids", str(folder))):
        answerer = ApiAnswerer(options(url, api_tokenizer=tokenizer))
        window = [*asked, *([pieces] if tokenizer else [])]
        largest, count = 0.0, 0
        for request, response in zip(window, answerer.answer(window, {"c": CONTEXT}), strict=True):
            expected = values(request, model)
            if expected is None:
                assert response.status == "failed"
                continue
            assert response.status == "ok", f"{request}: {response.reason}"
            assert response.token_counts == tuple(len(part) for part in expected)
            sums = [math.fsum(part) for part in expected]
            largest = max([largest, *(abs(a - b) for a, b in zip(response.logprobs, sums, strict=True))])
            count += len(sums)
        with capsys.disabled():
            print(f"\nvLLM, {folder.name}, sent as {way}: {count} sums differ by at most {largest:.1e} nats; ", end="")
            print(answerer.record()["self_test"])
        assert largest <= EXACT


def test_what_is_too_long_is_said(served):
    _, _, url = served
    [response] = ApiAnswerer(options(url)).answer([Request("long", "choices", None, "é" * 200, choices=(" x",))], {})
    assert (response.status, response.logprobs) == ("too_long", None)


def test_values_that_stand_one_place_off_are_refused(served):
    _, folder, url = served

    def shifted(answer):
        for choice in answer.get("choices", []):
            found = choice["logprobs"]["token_logprobs"]
            if len(found) > 1:
                choice["logprobs"]["token_logprobs"] = [None, found[1], *found[1:-1]]
        return answer

    with proxy(url, change=shifted).running() as between, pytest.raises(AlmanacError, match="wrong places"):
        ApiAnswerer(options(between, api_model=folder.name))


def generated(model, answerer, **greedy):
    """Return what the model itself writes, the answers to a greedy request, and a request of one seed, which holds."""
    text = "The capital of France is"
    ids = torch.tensor([model.wrap(model.tokens.ids(text))[0]])
    with torch.inference_mode():
        out = model.network.generate(input_ids=ids, do_sample=False, max_new_tokens=8)[0].tolist()
    whole = model.tokens.decode(out)[len(model.tokens.decode(ids[0].tolist())) :]
    sampled = {"max_new_tokens": 8, "samples": 3, "temperature": 1.0}
    asked = [
        Request("greedy", "generate", None, text, max_new_tokens=8, **greedy),
        Request("one seed", "generate", None, text, **sampled, seed=1),
        Request("another", "generate", None, text, **sampled, seed=2),
    ]
    first, one, another = answerer.answer(asked, {})
    assert len({*one.texts, *another.texts}) > 3
    assert answerer.answer(asked[1:2], {})[0].texts == one.texts
    return whole, first.texts, asked[1]


def test_generation_is_the_model_s_own(served):
    model, _, url = served
    own = options(url, kinds=("generate",), api_generate_with="completions")
    whole, texts, seeded = generated(model, ApiAnswerer(own), samples=2)
    assert texts == (whole.rstrip("�"),) * 2  # vLLM holds back a character that is not complete.
    together = ApiAnswerer(own.model_copy(update={"api_samples": 3})).answer([seeded], {})[0]
    assert len(together.texts) == 3
