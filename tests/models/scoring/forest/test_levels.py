import copy
import dataclasses
import random

import numpy as np
import pytest
import torch

from almanac.models.scoring import reference
from almanac.models.scoring.best import SHARE
from almanac.models.scoring.boundaries import TokenSequence
from almanac.models.scoring.forest import levels, reading
from almanac.models.scoring.forest.attention import UnusableError
from almanac.models.scoring.forest.machines import TreeMachine


def sure(model):
    """Return a model that tells choices apart as real ones do, where some cannot win."""
    network = copy.deepcopy(model.network)
    with torch.no_grad():
        network.get_output_embeddings().weight.mul_(3)
    return dataclasses.replace(model, network=network)


def questions(vocabulary, head_tokens):
    """Return requests of 30 choices behind heads of their own, one of them long, some without a head."""
    draws = random.Random(3)

    def some(count):
        return tuple(draws.randrange(5, vocabulary) for _ in range(count))

    heads = [some(head_tokens), some(head_tokens // 2), ()]
    found = []
    for head in heads:
        for _ in range(9):
            subject = some(draws.randrange(1, 5))
            pool = list(dict.fromkeys(some(draws.randrange(1, 5)) for _ in range(30)))
            first = len(head) + len(subject)
            found.append([TokenSequence(subject + one, ((first, first + len(one)),), head) for one in pool])
    return found


@pytest.mark.parametrize("name", ["llama", "gpt2", "neox"])
def test_the_best_choice_is_exact_and_fewer_tokens_are_fed_than_there_are(model, name):
    one = sure(model(name))
    groups = questions(one.vocabulary, 40)
    work, whole = reading.ScoringWork(), reading.ScoringWork()
    machine = TreeMachine(one)
    found = levels.follow(machine, groups, work)
    reading.score(machine, one, [sequence for group in groups for sequence in group], work=whole)
    for group, followed in zip(groups, found, strict=True):
        right = np.array([sum(parts[0]) for parts in reference.score(one, group)])
        known, exact = np.array([sum(values) for values in followed.values]), np.array(followed.exact)
        assert known.argmax() == right.argmax()
        assert exact[known.argmax()]
        assert np.abs(known - right)[exact].max() <= 1e-4
        assert (known >= right - 1e-4).all()
        share, plain = (np.exp(values.max() - np.logaddexp.reduce(values)) for values in (known, right))
        assert abs(share / plain - 1) <= SHARE + 2e-4
    assert work.distinct >= whole.distinct
    assert work.fed < whole.distinct
    assert not all(all(followed.exact) for followed in found)


@pytest.mark.parametrize("reads", [0, 1, 2, 3])
def test_memory_that_runs_out_begins_a_batch_anew(model, monkeypatch, reads):
    one = sure(model("llama"))
    groups = questions(one.vocabulary, 40)
    expected = levels.follow(TreeMachine(one), groups)
    right = levels._Batch._read
    refused, done = [], []

    def small(self, batch):
        done.append(len(self.questions))
        if len(self.questions) > 3 and len(done) > reads:
            refused.append(len(self.questions))
            raise torch.OutOfMemoryError("out of memory")
        return right(self, batch)

    monkeypatch.setattr(levels._Batch, "_read", small)
    found = levels.follow(TreeMachine(one), groups)
    assert refused
    for a, b in zip(found, expected, strict=True):
        assert a.exact == b.exact
        assert np.abs(np.array([sum(x) - sum(y) for x, y in zip(a.values, b.values, strict=True)])).max() <= 5e-5


def test_a_choice_right_behind_the_context_is_refused():
    with pytest.raises(UnusableError, match="directly follows the context"):
        levels.ChoiceForest([TokenSequence((3, 4), ((2, 4),), (1, 2))])


def test_no_requests_are_no_questions(model):
    assert levels.follow(TreeMachine(model("llama")), []) == []
