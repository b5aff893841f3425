"""Wrong objects: never true under any name, never alike, drawn uniformly, the same in whatever order facts come."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almanac.suites.facteval.distractors import ObjectPool, WrongObjects, alike

from .tables import data, entity, fact, literal


def wrong(facts, *known, seed=0):
    return WrongObjects(data(facts, known), seed)


def drawn(facts, *known, of=0, where="relation", count=100, seed=0):
    return set(wrong(facts, *known, seed=seed).draw(facts[of], where, count))


@pytest.mark.parametrize(
    ("one", "other"),
    [("The Hague", "Hague"), ("U.S.", "us"), ("Jean-Paul", "Jean Paul"), ("CAFÉ", "café"), ("New  York", "new york")],
)
def test_names_that_a_scorer_would_take_for_one_are_alike(one, other):
    assert alike(one) == alike(other)


@pytest.mark.parametrize(
    ("one", "other"), [("York", "New York"), ("A", "B"), ("1982", "1983"), ("C", "C++"), ("!", "?")]
)
def test_other_names_are_not(one, other):
    assert alike(one) != alike(other)


def test_an_object_that_is_true_under_an_alias_is_never_wrong():
    facts = [fact("r", "s", "NYC"), fact("r", "t", "Big Apple"), fact("r", "u", "Boston")]
    known = [entity("NYC", "The Big Apple", label="New York City")]
    assert drawn(facts, *known) == {"Boston"}
    assert drawn(facts, *known, of=1) == {"Boston"}


def test_other_true_objects_of_the_subject_are_never_wrong():
    facts = [fact("speaks", "Swiss", "German"), fact("speaks", "Swiss", "French"), fact("speaks", "Dutch", "Dutch")]
    assert drawn(facts) == {"Dutch"}


def test_objects_that_share_a_label_are_one_choice():
    facts = [fact("r", "s", "Q1"), fact("r", "t", "Q2"), fact("r", "u", "Q3"), fact("r", "v", "Q4")]
    labels = {"Q1": "Springfield", "Q2": "Springfield", "Q3": "Shelbyville", "Q4": "shelbyville"}
    known = [entity(name, label=label) for name, label in labels.items()]
    assert drawn(facts, *known) == {"Q3"}
    assert drawn(facts, *known, of=2) == {"Q1"}


def test_a_label_is_wrong_only_if_no_object_of_that_label_is_true():
    facts = [fact("r", "s", "Eboracum"), fact("r", "t", "Q1"), fact("r", "u", "Q2"), fact("r", "v", "Bath")]
    known = [entity("Q1", label="York"), entity("Q2", "Eboracum", label="York")]
    assert drawn(facts, *known) == {"Bath"}


def test_a_date_is_not_wrong_that_is_only_less_or_more_precise():
    facts = [literal("born", f"s{n}", value) for n, value in enumerate(["1982-05-22", "1982", "1982-05", "1982-06-01"])]
    facts.append(literal("born", "s9", "1983"))
    assert drawn(facts) == {"1982-06-01", "1983"}
    assert drawn(facts, of=1) == {"1983"}


def test_a_number_is_not_wrong_that_is_written_otherwise():
    facts = [literal("size", f"s{n}", value, "quantity") for n, value in enumerate(["1000", "1E+3", "1000.0", "12"])]
    assert drawn(facts) == {"12"}


def test_type_and_uniform_reach_over_relations():
    facts = [fact("capital", "Peru", "Lima"), fact("river", "Egypt", "Nile"), fact("birthplace", "Bach", "Eisenach")]
    known = [entity("Lima", kind="city"), entity("Eisenach", kind="city"), entity("Nile", kind="river")]
    assert drawn(facts, *known) == set()
    assert drawn(facts, *known, where="type") == {"Eisenach"}
    assert drawn(facts, *known, where="uniform") == {"Eisenach", "Nile"}


def test_literals_are_of_one_type_by_datatype_and_precision():
    facts = [literal("born", "s", "1900", precision="year"), literal("died", "s", "1980", precision="year"),
             literal("born", "t", "1901-02-03", precision="day"), literal("size", "t", "7", "quantity")]  # fmt: skip
    assert drawn(facts, where="type") == {"1980"}


def test_without_a_type_there_is_nothing_of_the_type():
    assert drawn([fact("r", "s", "a"), fact("r", "t", "b")], where="type") == set()


@given(st.lists(st.tuples(st.sampled_from("stuvw"), st.sampled_from("abcdefgh")), min_size=1, unique=True), st.data())
def test_a_draw_is_what_listing_all_objects_would_allow(pairs, more):
    """An independent enumeration by names: every draw is allowed, and as many come as there are, up to the number."""
    aliases = {name: tuple(more.draw(st.sets(st.sampled_from("abcdefgh"), max_size=2))) for name in "abcdefgh"}
    facts = [fact("r", *pair) for pair in pairs]
    known = [entity(name, *own) for name, own in aliases.items()]
    first = facts[0]
    true = {found for subject, found in pairs if subject == first.subject_id}
    called = {name for key in true for name in (key, *aliases[key])}
    allowed = {found for _, found in pairs if not called & {found, *aliases[found]}}
    assert drawn(facts, *known) == allowed
    assert len(drawn(facts, *known, count=2)) == min(2, len(allowed))


def test_each_key_of_a_pool_is_as_likely():
    """Chi-square over 20 keys: 16,000 draws stay below the quantile that 1 of 10,000 pools would pass (df 19: 50.8)."""
    pool = ObjectPool(map(str, range(20)))
    counts = Counter(pool.draw(Random(seed)) for seed in range(16_000))
    expected = 16_000 / 20
    assert sum((counts[key] - expected) ** 2 / expected for key in pool.keys) < 50.8


def test_draws_mostly_stay_when_a_key_is_added():
    before, after = ObjectPool(map(str, range(1000))), ObjectPool(map(str, range(1001)))
    moved = sum(before.draw(Random(seed)) != after.draw(Random(seed)) for seed in range(2000))
    assert moved < 2000 * 0.03  # an index into a sorted list would move about half


def test_large_and_small_pools_give_different_objects_and_the_same_again():
    facts = [fact("r", f"s{n}", f"o{n}") for n in range(300)]
    first, again = wrong(facts), wrong(list(reversed(facts)))
    for row in facts[:50]:
        own = first.draw(row, "relation", 3)
        assert own == again.draw(row, "relation", 3)
        assert len(set(own)) == 3 and row.object_id not in own
    assert wrong(facts, seed=1).draw(facts[0], "relation") != first.draw(facts[0], "relation")


def test_a_pool_in_which_almost_all_is_true_still_gives_what_is_false():
    facts = [fact("r", "s", f"o{n}") for n in range(200)] + [fact("r", "t", f"p{n}") for n in range(3)]
    assert drawn(facts, count=3) == {"p0", "p1", "p2"}
