import contextlib
import copy
import math

import pytest
import torch
from torch import nn

from almanac.models.masked import MaskedModel
from almanac.models.scoring import pseudo, reference
from almanac.models.scoring.boundaries import TokenSequence, tokenise
from almanac.rows import Request

FULL = ("bert", "albert", "roberta", "distilbert", "modernbert", "electra", "deberta", "fnet", "longformer")
NAMES = (*FULL, "xlnet")
CHOICES = (" France", " Italy and Rome", " 3M", " naïve café", ".", " red")


def sequences_of(model):
    requests = [
        Request("a", "choices", None, "Paris is the capital of", choices=CHOICES),
        Request("b", "choices", None, "The tape", choices=CHOICES),
        Request("c", "spans", None, "Bordira makes the red clock.", span_starts=(0, 18), span_ends=(7, 27)),
    ]
    return [sequence for tokenised in tokenise(requests, {}, model) for sequence in tokenised.sequences]


def flat(values):
    return [value for parts in values for part in parts for value in part]


def hidden_one_at_a_time(model, sequences):
    """Return each scored token's value in float64: its row alone, as the network reads it without more ado."""
    network = copy.deepcopy(model.network).double()
    found = []
    for sequence in sequences:
        for start, stop in sequence.parts:
            for position in range(start, stop):
                ids = [model.mask_id if position <= place < stop else token for place, token in enumerate(sequence.ids)]
                with torch.no_grad():
                    row = network(input_ids=torch.tensor([ids])).logits[0, position]
                found.append(float(torch.log_softmax(row, -1)[sequence.ids[position]]))
    return found


@pytest.mark.parametrize("name", FULL)
def test_it_equals_plain_float64_passes(encoder, name):
    one = encoder(name)
    sequences = sequences_of(one)
    expected = hidden_one_at_a_time(one, sequences)
    assert flat(pseudo.score(one, sequences)) == pytest.approx(expected, abs=1e-4)
    assert flat(reference.score(one, sequences)) == pytest.approx(expected, abs=1e-4)
    assert max(expected) - min(expected) > 2  # The comparison would notice a wrong position.


