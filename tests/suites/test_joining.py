"""What became of items, as columns: none of them hides another."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import pytest
from tests.suites.toy_world import played
from tests.toy.toy_suite import Offer, Toy

from almanac.errors import AlmanacError
from almanac.frames import frame_of
from almanac.suites.suite import Own


@dataclass(frozen=True, slots=True)
class Said:
    """What was said to an item, as it was read."""

    KEY: ClassVar = ("item", "reading")
    item: int
    reading: str
    said: str


class Says(Toy):
    own: ClassVar = {"offers": Own(Offer, of="item"), "said": Own(Said, of="outcome", at="judged")}


def test_a_table_of_outcomes_has_its_columns_where_item_and_reading_are_the_same(tmp_path):
    trial = played(tmp_path)
    found = trial.judge()
    trial.suite = Says()
    rows = [Said(item, reading, f"{item} {reading}") for item in range(0, 32, 2) for reading in ("checked", "alone")]
    frame = trial.join(found | {"said": frame_of(Said, rows)}).frame
    assert frame.height == 64
    for row in frame.iter_rows(named=True):
        assert row["said"] == (None if row["item"] % 2 else f"{row['item']} {row['reading']}")


class Hidden(NamedTuple):
    """A setting with a field that every item has."""

    outcome: str


@dataclass(frozen=True, slots=True)
class Twice:
    """A table of items with a column that the setting has."""

    KEY: ClassVar = ("item",)
    item: int
    order: int


class HidesOutcome(Toy):
    setting = Hidden


class HidesField(Toy):
    own: ClassVar = {"offers": Own(Offer, of="item"), "more": Own(Twice, of="item")}


class HidesOutcomes(Toy):
    own: ClassVar = {"said": Own(Said, of="outcome", at="judged"), "more": Own(Said, of="outcome", at="judged")}


class HidesTable(Toy):
    own: ClassVar = {"offers": Own(Offer, of="item"), "more": Own(Offer, of="item")}


@pytest.mark.parametrize(
    ("suite", "message"),
    [
        (HidesOutcome, "suite toy: setting: every item already has a column 'outcome'; rename this one"),
        (HidesField, "suite toy: table more: its setting already has a column 'order'; rename this one"),
        (HidesOutcomes, "suite toy: table more: its table said already has a column 'said'; rename this one"),
        (HidesTable, "suite toy: table more: its table offers already has a column 'place'; rename this one"),
    ],
)
def test_a_column_that_would_hide_another_is_refused(suite, message, tmp_path):
    trial = played(tmp_path)
    found = trial.judge()
    trial.suite = suite()
    with pytest.raises(AlmanacError) as error:
        trial.join(found)
    assert str(error.value) == message
