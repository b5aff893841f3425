"""The ledger is exact: the text of the documents, read afresh, holds what it says."""

import dataclasses
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almanac.errors import AlmanacError
from almanac.planting import corpus, ledger, world
from almanac.planting.options import CorpusOptions, WorldOptions

from .conftest import SMALL, as_taught


def test_the_text_agrees_with_the_plan_and_the_ledger(built, taught):
    counted = ledger.check(built.documents, taught, built.ledger)
    assert sum(counted.facts.values()) == sum(row.dose for part in taught for row in part.exposures)


def test_the_text_agrees_at_full_size_with_every_feature():
    made = world.invent(WorldOptions(features=("aliases", "several_objects", "dates", "popularity")), 4)
    built = corpus.build([as_taught(made)], CorpusOptions(), 4)
    counted = ledger.check(built.documents, [as_taught(made)], built.ledger)
    assert {row.fact_id: row.dose for row in made.exposures if row.dose} == +Counter(counted.facts)


@settings(max_examples=10, deadline=None)
@given(prose=st.integers(0, 10), lists=st.integers(0, 10), seed=st.integers(0, 10**6), aliases=st.floats(0, 1))
def test_the_text_agrees_for_any_mix(prose, lists, seed, aliases):
    total = prose + lists + 1
    options = CorpusOptions(
        prose=prose / total, lists=lists / total, questions=1 - (prose + lists) / total, alias_share=aliases
    )
    made = world.invent(SMALL.model_copy(update={"features": ("aliases",)}), seed)
    built = corpus.build([as_taught(made)], options, seed)
    counted = ledger.check(built.documents, [as_taught(made)], built.ledger)
    assert {row.fact_id: row.dose for row in made.exposures if row.dose} == +Counter(counted.facts)


def change(documents, kind, edit):
    """Edit the first document of a kind."""
    at = next(number for number, one in enumerate(documents) if one.kind == kind)
    return (*documents[:at], dataclasses.replace(documents[at], text=edit(documents[at].text)), *documents[at + 1 :])


@pytest.mark.parametrize("kind", ["prose", "list", "question", "neutral", "instruct", "abstain", "blank"])
def test_a_changed_character_is_found(built, taught, kind):
    changed = change(built.documents, kind, lambda text: text[:-2] + "#" + text[-1])
    with pytest.raises(AlmanacError, match="no chain of known wordings"):
        ledger.check(changed, taught, built.ledger)


def test_a_missing_document_is_found(built, taught):
    at = next(number for number, one in enumerate(built.documents) if one.kind == "prose")
    with pytest.raises(AlmanacError, match=r"the documents state it .* times, planned were"):
        ledger.check((*built.documents[:at], *built.documents[at + 1 :]), taught, built.ledger)


def test_a_held_out_template_is_found(built, taught):
    one = taught[0]
    fact = next(row for row in one.facts if row.relation_id == "invented_birthplace")
    template = next(row for row in one.templates if row.template_id in built.held_out and row.style == "statement")
    subject, obj = one.entities[fact.subject_id].label, one.entities[fact.object_id].label
    said = template.text.replace("[X]", subject).replace("[Y]", obj)
    document = corpus.Document(0, said, "prose")
    planned = dataclasses.replace(one, exposures=(*(row for row in one.exposures if row.fact_id == fact.fact_id),))
    planned = dataclasses.replace(planned, exposures=(dataclasses.replace(planned.exposures[0], dose=1),))
    entry = dataclasses.replace(built.ledger[0], fact_id=fact.fact_id, format="prose")
    with pytest.raises(AlmanacError, match=f"template {template.template_id} is held out"):
        ledger.check([document], [planned], [entry])


def test_a_fact_twice_in_a_document_is_found(built, taught):
    doubled = change(built.documents, "question", lambda text: "\n".join([text, *text.split("\n")[:2]]))
    with pytest.raises(AlmanacError, match=r"states .* 2 times; a document may state it once"):
        ledger.check(doubled, taught, built.ledger)
