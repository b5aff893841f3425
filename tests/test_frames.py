"""Tables as columns: some rows at a time, the columns that are wanted, and a request's id as numbers."""

import hashlib

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from almanac import frames as module
from almanac import tables
from almanac.errors import AlmanacError
from almanac.frames import KEY, frame_of, frames, read_frame, request_key
from almanac.rows import Exposure, Item, Link

ROWS = [Link(at, "role", f"{at:064x}", at if at % 2 else None, at / 2) for at in range(10)]


@pytest.fixture
def path(tmp_path):
    """A table of ten links."""
    tables.write(tmp_path / "links.parquet", Link, ROWS)
    return tmp_path / "links.parquet"


def test_a_table_comes_some_rows_at_a_time_and_whole(path, monkeypatch):
    monkeypatch.setattr(module, "SIZE", 4)
    parts = list(frames(path, Link))
    assert [part.height for part in parts] == [4, 4, 2]
    assert pl.concat(parts).equals(read_frame(path, Link))
    assert [Link(*row) for row in read_frame(path, Link).rows()] == ROWS
    assert frame_of(Link, ROWS).equals(read_frame(path, Link))


def test_columns_come_in_the_order_in_which_they_are_wanted(path):
    for part in frames(path, Link, ["weight", "item"]):
        assert part.columns == ["weight", "item"]
    assert read_frame(path, Link, ["weight", "item"]).rows() == [(row.weight, row.item) for row in ROWS]


def test_a_table_without_rows_has_its_columns_and_their_types(tmp_path):
    tables.write(tmp_path / "items.parquet", Item, [])
    [found] = frames(tmp_path / "items.parquet", Item, ["accepted", "item"])
    assert found.schema == {"accepted": pl.List(pl.String), "item": pl.Int64}
    assert found.height == read_frame(tmp_path / "items.parquet", Item).height == 0
    assert frame_of(Exposure, ()).schema == {"fact_id": pl.String, "dose": pl.Int64}


def test_a_table_of_other_rows_is_named(path):
    with pytest.raises(AlmanacError, match=r"links\.parquet: is no table of Item"):
        read_frame(path, Item)


@given(st.lists(st.binary(min_size=1, max_size=4), min_size=1, unique=True))
def test_a_requests_key_tells_any_two_apart_and_is_read_off_its_id(contents):
    ids = [hashlib.sha256(content).hexdigest() for content in contents]
    found = pl.DataFrame({"request_id": ids}).select(request_key())
    assert found.columns == list(KEY)
    assert found.n_unique() == len(ids)
    assert found.rows() == [(int(one[:15], 16), int(one[15:30], 16)) for one in ids]