@pytest.mark.parametrize("name", NAMES)
def test_neither_batches_nor_order_matter(encoder, name):
    one = encoder(name)
    sequences = sequences_of(one)
    together = flat(pseudo.score(one, sequences))
    assert flat(pseudo.score(one, sequences, budget=1)) == pytest.approx(together, abs=1e-5)
    assert flat(pseudo.score(one, sequences[::-1], budget=60)[::-1]) == pytest.approx(together, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_distributions_are_those_of_the_reference(encoder, name):
    one = encoder(name)
    places = []
    for text in ("Paris is", "The clock of Bordira is", "Rome"):
        ids, _ = one.wrap([*one.tokens.ids(text), one.mask_id])
        places.append((ids, ids.index(one.mask_id)))
    for found, expected in zip(pseudo.distributions(one, places), reference.distributions(one, places), strict=True):
        assert found.shape == (one.vocabulary,)
        assert torch.allclose(found, expected, atol=1e-5)
        assert float(found.double().exp().sum()) == pytest.approx(1, abs=1e-5)


def test_the_head_reads_each_masked_input_once_and_nothing_else(encoder):
    one = encoder("bert")
    ids, _ = one.wrap([*one.tokens.ids("Paris is"), one.mask_id])
    place = (ids, ids.index(one.mask_id))
    words = [one.tokens.ids(word)[0] for word in ("red", "blue", "the")]
    choices = [
        TokenSequence((*ids[: place[1]], word, *ids[place[1] + 1 :]), ((place[1], place[1] + 1),)) for word in words
    ]
    rows, read = {}, []
    with one.network.get_output_embeddings().register_forward_hook(lambda _m, given, _o: read.append(given[0].shape)):
        values = pseudo.score(one, choices, [place, place], rows.__setitem__)
    assert read == [(1, 1, 32)]  # Three choices and two whole distributions, of one input.
    assert [value for [[value]] in values] == [float(rows[0][word]) for word in words]
    assert torch.equal(rows[0], rows[1])


@pytest.mark.parametrize("name", ["bert", "albert", "modernbert"])
def test_behind_the_last_attention_only_the_mask_is_computed(encoder, name):
    """Three linear maps stand there, the first of which takes what was attended to; ALBERT's run once a layer."""
    one = encoder(name)
    assert one.gathers  # Found by trying, at the first question: those passes are not to be counted.
    shapes = []
    maps = [module for module in one.network.base_model.modules() if isinstance(module, nn.Linear)]
    with contextlib.ExitStack() as hooks:
        for module in maps:
            hooks.enter_context(module.register_forward_hook(lambda _m, _given, output: shapes.append(output.shape[1])))
        pseudo.score(one, sequences_of(one)[:1])
    before, behind = shapes[:-3], shapes[-3:]
    assert behind == [1, 1, 1]
    assert min(before) > 1


def test_rows_of_one_length_go_together_and_nothing_is_padded(encoder, monkeypatch):
    one = encoder("modernbert")
    shapes = []
    real = MaskedModel.logits
    monkeypatch.setattr(
        MaskedModel, "logits", lambda self, ids, at: shapes.append(tuple(ids.shape)) or real(self, ids, at)
    )
    sequences = sequences_of(one)
    pseudo.score(one, sequences)
    inputs = {one_input[:2] for sequence in sequences for one_input in reference.masked_inputs(one, sequence)}
    lengths = {len(ids) for ids, _ in inputs}
    assert sorted(width for _, width in shapes) == sorted(lengths)
    assert sum(rows for rows, _ in shapes) == len(inputs)


class Mixing(nn.Module):
    """A head that looks at the whole row."""

    def __init__(self, head):
        super().__init__()
        self.head = head

    def forward(self, states):
        return self.head(states + states.mean(1, keepdim=True))


def test_a_head_that_looks_at_the_whole_row_is_found_out_and_gets_it(encoder):
    one = encoder("bert")
    assert one.gathers
    network = copy.deepcopy(one.network)
    network.cls = Mixing(network.cls)
    other = MaskedModel(network, one.tokens, "", None)
    assert not other.gathers
    sequences = sequences_of(other)
    assert flat(pseudo.score(other, sequences)) == pytest.approx(hidden_one_at_a_time(other, sequences), abs=1e-4)


def test_a_network_that_hands_its_head_something_else_gets_the_full_head(encoder):
    one = encoder("bert")
    network = copy.deepcopy(one.network)
    network.base_model_prefix = "nowhere"
    other = MaskedModel(network, one.tokens, "", None)
    assert not other.gathers
    sequences = sequences_of(one)
    assert flat(pseudo.score(other, sequences)) == pytest.approx(flat(pseudo.score(one, sequences)), abs=1e-5)


@pytest.mark.parametrize("name", ["bert", "albert", "modernbert"])
def test_lower_precision_is_read_the_same_way(encoder, name):
    one = encoder(name)
    low = type(one)(copy.deepcopy(one.network).bfloat16(), one.tokens, "", None)
    assert low.gathers
    sequences = sequences_of(low)
    found, plain = flat(pseudo.score(low, sequences)), flat(reference.score(low, sequences))
    assert found == pytest.approx(plain, abs=0.25)  # What rounding may do to a token.
    assert all(value <= 0 for value in found)


def test_no_hook_is_left_behind(encoder):
    one = encoder("bert")
    pseudo.score(one, sequences_of(one))
    assert not one.network.base_model._forward_hooks


def test_the_first_of_two_tokens_does_not_see_the_second(encoder):
    """Kauf & Ivanova (2023): within a word the tokens to the right are masked too."""
    one = encoder("bert")
    ids, shift = one.wrap(one.tokens.ids("Paris is the capital of France"))
    whole = TokenSequence(ids, ((shift, shift + 2),))
    changed = TokenSequence((*ids[: shift + 1], ids[shift] + 1, *ids[shift + 2 :]), ((shift, shift + 2),))
    apart = TokenSequence(ids, ((shift, shift + 1), (shift + 1, shift + 2)))  # Salazar et al. (2020): each by itself.
    [[a, b]], [[c, _]], [[d], [e]] = pseudo.score(one, [whole, changed, apart])
    assert a == pytest.approx(c, abs=1e-6)
    assert b == pytest.approx(e, abs=1e-6)
    assert abs(a - d) > 0.01


def test_huge_logits_stay_finite(encoder):
    one = encoder("bert")
    network = copy.deepcopy(one.network)
    with torch.no_grad():
        network.cls.predictions.transform.LayerNorm.weight.mul_(1e6)
    values = flat(pseudo.score(MaskedModel(network, one.tokens, "", None), sequences_of(one)))
    assert min(values) < -1e6
    assert all(math.isfinite(value) for value in values)


def test_memory_that_runs_out_halves_the_batch(encoder, monkeypatch):
    one = encoder("bert")
    sequences = sequences_of(one)
    expected = flat(pseudo.score(one, sequences))
    real, sizes = MaskedModel.logits, []

    def limited(self, ids, at):
        if len(ids) > 3:
            raise torch.OutOfMemoryError("out of memory")
        sizes.append(len(ids))
        return real(self, ids, at)

    monkeypatch.setattr(MaskedModel, "logits", limited)
    assert flat(pseudo.score(one, sequences)) == pytest.approx(expected, abs=1e-5)
    assert max(sizes) <= 3
