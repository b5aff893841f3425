import copy

import pytest
import torch
from tests.models.tiny_networks import SHAPE, llama, sharpen
from transformers import MistralConfig, MistralForCausalLM

from almanac.models.causal import CausalModel
from almanac.models.scoring import prefix_cache, reference
from almanac.models.scoring.boundaries import TokenSequence, tokenise
from almanac.rows import Request

CAUSAL = ("llama", "llama2", "gpt2", "neox")
CONTEXT = "Ada Lovelace London Paris France Rome Italy Bordira"
CHOICES = (" France", " Italy", " Italy and Rome", " Italy and", " 3M", " naïve café", ".", " x")


def sequences_of(model):
    requests = [
        Request(str(i), "choices", "c", text, choices=CHOICES) for i, text in enumerate(("", " Zoë", " the red"))
    ]
    return [one for tokenised in tokenise(requests, {"c": CONTEXT}, model) for one in tokenised.sequences]


def flat(values):
    return [value for parts in values for part in parts for value in part]


@pytest.mark.parametrize("budget", [None, 1, 30])
@pytest.mark.parametrize("name", CAUSAL)
def test_it_equals_the_reference(model, name, budget):
    sequences = sequences_of(model(name))
    found = flat(prefix_cache.score(model(name), sequences, budget))
    assert found == pytest.approx(flat(reference.score(model(name), sequences)), abs=1e-4)
    assert max(found) - min(found) > 3


def test_the_order_does_not_matter(model):
    sequences = sequences_of(model("llama"))
    found = flat(prefix_cache.score(model("llama"), sequences))
    reversed_ = flat(list(reversed(prefix_cache.score(model("llama"), sequences[::-1]))))
    assert found == pytest.approx(reversed_, abs=1e-5)


def test_a_sliding_window_shorter_than_the_prefix(model):
    tokens = model("llama").tokens
    torch.manual_seed(0)
    config = MistralConfig(vocab_size=len(tokens.tokenizer), num_key_value_heads=2, sliding_window=4, **SHAPE)
    network = MistralForCausalLM(config).eval()
    sharpen(network)
    sliding = CausalModel(network, tokens, "", None)
    sequences = sequences_of(sliding)
    assert prefix_cache.shared_prefix(sequences) > 4
    found = flat(prefix_cache.score(sliding, sequences))
    assert found == pytest.approx(flat(reference.score(sliding, sequences)), abs=1e-4)


def test_a_text_beyond_the_turn_of_the_frequencies_does_not_continue_a_prefix_within_it(model):
    tokens, rope = model("llama").tokens, {"rope_type": "longrope", "rope_theta": 10_000.0, "factor": 12.0}
    rope |= {"short_factor": [1.0] * 4, "long_factor": [9.0] * 4, "original_max_position_embeddings": 8}
    turning = CausalModel(llama(len(tokens.tokenizer), rope_parameters=rope).eval(), tokens, "", None)
    sharpen(turning.network)

    def sharing(prefix):
        ends = ((40,), (41, 42, 43))
        return [TokenSequence((*range(3, 4 + prefix), *end), ((prefix + 1, prefix + 2),)) for end in ends]

    with pytest.raises(prefix_cache.NoCacheError, match="12 tokens has other rotary frequencies than its first 8 "):
        prefix_cache.score(turning, sharing(8))
    for usable in (sharing(4), sharing(9)):
        found = flat(prefix_cache.score(turning, usable))
        assert found == pytest.approx(flat(reference.score(turning, usable)), abs=1e-4)


def test_the_prefix_ends_before_the_token_that_predicts():
    sequences = [TokenSequence((1, 2, 3, 4), ((3, 4),)), TokenSequence((1, 2, 3, 5, 6), ((3, 5),))]
    assert prefix_cache.shared_prefix(sequences) == 2
    assert prefix_cache.shared_prefix(sequences[:1] * 2) == 2
    assert prefix_cache.shared_prefix([*sequences, TokenSequence((1, 7, 8), ((2, 3),))]) == 1


def test_a_token_is_read_once_for_all_choices_that_begin_alike(model):
    sequences = [TokenSequence((1, 2, 3, last), ((3, 4),)) for last in range(4, 30)]
    sequences.append(TokenSequence((1, 2, 3, 4, 5), ((3, 5),)))
    rows, row_of = prefix_cache._rows(sequences, 2)
    assert [row.ids for row in rows] == [(3, 4)]
    assert set(row_of) == {(3,), (3, 4)}
    found = flat(prefix_cache.score(model("llama"), sequences))
    assert found == pytest.approx(flat(reference.score(model("llama"), sequences)), abs=1e-4)


def test_the_cache_is_not_changed_by_reading_under_it(model):
    one = model("llama")
    cache = prefix_cache._prefix_cache(one, (1, 5, 6, 7))
    before = copy.deepcopy([layer.keys for layer in cache.layers])
    row = prefix_cache.PrefixRow((8, 9), ((1, 10),))
    first = prefix_cache._read(one, cache, 4, [row, row])
    assert cache.get_seq_length() == 4
    assert all(torch.equal(layer.keys, old) for layer, old in zip(cache.layers, before, strict=True))
    assert prefix_cache._read(one, cache, 4, [row, row]) == first


def test_a_model_without_keys_and_values_says_so(model):
    from transformers import MambaConfig, MambaForCausalLM

    network = MambaForCausalLM(MambaConfig(vocab_size=64, hidden_size=16, num_hidden_layers=1, state_size=4)).eval()
    one = CausalModel(network, model("llama").tokens, "", None)
    with pytest.raises(prefix_cache.NoCacheError, match="MambaForCausalLM"):
        prefix_cache.score(one, [TokenSequence((1, 2, 3, 4), ((3, 4),)), TokenSequence((1, 2, 3, 5), ((3, 4),))])
