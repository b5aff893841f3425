"""Buckets of a dataset's entities and relations, and mentions as a measure of popularity."""

from almanac.dataset.popularity import bucket_relations, bucketed, mentions
from almanac.rows import Fact, Popularity, Relation

WORKED = {"A": 8, "B": 4, "C": 2, "D": 2} | dict.fromkeys("EFGHIJKL", 1)
BUCKET = {"A": "head"} | dict.fromkeys("BCD", "torso") | dict.fromkeys("EFGHIJKL", "tail")


def fact(relation: str, subject: str, found: str | None, value: str | None = None) -> Fact:
    key = f"{relation}|{subject}|{found or value}"
    return Fact(key, relation, subject, found, value, "string" if value else None, None, (), None, "test")


def test_each_source_and_type_is_divided_for_itself():
    rows = [Popularity(name, "s", kind, score, None) for name, score in WORKED.items() for kind in ("one", "two")]
    rows += [Popularity("A", "other", "one", 0, None)]
    out, found = bucketed(rows)
    assert [(row.entity_id, row.type) for row in out] == [(row.entity_id, row.type) for row in rows]
    assert all(row.bucket == BUCKET[row.entity_id] for row in out if row.source == "s")
    assert out[-1].bucket is None
    assert {(row.source, row.type, row.shape) for row in found} == {
        ("s", "one", "thirds"),
        ("s", "two", "thirds"),
        ("other", "one", "all_zero"),
    }


def test_buckets_that_a_source_has_made_stay():
    rows = [Popularity("a", "imdb", "title", 5, "head"), Popularity("b", "imdb", "title", 5, "torso")]
    assert bucketed(rows) == (rows, [])


def test_a_mention_is_a_place_in_a_triple():
    facts = [fact("P1", "a", "b"), fact("P2", "a", "a"), fact("P3", "b", None, "x")]
    assert mentions(facts) == {"a": 3, "b": 2}


def test_relations_are_bucketed_by_their_triples():
    relations = [Relation(name, name, None, None, None, None) for name in (*WORKED, "none")]
    rows, found = bucket_relations(relations, WORKED)
    assert [row.relation_id for row in rows] == [*WORKED, "none"]
    assert {row.relation_id: row.bucket for row in rows[:-1]} == BUCKET
    assert (rows[-1].popularity, rows[-1].bucket) == (0, "tail")
    assert found.shape == "thirds"
