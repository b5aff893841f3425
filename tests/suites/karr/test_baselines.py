"""LAMA and ParaRel by hand: the place of the true object, the best candidates after several templates."""

import math
from types import SimpleNamespace

import pytest

from almanac.suites.karr.baselines import FilledBlank, k_prompts, lama, pararel

CITIES = ("Paris", "Lyon", "Nice")


def filled(logprobs, place=1, status="ok", ranks=(0, 9, 10), counts=(1, 1, 1)):
    return FilledBlank(place, CITIES, status, logprobs, ranks, ("  Paris",), counts)


@pytest.mark.parametrize(
    ("best", "agreeing"),
    [((1, 1, 1), 1), ((1, 1, 0), 1 / 3), ((2, 1, 0), 0), ((0, 1, 2), 0), ((1, 1, 1, 0), 1 / 2), ((1, 0), 0)],
)
def test_pararel_counts_the_pairs_of_templates_that_choose_the_same(best, agreeing):
    found = pararel([filled([-5 + 4 * (at == one) for at in range(3)]) for one in best])
    assert found.confidence == pytest.approx(agreeing)
    assert found.known == (best == (1, 1, 1))
    assert found.prediction == (CITIES[1] if agreeing == 1 else None)


def test_pararels_score_is_the_mean_log_share_among_the_candidates():
    found = pararel([filled([math.log(p) for p in shares]) for shares in ((0.1, 0.2, 0.1), (0.3, 0.1, 0.0001))])
    assert found.score == pytest.approx((math.log(0.5) + math.log(0.1 / 0.4001)) / 2)
    assert not found.known and found.prediction is None


def test_pararels_candidates_are_those_that_the_tokenizer_can_write():
    """Nice is written as the unknown token, which is likelier than both names that can be written."""
    found = pararel([filled([-3.0, -2.0, -0.1], counts=(1, 1, 0))] * 2)
    assert found.known and found.prediction == "Lyon"
    assert found.score == pytest.approx(-math.log1p(math.exp(-1)))
    unwritten = pararel([filled([-3.0, -2.0, -0.1], place=2, counts=(1, 1, 0))] * 2)
    assert (unwritten.known, unwritten.without) == (None, "invalid")


@pytest.mark.parametrize(
    "alone",
    [filled([-3.0, -2.0, -0.1], counts=(0, 1, 0)), filled([-2.0], place=0, counts=(1,))._replace(choices=("Lyon",))],
)
def test_pararel_does_not_judge_an_object_that_is_the_only_candidate(alone):
    found = pararel([alone] * 2)
    assert (found.known, found.score, found.without) == (None, None, "invalid")


def test_one_template_agrees_with_no_other():
    assert pararel([filled([-1, -0.5, -3])]).confidence is None


@pytest.mark.parametrize("method", [lambda blank: lama(blank, 10), lambda blank: pararel([filled([0, 0, 0]), blank])])
@pytest.mark.parametrize("blank", [filled([-1, -2, -3], status="error"), filled(None)])
def test_without_an_answer_there_is_no_verdict(method, blank):
    found = method(blank)
    assert (found.known, found.score, found.without) == (None, None, "error")


@pytest.mark.parametrize(("place", "within", "known"), [(1, 10, True), (2, 10, False), (0, 1, True), (1, 1, False)])
def test_lama_takes_the_object_among_the_first_tokens(place, within, known):
    found = lama(filled([-1, -2, -3], place), within)
    assert (found.known, found.score) == (known, -1 - place)
    # Of ten the likeliest would be no answer that explains the verdict.
    assert (found.prediction == "Paris") == (within == 1)
    assert found.prediction.startswith("Paris") and (within == 1 or "the object is no. " in found.prediction)


def test_an_object_of_several_tokens_cannot_be_judged_by_lama():
    found = lama(filled([-1, -2, -3], ranks=(0, None, 1)), 10)
    assert (found.known, found.without) == (None, "invalid")


@pytest.mark.parametrize(("threshold", "known"), [(0.29, True), (0.31, False)])
def test_k_prompts_holds_the_mean_probability_against_its_threshold(threshold, known):
    numbers = SimpleNamespace(prompts=lambda drawn: [math.log(0.2), math.log(0.4)])
    found = k_prompts(numbers, None, threshold)
    assert found.known == known and found.score == pytest.approx(math.log(0.3))
