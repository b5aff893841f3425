import dataclasses
import random

import numpy as np
import pytest
import torch

from almanac.models.scoring import reference
from almanac.models.scoring.boundaries import TokenSequence
from almanac.models.scoring.forest import reading
from almanac.models.scoring.forest.attention import NAME, UnusableError
from almanac.models.scoring.forest.machines import StockMaskMachine, TreeMachine
from almanac.models.scoring.forest.plan import Shape

CAUSAL = ("llama", "llama2", "gpt2", "neox")
MACHINES = (TreeMachine, StockMaskMachine)
SHAPES = (None, Shape(16, 24, 4), Shape(8, 90, 3), Shape(64, 64, 16))


def mixed(vocabulary, seed=0):
    """Return texts that share in every way, up to 94 tokens."""
    draws = random.Random(seed)

    def some(count):
        return tuple(draws.randrange(5, vocabulary) for _ in range(count))

    stem, deeper = some(30), some(25)
    found = []
    for base in (stem, stem + deeper, ()):
        for _ in range(6):
            subject = base + some(draws.randrange(2, 6))
            pool = [some(draws.randrange(1, 5)) for _ in range(4)]
            for _ in range(8):
                ids = subject + draws.choice(pool) + draws.choice(pool)
                found.append(TokenSequence(ids, ((len(subject), len(ids)),)))
    alone = some(94)
    found.append(TokenSequence(alone, ((1, 4), (40, 60), (93, 94), (2, 3))))
    found.append(TokenSequence(alone[:50], ((10, 50),)))
    found.append(TokenSequence(stem[:3], ((2, 3),)))
    return found


def sums(values):
    return np.array([sum(part) for parts in values for part in parts])


@pytest.mark.parametrize("name", CAUSAL)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_numbers_are_those_of_the_plain_pass(model, name, machine, shape):
    one = model(name)
    sequences = mixed(one.vocabulary)
    work = reading.ScoringWork()
    found = reading.score(machine(one), one, sequences, shape=shape, work=work)
    plain = reference.score(one, sequences)
    assert [[len(part) for part in parts] for parts in found] == [[len(part) for part in parts] for parts in plain]
    assert np.abs(sums(found) - sums(plain)).max() <= 5e-5
    assert work.distinct == len({s.ids[:n] for s in sequences for n in range(1, max(p[1] for p in s.parts))})
    assert work.fed >= work.distinct


def many(vocabulary):
    """Return more texts than a row holds: two stems, two hundred subjects."""
    draws = random.Random(1)
    found = []
    for _ in range(200):
        subject = (5, 6, 7) * 10 + tuple(draws.randrange(5, vocabulary) for _ in range(4))
        for _ in range(5):
            ids = subject + tuple(draws.randrange(5, vocabulary) for _ in range(3))
            found.append(TokenSequence(ids, ((len(subject), len(ids)),)))
    return found


@pytest.mark.parametrize("name", ["llama", "gpt2", "neox"])
def test_the_batch_size_changes_nothing_and_the_order_next_to_nothing(model, name):
    one = model(name)
    sequences = many(one.vocabulary) + mixed(one.vocabulary)
    machine, work = TreeMachine(one), reading.ScoringWork()
    expected = reading.score(machine, one, sequences, work=work)
    assert work.fed > 20 * 128
    for budget in (1, 128, 300, 1024, 10**6):
        assert reading.score(machine, one, sequences, budget=budget) == expected
    assert reading.score(machine, one, sequences[::-1])[::-1] == expected
    parts = [reading.score(machine, one, sequences[start::3]) for start in range(3)]
    for index, values in enumerate(expected):
        assert np.abs(sums([values]) - sums([parts[index % 3][index // 3]])).max() <= 5e-5


def test_whole_distributions_are_read_off_beside_scores(model):
    one = model("llama")
    sequences = mixed(one.vocabulary)
    places = [sequences[0].ids[:20], sequences[0].ids[:32], sequences[-3].ids[:90], sequences[0].ids[:20]]
    rows = {}
    reading.score(TreeMachine(one), one, sequences, places, rows.__setitem__)
    plain = reference.distributions(one, [(ids, len(ids)) for ids in places])
    assert sorted(rows) == [0, 1, 2, 3]
    for index, row in enumerate(plain):
        assert torch.allclose(rows[index], row, atol=5e-5)
        assert torch.exp(rows[index].double()).sum() == pytest.approx(1, abs=1e-5)


def test_the_probabilities_of_all_continuations_sum_to_one(model):
    one = model("gpt2")
    stem = mixed(one.vocabulary)[0].ids[:40]
    sequences = [TokenSequence((*stem, token), ((40, 41),)) for token in range(one.vocabulary)]
    found = reading.score(TreeMachine(one), one, sequences)
    assert np.exp([parts[0][0] for parts in found]).sum() == pytest.approx(1, abs=1e-5)


def test_texts_with_no_limit_to_their_unlikeliness_stay_finite(checkpoint, model):
    one = model("llama")
    network = type(one.network)(one.network.config).eval()
    network.load_state_dict(one.network.state_dict())
    with torch.no_grad():
        network.lm_head.weight.mul_(1e4)
    steep = dataclasses.replace(one, network=network)
    found = sums(reading.score(TreeMachine(steep), steep, mixed(one.vocabulary)))
    assert np.isfinite(found).all()
    assert found.min() < -1e6
    assert np.abs(found / sums(reference.score(steep, mixed(one.vocabulary))) - 1).max() < 1e-5


def test_memory_that_runs_out_halves_the_batch(model, monkeypatch):
    one = model("llama")
    sequences = many(one.vocabulary)
    machine = TreeMachine(one)
    expected = reading.score(machine, one, sequences)
    right, refused = TreeMachine.read_rows, []

    def small(self, above, length, ids, *others):
        if len(ids) > 2:
            refused.append(len(ids))
            raise torch.OutOfMemoryError("out of memory")
        return right(self, above, length, ids, *others)

    monkeypatch.setattr(TreeMachine, "read_rows", small)
    assert reading.score(machine, one, sequences) == expected
    assert refused


def test_the_model_is_left_as_it_was(model):
    one = model("llama")
    own = one.network.config._attn_implementation
    with TreeMachine(one).session():
        assert one.network.config._attn_implementation == NAME
    assert one.network.config._attn_implementation == own


def test_a_scored_token_in_a_head_is_an_error():
    from almanac.models.scoring.forest.trie import Growing

    with pytest.raises(ValueError, match="only tokens after it may be scored"):
        Growing().add(TokenSequence((3, 4), ((1, 2),), (1, 2)))


def test_a_model_whose_layers_do_not_call_the_interface_is_refused(model, monkeypatch):
    one = model("llama")
    machine = TreeMachine(one)
    machine.layers = 3
    with pytest.raises(UnusableError, match="2 times in 3 layers"):
        reading.score(machine, one, mixed(one.vocabulary))
