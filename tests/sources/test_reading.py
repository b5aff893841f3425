"""Files of cells, read a block of lines at a time."""

import polars as pl
import pytest

from almanac.sources import reading


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_last_line_of_cells_may_lack_its_end(tmp_path, end):
    path = tmp_path / "cells.tsv"
    path.write_text(f"a\tb\nc\td{end}", "utf-8")
    assert pl.concat(reading.blocks(path, 2, {"second": 1})).rows() == [("b",), ("d",)]
