"""KaRR's formulas against a direct computation in plain probabilities, worked examples and identities."""

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almanac.suites.karr.estimator import OFFICIAL, PAPER, WEIGHTED, Beta, Leaves, estimate, log_mean, log_sum


@st.composite
def drawn(draw):
    """Leaves as draws give them: templates x names x objects, names of the drawn subjects of their own number."""
    templates, objects, relations = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    names = draw(st.integers(1, 3))
    others = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    logs = random.Random(draw(st.integers(0, 2**32)))

    def beta(weight=None):
        weight = logs.uniform(-20, -0.01) if weight is None else weight
        return Beta(weight, tuple(logs.uniform(-20, -0.01) for _ in range(objects)))

    own = tuple(beta() for _ in range(templates * names))
    subjects = tuple(tuple(beta() for _ in range(templates * count)) for count in others)
    rows = []
    for _ in range(names):
        weight = logs.uniform(-20, -0.01)  # a name's own: the same before every relation
        rows.append(tuple(tuple(beta(weight) for _ in range(draw(st.integers(1, 2)))) for _ in range(relations)))
    return Leaves(own, subjects, tuple(rows))


def plain(leaves, official):
    """The formulas of Dong et al. in plain probabilities, term by term, and with the released code's weights."""
    p = math.exp
    n = ds = dr = 0.0
    for one in leaves.own:
        for gamma in one.gammas:
            n += p(gamma) * (p(one.weight) if official else 1 / len(leaves.own))
    for subject in leaves.subjects:
        for one in subject:
            for gamma in one.gammas:
                ds += p(gamma) * (p(one.weight) if official else 1 / len(subject)) / len(leaves.subjects)
    for name in leaves.relations:
        for relation in name:
            for one in relation:
                weight = p(one.weight) if official else 1 / len(leaves.relations) / len(relation)
                dr += sum(p(gamma) * weight / len(name) for gamma in one.gammas)
    return n, n / ds, n / dr, math.sqrt(n / ds * n / dr)


@given(drawn())
def test_both_modes_agree_with_the_formulas_in_plain_probabilities(leaves):
    for variant in (PAPER, OFFICIAL):
        found = estimate(leaves, variant)
        values = [math.exp(value) for value in (found.numerator, found.karr_s, found.karr_r, found.karr)]
        assert values == pytest.approx(plain(leaves, variant is OFFICIAL), rel=1e-9)


@given(drawn(), st.floats(-10_000, -1000))
def test_nothing_underflows_however_unlikely_the_texts_are(leaves, shift):
    """All objects a factor less likely change no ratio, though each probability would be 0 as a float."""

    def lower(one):
        return Beta(one.weight, tuple(gamma + shift for gamma in one.gammas))

    moved = Leaves(
        tuple(map(lower, leaves.own)),
        tuple(tuple(map(lower, own)) for own in leaves.subjects),
        tuple(tuple(tuple(map(lower, betas)) for betas in own) for own in leaves.relations),
    )
    for variant in (PAPER, OFFICIAL):
        assert estimate(moved, variant).karr == pytest.approx(estimate(leaves, variant).karr, abs=1e-8)


def uniform(templates, names, objects, others, relations, level=-8.0):
    """The leaves of a model that gives every token the same probability."""
    one = Beta(level, (level,) * objects)
    return Leaves(
        (one,) * (templates * names),
        tuple((one,) * (templates * count) for count in others),
        (((one,),) * relations,) * names,
    )


@given(
    st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.lists(st.integers(1, 4), min_size=1), st.integers(1, 4)
)
def test_a_uniform_model_is_at_one_in_the_paper_and_at_the_codes_own_chance(t, a, o, others, r):
    paper, official = (estimate(uniform(t, a, o, others, r), variant) for variant in (PAPER, OFFICIAL))
    assert estimate(uniform(t, a, o, others, r), WEIGHTED).karr == pytest.approx(0, abs=1e-9)
    assert (paper.karr_s, paper.karr_r, paper.karr) == pytest.approx((0, 0, 0), abs=1e-9)
    # Nothing is normalised there: |A| / mean |A'| for the subject and |T| for the relation.
    assert math.exp(official.karr_s) == pytest.approx(a / (sum(others) / len(others)))
    assert math.exp(official.karr_r) == pytest.approx(t)


