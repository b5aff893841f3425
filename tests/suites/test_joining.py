"""What became of items, as columns: none of them hides another."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import pytest
from tests.suites.toy_world import played
from tests.toy.toy_suite import Offer, Toy

from almanac.errors import AlmanacError
from almanac.suites.suite import Own


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


class HidesTable(Toy):
    own: ClassVar = {"offers": Own(Offer, of="item"), "more": Own(Offer, of="item")}


@pytest.mark.parametrize(
    ("suite", "message"),
    [
        (HidesOutcome, "suite toy: setting: a column 'outcome' is there already, of every item; rename it"),
        (HidesField, "suite toy: table more: a column 'order' is there already, of its setting; rename it"),
        (HidesTable, "suite toy: table more: a column 'place' is there already, of its table offers; rename it"),
    ],
)
def test_a_column_that_would_hide_another_is_refused(suite, message, tmp_path):
    trial = played(tmp_path)
    found = trial.judge()
    trial.suite = suite()
    with pytest.raises(AlmanacError) as error:
        trial.join(found)
    assert str(error.value) == message
