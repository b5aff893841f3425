"""Two sets of facts held against each other: each verdict, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almanac.dataset.comparison import compare
from almanac.rows import Entity, Fact, Relation
from almanac.sources.files import FactTables


def tables(
    facts: dict[tuple[str, str], list[str]], property_of: dict[str, str] | None = None, **aliases: str
) -> FactTables:
    """Tables from ``{(relation, subject): [objects]}``; an id is its label behind ``x:``, a number marks a namesake."""
    rows = [
        Fact(f"{name}|{subject}|{one}", name, subject, one, None, None, None, (), None, "test")
        for (name, subject), objects in facts.items()
        for one in objects
    ]
    ids = sorted({one.subject_id for one in rows} | {one.object_id or "" for one in rows})
    entities = [Entity(one, one.rstrip("0123456789"), (aliases[one],) if one in aliases else (), None) for one in ids]
    names = sorted({name for name, _ in facts})
    relations = [Relation(name, name, (property_of or {}).get(name), None, None, None) for name in names]
    return FactTables(entities, relations, rows, [])


OURS = tables({("P36", "Bolivia"): ["Sucre", "LaPaz"]})


@pytest.mark.parametrize(
    ("theirs", "verdict"),
    [
        ({("P36", "Bolivia"): ["Sucre", "LaPaz"]}, "agree"),
        ({("P36", "Bolivia"): ["Sucre"]}, "agree"),
        ({("P36", "bolivia"): ["sucre"]}, "agree"),
        ({("P36", "Bolivia"): ["Sucre", "Lima"]}, "extra"),
        ({("P36", "Bolivia"): ["Lima"]}, "disagree"),
        ({("P36", "Peru"): ["Lima"]}, "unmatched"),
        ({("P17", "Bolivia"): ["Sucre"]}, "unmatched"),
        ({("P36", "Bolivia1"): ["Sucre"], ("P36", "Bolivia2"): ["Sucre"]}, "ambiguous"),
        ({("P36", "Bolivia1"): ["Sucre"], ("P17", "Bolivia2"): ["Lima"]}, "agree"),
    ],
)
def test_each_verdict(theirs, verdict):
    found = compare(OURS, tables(theirs))
    assert [(one.relation_id, one.subject, one.verdict) for one in found] == [("P36", "Bolivia", verdict)]
    assert sorted(found[0].ours) == ["LaPaz", "Sucre"]


def test_an_object_is_recognised_by_an_alias_of_either_side():
    ours = tables({("P36", "Myanmar"): ["Yangon"]}, Yangon="Rangoon")
    assert compare(ours, tables({("P36", "Myanmar"): ["Rangoon"]}))[0].verdict == "agree"
    assert compare(tables({("P36", "Myanmar"): ["Rangoon"]}), ours)[0].verdict == "agree"


def test_our_country_with_its_article_meets_theirs_without():
    ours = tables({("P36", "the Netherlands"): ["Amsterdam"]})
    theirs = tables({("P36", "Netherlands"): ["Amsterdam"]})
    assert compare(ours, theirs)[0].verdict == "agree"
    assert compare(theirs, ours)[0].verdict == "unmatched"


def test_relations_meet_by_their_wikidata_property():
    ours = tables({("capital", "Peru"): ["Lima"]}, {"capital": "P36"})
    assert compare(ours, tables({("P36", "Peru"): ["Lima"]}))[0].verdict == "agree"
    assert compare(ours, tables({("hauptstadt", "Peru"): ["Lima"]}, {"hauptstadt": "P36"}))[0].verdict == "agree"
    assert compare(ours, tables({("capital", "Peru"): ["Lima"]}, {"capital": "P1376"}))[0].verdict == "unmatched"


def test_relations_of_one_property_are_read_together():
    theirs = tables({("a", "Peru"): ["Cusco"], ("b", "Peru"): ["Lima"]}, {"a": "P36", "b": "P36"})
    assert compare(tables({("P36", "Peru"): ["Cusco", "Lima"]}), theirs)[0].verdict == "agree"
    assert compare(tables({("P36", "Peru"): ["Cusco"]}), theirs)[0].verdict == "extra"


def test_what_is_shown_are_labels_of_both_sides():
    found = compare(OURS, tables({("P36", "Bolivia1"): ["Lima2"]}))[0]
    assert (found.subject, found.theirs) == ("Bolivia", ("Lima",))


FACTS = st.dictionaries(
    st.tuples(st.sampled_from("PR"), st.sampled_from(["a", "b", "c"])),
    st.lists(st.sampled_from(["x", "y", "z"]), min_size=1, unique=True),
    max_size=5,
)


@given(FACTS, FACTS)
def test_verdicts_are_those_of_sets(ours, theirs):
    found = {(one.relation_id, one.subject): one.verdict for one in compare(tables(ours), tables(theirs))}
    assert found.keys() == ours.keys()
    for pair, verdict in found.items():
        own, other = set(ours[pair]), set(theirs.get(pair, ()))
        expected = "unmatched" if not other else "agree" if other <= own else "extra" if other & own else "disagree"
        assert verdict == expected
