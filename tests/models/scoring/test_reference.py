import copy
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from almanac.models.scoring import reference
from almanac.models.scoring.batching import run_batches, token_budget
from almanac.models.scoring.boundaries import TokenSequence, tokenise
from almanac.rows import Request

CAUSAL = ("llama", "llama2", "gpt2", "neox")
MASKED = ("bert", "modernbert")
CHOICES = (" France", " Italy and Rome", " 3M", " naïve café 東京", ".", " x")


def sequences_of(model):
    requests = [
        Request("a", "choices", None, "Paris is the capital of", choices=CHOICES),
        Request("b", "choices", None, "The tape", choices=CHOICES),
        Request("c", "spans", None, "Bordira makes the red clock.", span_starts=(0, 18), span_ends=(7, 27)),
        Request("d", "spans", None, "", pieces=("Ada", " Lovelace", " was born")),
    ]
    return [sequence for tokenised in tokenise(requests, {}, model) for sequence in tokenised.sequences]


def one_at_a_time(model, sequences):
    """Score in float64, one sequence (or masked input) a forward pass, without padding or mask."""
    network = copy.deepcopy(model.network).double()
    found = []
    for sequence in sequences:
        parts = []
        for start, stop in sequence.parts:
            values = []
            for position in range(start, stop):
                ids = list(sequence.ids)
                if model.WRAPPER.startswith("masked"):
                    ids[position:stop] = [model.mask_id] * (stop - position)
                    seen = position
                else:
                    ids, seen = ids[:position], position - 1
                with torch.no_grad():
                    logits = network(input_ids=torch.tensor([ids])).logits[0, seen]
                values.append(float(torch.log_softmax(logits, -1)[sequence.ids[position]]))
            parts.append(values)
        found.append(parts)
    return found


def flat(values):
    return [value for parts in values for part in parts for value in part]


@pytest.mark.parametrize("name", CAUSAL + MASKED)
def test_it_equals_plain_float64_passes(model, name):
    sequences = sequences_of(model(name))
    found = flat(reference.score(model(name), sequences))
    expected = flat(one_at_a_time(model(name), sequences))
    assert found == pytest.approx(expected, abs=1e-4)
    assert max(expected) - min(expected) > 3  # The comparison would notice a wrong position.


@pytest.mark.parametrize("name", CAUSAL + MASKED)
def test_neither_batches_nor_order_matter(model, name):
    sequences = sequences_of(model(name))
    together = flat(reference.score(model(name), sequences))
    single = flat(reference.score(model(name), sequences, budget=1))
    reversed_ = flat(list(reversed(reference.score(model(name), sequences[::-1], budget=40))))
    assert together == pytest.approx(single, abs=1e-5)
    assert together == pytest.approx(reversed_, abs=1e-5)


@pytest.mark.parametrize("name", CAUSAL + MASKED)
def test_the_probabilities_of_all_one_token_continuations_sum_to_one(model, name):
    one = model(name)
    ids, _ = one.wrap(one.tokens.ids("Paris is"))
    place = len(ids) - len(one.tokens.suffix)
    if name in MASKED:
        sequences = [
            TokenSequence((*ids[:place], token, *ids[place:]), ((place, place + 1),)) for token in range(one.vocabulary)
        ]
    else:
        sequences = [TokenSequence((*ids, token), ((place, place + 1),)) for token in range(one.vocabulary)]
    assert math.fsum(math.exp(value) for value in flat(reference.score(one, sequences))) == pytest.approx(1, abs=1e-5)


def test_a_whole_is_the_product_of_its_parts(model):
    """P(ab) = P(a) P(b | a): the chain rule over choices."""
    one = model("llama")
    text, first, second = "Paris is", " the capital", " of France"
    requests = [
        Request("ab", "choices", None, text, choices=(first + second,)),
        Request("a", "choices", None, text, choices=(first,)),
        Request("b", "choices", None, text + first, choices=(second,)),
    ]
    both, a, b = (sum(flat(reference.score(one, tokenised.sequences))) for tokenised in tokenise(requests, {}, one))
    assert both == pytest.approx(a + b, abs=1e-4)


@pytest.mark.parametrize("scale", [1e4, 1e6])
def test_huge_logits_stay_finite(scale):
    values = reference.log_softmax(torch.tensor([[scale, 0.0, -scale]]))
    assert torch.isfinite(values).all()
    assert values[0].tolist() == pytest.approx([0.0, -scale, -2 * scale])


def test_huge_weights_stay_finite(model):
    one = copy.copy(model("llama"))
    network = copy.deepcopy(one.network)
    with torch.no_grad():
        network.lm_head.weight.mul_(1e5)
    object.__setattr__(one, "network", network)
    values = flat(reference.score(one, sequences_of(one)))
    assert min(values) < -1e5
    assert all(math.isfinite(value) for value in values)


def test_low_precision_is_summed_from_float32_values(model, checkpoint):
    from almanac.models.options import AnswerOptions
    from almanac.models.registry import load

    low = load(str(checkpoint("llama")), AnswerOptions(dtype="bfloat16"))
    sequences = sequences_of(low)
    found = flat(reference.score(low, sequences))
    expected = flat(reference.score(model("llama"), sequences))
    tokens = len(found)
    assert abs(math.fsum(found) - math.fsum(expected)) < 0.5 * tokens
    assert all(value <= 0 for value in found)


@settings(deadline=None)
@given(st.lists(st.integers(1, 30)), st.integers(1, 100), st.integers(1, 60))
def test_batches_keep_the_order_and_shrink_when_memory_runs_out(lengths, budget, memory):
    sizes = []

    def work(batch):
        tokens = len(batch) * max(batch)
        if tokens > memory and len(batch) > 1:
            raise torch.OutOfMemoryError("out of memory")
        sizes.append((len(batch), tokens))
        return [length * 2 for length in batch]

    assert run_batches(lengths, lambda length: length, work, budget) == [length * 2 for length in lengths]
    assert all(rows == 1 or tokens <= min(budget, memory) for rows, tokens in sizes)


def test_one_job_that_does_not_fit_is_an_error():
    def work(batch):
        raise torch.OutOfMemoryError("out of memory")

    with pytest.raises(torch.OutOfMemoryError):
        run_batches([1, 2], lambda length: length, work, 10)


def test_the_budget_keeps_logits_within_a_gibibyte():
    assert token_budget(torch.device("cpu"), 128_000) * 128_000 * 4 <= 2**30