def test_a_worked_example():
    # Two templates give the object .4 and .2; another subject .1 and .1; another relation .1, the own one .2.
    def at(*values):
        return tuple(Beta(math.log(0.5), (math.log(value),)) for value in values)

    leaves = Leaves(at(0.4, 0.2), (at(0.4, 0.2), at(0.1, 0.1)), ((at(0.1), at(0.2)),))
    paper = estimate(leaves, PAPER)
    assert math.exp(paper.karr_s) == pytest.approx(0.3 / 0.2)
    assert math.exp(paper.karr_r) == pytest.approx(0.3 / 0.15)
    assert math.exp(paper.karr) == pytest.approx(math.sqrt(3))
    official = estimate(leaves, OFFICIAL)
    assert math.exp(official.karr_s) == pytest.approx(0.6 / 0.4)
    assert math.exp(official.karr_r) == pytest.approx(0.6 / 0.15)


@given(drawn())
def test_a_fact_whose_pools_hold_itself_alone_is_at_one(leaves):
    alone = Leaves(leaves.own, (leaves.own,), leaves.relations)
    for variant in (PAPER, OFFICIAL):
        assert estimate(alone, variant).karr_s == pytest.approx(0, abs=1e-9)


@given(drawn(), st.floats(0.01, 3))
def test_a_likelier_true_object_raises_both_ratios(leaves, by):
    raised = replace(leaves, own=tuple(Beta(one.weight, tuple(g + by for g in one.gammas)) for one in leaves.own))
    for variant in (PAPER, OFFICIAL):
        low, high = estimate(leaves, variant), estimate(raised, variant)
        assert high.karr_s == pytest.approx(low.karr_s + by)
        assert high.karr_r == pytest.approx(low.karr_r + by)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"subjects": ()}, "the denominator over subjects is empty"),
        ({"relations": ()}, "the denominator over relations is empty"),
        ({"relations": ((), ())}, "the denominator over relations is empty"),
        ({"subjects": (), "relations": ()}, "the denominator over subjects and relations is empty"),
    ],
)
def test_an_empty_denominator_gives_no_value_and_the_reason(change, reason):
    for variant in (PAPER, OFFICIAL):
        found = estimate(replace(uniform(2, 1, 1, [1], 2), **change), variant)
        assert (found.karr, found.reason) == (None, reason)


def test_an_empty_numerator_is_floored_by_the_code_and_without_value_in_the_paper():
    leaves = replace(uniform(1, 1, 1, [1], 2), own=(Beta(-1.0, ()),))
    assert estimate(leaves, PAPER).reason == "no gamma continues a beta: the numerator is 0"
    assert math.exp(estimate(leaves, OFFICIAL).karr) == pytest.approx(1e-6)
    assert estimate(replace(leaves, own=()), PAPER).karr is None


def test_a_name_of_one_token_leaves_the_codes_sum_over_relations_alone():
    two = uniform(1, 2, 1, [1], 2)
    silent = ((Beta(None, (-8.0,)),),) * 2
    half = estimate(replace(two, relations=(two.relations[0], silent)), OFFICIAL)
    assert half.by_relation == pytest.approx(estimate(two, OFFICIAL).by_relation - math.log(2))
    assert estimate(replace(two, relations=(silent, silent)), OFFICIAL).reason is not None
    assert estimate(replace(two, relations=(silent, silent)), PAPER).karr == pytest.approx(0)


def test_a_sentence_without_a_scored_token_has_no_value_in_the_code():
    leaves = uniform(1, 1, 1, [1], 2)
    found = estimate(replace(leaves, subjects=((Beta(None, (-1.0,)),),)), OFFICIAL)
    assert (found.karr, found.reason) == (None, "1 sentences before the object have no token that can be scored")


