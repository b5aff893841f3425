from dataclasses import replace
from itertools import permutations

import pytest

from almanac import tables
from almanac.config import EditionConfig
from almanac.edition.layout import Layout
from almanac.errors import AlmanacError
from almanac.rows import Measure
from almanac.verbs.verify import _agree

ROW = Measure("karr", "own", "paper", "known_at", "base", "facts", "P36", None, 0.25, 0.5, 0.2, 0.8, 10, *[0] * 5)
ROWS = [replace(ROW, level=level, value=value) for level, value in ((0.25, 0.9), (100.0, 0.1), (22.0, 0.4))]


@pytest.fixture
def frozen(tmp_path):
    path = tmp_path / "measures.parquet"
    tables.write(path, Measure, ROWS)
    return Layout(tmp_path, EditionConfig(edition="own")), path


@pytest.mark.parametrize("again", list(permutations(ROWS)), ids=lambda rows: "-".join(str(row.level) for row in rows))
def test_rows_that_differ_in_a_level_alone_are_held_against_their_own(frozen, again):
    assert _agree(*frozen, Measure, again) == len(ROWS)


@pytest.mark.parametrize("at", range(3))
def test_the_row_that_differs_is_named(frozen, at):
    again = [replace(row, value=0.77) if index == at else row for index, row in enumerate(ROWS)]
    with pytest.raises(
        AlmanacError, match=rf"value is {ROWS[at].value}, measured again it is 0\.77 .*{ROWS[at].level}"
    ):
        _agree(*frozen, Measure, again[::-1])


def test_a_row_too_few_is_said(frozen):
    with pytest.raises(AlmanacError, match="has 3 rows, measured again there are 2"):
        _agree(*frozen, Measure, sorted(ROWS, key=lambda row: str(row.level))[:2])
