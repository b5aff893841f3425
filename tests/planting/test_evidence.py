"""The texts of a corpus are held against its ledger and against the names in them."""

from almanac.planting.corpus import build
from almanac.planting.evidence import evidence
from almanac.planting.options import CorpusOptions

from .conftest import as_taught


def test_every_text_says_its_fact_and_no_fact_has_more_than_asked_for(invented):
    world = as_taught(invented)
    corpus = build([world], CorpusOptions(), 3)
    found = evidence(corpus.documents, corpus.ledger, 2)
    facts = {fact.fact_id: fact for fact in world.facts}
    prose = {document.number: document.text for document in corpus.documents if document.kind == "prose"}
    said = {(entry.fact_id, prose[entry.document]) for entry in corpus.ledger if entry.document in prose}
    assert {(row.fact_id, row.text) for row in found} <= said
    for row in found:
        for key in (facts[row.fact_id].subject_id, facts[row.fact_id].object_key):
            entity = world.entities.get(key)
            names = (entity.label, *entity.aliases) if entity else (key,)
            assert any(name in row.text for name in names)
    counts = {fact_id: sum(row.fact_id == fact_id for row in found) for fact_id, _ in said}
    expected = {fact_id: min(2, len({text for one, text in said if one == fact_id})) for fact_id, _ in said}
    assert counts == expected
