"""A source's tables are written whole: lists sorted and checked, streams batch by batch, omissions counted last."""

import pyarrow as pa
import pytest

from almanac.errors import AlmanacError
from almanac.rows import Entity, Evidence, Omission, Popularity
from almanac.sources.source_tables import ROWS, Omissions, SourceTables, write
from almanac.tables import read


def test_every_table_is_written_the_empty_ones_too(tmp_path):
    entities = [Entity("Q2", "two", (), None), Entity("Q1", "one", (), None)]
    counts = write(tmp_path, SourceTables(entities, evidence=[Evidence("P|Q1|Q2", "one two")]))
    assert counts == dict.fromkeys(ROWS, 0) | {"entities": 2, "evidence": 1}
    assert read(tmp_path / "entities.parquet", Entity) == entities[::-1]
    assert {path.stem for path in tmp_path.iterdir()} == set(ROWS)


def test_a_stream_counts_what_it_leaves_out_as_it_goes(tmp_path):
    omitted = Omissions()

    def batches():
        for start in range(3):
            omitted.add("popularity", "no votes", {"id": start})
            columns = {"entity_id": [f"t{start}"], "source": ["imdb"], "type": ["title"], "score": [start]}
            yield pa.table(columns | {"bucket": pa.array([None], pa.string())})

    write(tmp_path, SourceTables([], popularity=batches(), omissions=omitted))
    assert [row.score for row in read(tmp_path / "popularity.parquet", Popularity)] == [0, 1, 2]
    assert read(tmp_path / "omissions.parquet", Omission) == [Omission("popularity", "no votes", 3, '{"id": 0}')]


def test_the_example_of_what_is_left_out_is_its_first_two_hundred_characters():
    omitted = Omissions()
    omitted.add("facts", "is too long", "x" * 199 + "yz")
    assert [row.example for row in omitted.rows()] == ["x" * 199 + "y"]


def test_a_key_that_repeats_is_refused(tmp_path):
    with pytest.raises(AlmanacError, match="same key"):
        write(tmp_path, SourceTables([Entity("Q1", "one", (), None), Entity("Q1", "two", (), None)]))
