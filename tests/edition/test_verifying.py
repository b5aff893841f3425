"""Verifying holds a frozen table against what is measured again: rows by their key, floats up to their last digits."""

from dataclasses import replace
from itertools import permutations

import pytest

from almanac import tables
from almanac.config import EditionConfig
from almanac.edition.layout import Layout
from almanac.errors import AlmanacError
from almanac.rows import Measure
from almanac.verbs.verify import _agree_rows

ROW = Measure("karr", "own", "base", None, "known_at", "", "mean", ("hit",), 0.5, 0.2, 0.8, None, 10, *[0] * 5)
ROWS = [
    replace(ROW, where=f'{{"level":{level}}}', value=value) for level, value in ((0.25, 0.9), (100, 0.1), (22, 0.4))
]


@pytest.fixture
def again(tmp_path):
    """Hold the frozen rows against others."""
    path = tmp_path / "edition" / "measures" / "rows.parquet"
    tables.write(path, Measure, ROWS)
    layout = Layout(tmp_path / "edition", EditionConfig(edition="own"))
    return lambda rows: _agree_rows(layout, path, Measure, rows, tmp_path)


@pytest.mark.parametrize("rows", list(permutations(ROWS)), ids=lambda rows: "-".join(row.where for row in rows))
def test_rows_meet_by_what_they_count_whatever_their_order(again, rows):
    assert again(rows) == len(ROWS)


def test_a_float_may_differ_in_its_last_digits_alone(again):
    assert again([replace(row, value=row.value * (1 + 1e-12)) for row in ROWS]) == len(ROWS)
    with pytest.raises(AlmanacError, match="value is"):
        again([replace(row, value=row.value + 1e-8) for row in ROWS])


@pytest.mark.parametrize("at", range(3))
def test_the_row_that_differs_is_named(again, at):
    rows = [replace(row, value=0.77) if index == at else row for index, row in enumerate(ROWS)]
    level = ROWS[at].where.strip("{}")
    with pytest.raises(
        AlmanacError, match=rf"measures/rows: value is {ROWS[at].value}, measured again it is 0\.77 .*{level}"
    ):
        again(rows[::-1])


def test_a_row_too_few_or_too_many_is_named(again):
    with pytest.raises(AlmanacError, match=r"the row .*22.* is frozen and not measured again \(1 such rows\)"):
        again(ROWS[:2])
    with pytest.raises(AlmanacError, match=r"the row .*other.* is not frozen, and measured again"):
        again([*ROWS, replace(ROW, metric="other")])
