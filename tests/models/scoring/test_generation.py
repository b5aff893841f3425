import collections
import math

import pytest
import torch

from almanac.models.scoring import generation, reference
from almanac.models.scoring.generation import generate
from almanac.models.scoring.samples import Prompt, Sample, draw, extend, sample_seed

CAUSAL = ("llama", "llama2", "gpt2", "neox")
TEXTS = ("Paris is", "The clock of Bordira", "Ada Lovelace was born in", "3M", "Paris is the", "Rome is")


def prompt(model, text, new=12, stop=(), temperature=0.0, seeds=(0,)):
    return Prompt(model.wrap(model.tokens.ids(text))[0], new, stop, temperature, seeds)


def of_transformers(model, text, new=12):
    """Return the text that transformers' own greedy decoding gives for one prompt."""
    ids = torch.tensor([model.wrap(model.tokens.ids(text))[0]])
    with torch.no_grad():
        out = model.network.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=new, do_sample=False, pad_token_id=0
        )
    return model.tokens.decode(out[0, ids.shape[1] :].tolist())


@pytest.mark.parametrize("name", CAUSAL)
def test_greedy_equals_that_of_transformers(model, name):
    one = model(name)
    found = generate(one, [prompt(one, text) for text in TEXTS])
    assert found == [[of_transformers(one, text)] for text in TEXTS]


@pytest.mark.parametrize("budget", [1, 40])
def test_batches_do_not_matter(model, budget):
    one = model("llama")
    prompts = [prompt(one, text, temperature=1.0, seeds=(1, 2)) for text in TEXTS]
    assert generate(one, prompts, budget) == generate(one, prompts)


def test_a_model_without_a_plain_cache_gives_the_same_text(model, monkeypatch):
    one = model("llama")
    expected = generate(one, [prompt(one, text) for text in TEXTS])
    monkeypatch.setattr(generation, "PLAIN_LAYERS", ())
    assert generate(one, [prompt(one, text) for text in TEXTS]) == expected


def test_the_text_ends_before_a_stop_string(model):
    one = model("llama")
    [[whole]] = generate(one, [prompt(one, "Paris is")])
    stop = whole[5:7]
    [[cut]] = generate(one, [prompt(one, "Paris is", stop=("never there", stop))])
    assert cut == whole[: whole.index(stop)]


def test_the_end_token_ends_the_text(model, monkeypatch):
    one = model("llama")
    text = "Paris is"
    ids = one.tokens.ids(generate(one, [prompt(one, text)])[0][0])
    [row] = reference.distributions(one, [(one.wrap(one.tokens.ids(text))[0], len(one.wrap(one.tokens.ids(text))[0]))])
    first = int(row.argmax())
    monkeypatch.setitem(one.__dict__, "end_ids", frozenset({first}))
    assert generate(one, [prompt(one, text)]) == [[""]]
    assert len(ids) > 0


def test_the_end_token_is_that_of_the_checkpoint(model):
    assert model("llama").end_ids == {2}


def test_a_sample_does_not_depend_on_its_neighbours(model):
    one = model("llama")
    seeds = tuple(sample_seed(7, index) for index in range(5))
    many = generate(one, [prompt(one, text, temperature=1.0, seeds=seeds) for text in TEXTS])
    alone = generate(one, [prompt(one, TEXTS[2], temperature=1.0, seeds=seeds[3:4])])
    assert many[2][3] == alone[0][0]
    assert len(set(many[2])) > 1


def test_greedy_samples_are_one_text(model):
    one = model("llama")
    [texts] = generate(one, [prompt(one, "Paris is", seeds=(1, 2, 3))])
    assert len(texts) == 3 and len(set(texts)) == 1


def test_samples_follow_the_softmax_at_their_temperature():
    logits = torch.log(torch.tensor([0.5, 0.3, 0.2, 0.0]))
    for temperature in (0.5, 1.0, 2.0):
        draws = torch.Generator().manual_seed(0)
        counts = collections.Counter(draw(logits, temperature, draws) for _ in range(4000))
        weights = [value ** (1 / temperature) for value in (0.5, 0.3, 0.2)]
        assert counts[3] == 0
        for token, weight in enumerate(weights):
            share = weight / sum(weights)
            # Five standard errors of a share of 4000 draws.
            assert abs(counts[token] / 4000 - share) < 5 * math.sqrt(share * (1 - share) / 4000)


def test_logits_that_are_no_numbers_are_an_error(model):
    sample = Sample(prompt(model("llama"), "Paris"), None)
    with pytest.raises(ArithmeticError, match="not finite"):
        extend(model("llama"), sample, torch.full((5,), math.nan))
