"""Files of cells, read a block of lines at a time."""

import polars as pl
import pytest

from almanac.errors import AlmanacError
from almanac.sources import reading


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_last_line_of_cells_may_lack_its_end(tmp_path, end):
    path = tmp_path / "cells.tsv"
    path.write_text(f"a\tb\nc\td{end}", "utf-8")
    assert pl.concat(reading.blocks(path, 2, {"second": 1})).rows() == [("b",), ("d",)]


def test_a_line_that_never_ends_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BYTES", 10)
    monkeypatch.setattr(reading, "LONGEST_LINE", 30)
    path = tmp_path / "cells.tsv"
    path.write_bytes(b"a\tb\n" + b"c" * 25 + b"\td\n")
    assert pl.concat(reading.blocks(path, 2, {"second": 1})).rows() == [("b",), ("d",)]
    path.write_bytes(b"a\tb\n" + b"c" * 100 + b"\td\n")
    with pytest.raises(AlmanacError, match=r"cells\.tsv: cannot be read \(a line has more than 30 bytes\)"):
        list(reading.blocks(path, 2, {"second": 1}))
