"""Buckets of a dataset's entities and relations, and mentions as a measure of popularity."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

from almanac import tables
from almanac.dataset.popularity import bucket_relations, bucket_tables, count_mentions
from almanac.rows import BucketSize, Entity, Fact, Popularity, Relation
from almanac.sources.source_tables import SourceTables, write

WORKED = {"A": 8, "B": 4, "C": 2, "D": 2} | dict.fromkeys("EFGHIJKL", 1)
BUCKET = {"A": "head"} | dict.fromkeys("BCD", "torso") | dict.fromkeys("EFGHIJKL", "tail")


def fact(relation: str, subject: str, found: str | None, value: str | None = None) -> Fact:
    key = f"{relation}|{subject}|{found or value}"
    return Fact(key, relation, subject, found, value, "string" if value else None, None, (), None, "test")


def written(folder: Path, rows: list[Popularity], facts: list[Fact] = (), relations=(), buckets=()) -> Path:
    entities = [Entity(name, name, (), None) for name in WORKED]
    write(folder, SourceTables(entities, list(relations), list(facts), popularity=rows, buckets=list(buckets)))
    bucket_tables(folder)
    return folder


def test_each_source_and_type_is_divided_for_itself(tmp_path):
    rows = [Popularity(name, "s", kind, score, None) for name, score in WORKED.items() for kind in ("one", "two")]
    folder = written(tmp_path, [*rows, Popularity("A", "other", "one", 0, None)])
    found = tables.read(folder / "popularity.parquet", Popularity)
    assert len(found) == len(rows) + 1
    assert all(row.bucket == BUCKET[row.entity_id] and row.score == WORKED[row.entity_id] for row in found if row.score)
    assert [row.bucket for row in found if row.source == "other"] == [None]
    sizes = tables.read(folder / "buckets.parquet", BucketSize)
    assert {(row.source, row.type, row.bucket): row.entities for row in sizes if row.source == "s"} == {
        ("s", kind, bucket): count for kind in ("one", "two") for bucket, count in Counter(BUCKET.values()).items()
    }
    assert {row.shape for row in sizes if row.source == "other"} == {"all_zero"}


def test_buckets_that_a_source_has_made_stay(tmp_path):
    rows = [Popularity("a", "imdb", "title", 5, "head"), Popularity("b", "imdb", "title", 5, "torso")]
    own = BucketSize("imdb", "title", "head", 9, 45, 5, 5, "thirds")
    folder = written(tmp_path, [*rows, Popularity("c", "imdb", "person", 5, None)], buckets=[own])
    assert own in tables.read(folder / "buckets.parquet", BucketSize)
    found = {row.entity_id: row.bucket for row in tables.read(folder / "popularity.parquet", Popularity)}
    assert found == {"a": "head", "b": "torso", "c": "tail"}
    bytes_before = (folder / "popularity.parquet").read_bytes()
    bucket_tables(folder)
    assert (folder / "popularity.parquet").read_bytes() == bytes_before


def test_a_source_without_popularity_gets_none(tmp_path):
    folder = written(tmp_path, [])
    assert tables.read(folder / "popularity.parquet", Popularity) == []
    assert tables.read(folder / "buckets.parquet", BucketSize) == []


def test_relations_get_their_number_of_facts(tmp_path):
    facts = [fact("P1", "A", name) for name in "BCDE"] + [fact("P2", "A", name) for name in "BC"]
    facts += [fact("P3", "A", None, str(number)) for number in range(2)]
    relations = [Relation(name, name, None, None, None, None) for name in ("P1", "P2", "P3", "P4")]
    folder = written(tmp_path, [], facts, relations)
    found = {
        row.relation_id: (row.popularity, row.bucket) for row in tables.read(folder / "relations.parquet", Relation)
    }
    assert found == {"P1": (4, "torso"), "P2": (2, "tail"), "P3": (2, "tail"), "P4": (0, "tail")}
    given = [replace(relations[0], popularity=7), *relations[1:]]  # of the source itself
    folder = written(tmp_path / "given", [], facts, given)
    assert tables.read(folder / "relations.parquet", Relation) == given


def test_without_popularity_an_entity_is_as_popular_as_it_is_mentioned(tmp_path):
    facts = [fact("P1", "A", "B"), fact("P2", "A", "A"), fact("P3", "B", None, "x")]
    folder = written(tmp_path, [], facts)
    assert count_mentions(folder, "umls") == 2
    assert tables.read(folder / "popularity.parquet", Popularity) == [
        Popularity("A", "umls", "mention", 3, None),
        Popularity("B", "umls", "mention", 2, None),
    ]


def test_popularity_of_a_sources_own_is_not_counted_again(tmp_path):
    own = [Popularity("A", "s", "one", 9, None)]
    folder = written(tmp_path, own, [fact("P1", "A", "B")])
    before = (folder / "popularity.parquet").read_bytes()
    assert count_mentions(folder, "s") == 1
    assert (folder / "popularity.parquet").read_bytes() == before


def test_without_facts_nothing_is_mentioned(tmp_path):
    assert count_mentions(written(tmp_path, []), "s") == 0


def test_relations_are_bucketed_by_their_triples():
    relations = [Relation(name, name, None, None, None, None) for name in (*WORKED, "none")]
    rows, found = bucket_relations(relations, WORKED)
    assert [row.relation_id for row in rows] == [*WORKED, "none"]
    assert {row.relation_id: row.bucket for row in rows[:-1]} == BUCKET
    assert (rows[-1].popularity, rows[-1].bucket) == (0, "tail")
    assert found.shape == "thirds"