def test_sentences_count_by_their_likelihood_where_they_are_weighed():
    """Two templates give the object .4 and .2; the first sentence is three times as likely as the second."""
    log = math.log
    own = (Beta(log(0.3), (log(0.4),)), Beta(log(0.1), (log(0.2),)))
    other = (Beta(log(0.01), (log(0.1),)), Beta(log(0.03), (log(0.2),)))  # a rare subject: its own sentences sum to 1
    leaves = Leaves(own, (own, other), ((own, other),))
    found = estimate(leaves, WEIGHTED)
    assert math.exp(found.numerator) == pytest.approx(3 / 4 * 0.4 + 1 / 4 * 0.2)
    assert math.exp(found.by_subject) == pytest.approx((0.35 + (1 / 4 * 0.1 + 3 / 4 * 0.2)) / 2)
    assert found.karr == pytest.approx(found.karr_s) == pytest.approx(log(0.35 / 0.2625))
    assert math.exp(estimate(leaves, PAPER).karr) == pytest.approx(0.3 / 0.225)
    silent = replace(leaves, relations=(((Beta(None, (-1.0,)),),),))
    assert estimate(silent, WEIGHTED).reason == "1 sentences before the object have no token that can be scored"


@given(drawn())
def test_equally_likely_sentences_weigh_as_uniform_ones_do(leaves):
    def level(betas):
        return tuple(replace(one, weight=-3.0) for one in betas)

    even = Leaves(
        level(leaves.own),
        tuple(map(level, leaves.subjects)),
        tuple(tuple(map(level, relations)) for relations in leaves.relations),
    )
    assert estimate(even, WEIGHTED).karr == pytest.approx(estimate(leaves, PAPER).karr, abs=1e-9)


@given(st.lists(st.floats(-50, 5), min_size=1, max_size=9))
def test_sums_and_means_of_logarithms(values):
    assert log_sum(values) == pytest.approx(math.log(sum(map(math.exp, values))))
    assert log_mean(values) == pytest.approx(log_sum(values) - math.log(len(values)))
    assert log_sum([]) == log_mean([]) == -math.inf


@given(drawn())
def test_the_ratio_over_relations_is_at_most_their_number_where_the_facts_own_is_among_them(leaves):
    """Uniform weights: the denominator holds the numerator, divided by the number of drawn relations."""
    names, templates = len(leaves.relations), max(1, len(leaves.own) // len(leaves.relations))
    own = [leaves.own[name::names][:templates] for name in range(names)]
    kept = replace(leaves, own=tuple(beta for betas in own for beta in betas))
    with_own = replace(kept, relations=tuple((own[at], *leaves.relations[at][1:]) for at in range(names)))
    assert estimate(with_own, PAPER).karr_r <= math.log(len(leaves.relations[0])) + 1e-9


def one_fact(own, other_subjects, other_relations, sentence):
    """One template and name; the drawn relations hold the fact's own, which stands first."""

    def at(probability, weight):
        return (Beta(math.log(weight), (math.log(probability),)),)

    name = 0.01  # a name by itself: equally likely for both
    return Leaves(
        at(own, sentence),
        (at(own, sentence), *[at(p, 0.05) for p in other_subjects]),
        ((at(own, name), *[at(p, name) for p in other_relations]),),
    )


def test_over_relations_alone_a_taught_fact_ranks_below_one_never_taught():
    """What docs/karr.md says of KaRR_r: knowledge leaks into other relations' sentences, kinds of objects do not.

    Both objects are of the kind that their relation's words ask for. The taught one is likelier there, and likelier
    behind the subject's name in any sentence; the other is next to impossible behind words that ask for other kinds.
    """
    taught = one_fact(own=0.8, other_subjects=[0.05] * 3, other_relations=[0.2] * 3, sentence=0.3)
    never = one_fact(own=0.05, other_subjects=[0.05] * 3, other_relations=[0.0001] * 3, sentence=0.05)
    first, second = estimate(taught, PAPER), estimate(never, PAPER)
    assert first.karr_s > second.karr_s
    assert first.karr_r < second.karr_r < math.log(4)
    assert math.exp(second.karr_r) == pytest.approx(4, abs=0.03)  # as high as it can be
    assert first.karr > second.karr  # together they rank rightly, here
    # Weighed by sentence the taught name's sentence is likelier too, and lifts N alone.
    first, second = estimate(taught, OFFICIAL), estimate(never, OFFICIAL)
    assert first.karr_r > second.karr_r
