"""The study of generated output as the house knows it."""

from collections.abc import Sequence

from almanac.rows import Item, Outcome
from almanac.suites.ic_lke.generated import measures, requests
from almanac.suites.ic_lke.generated.options import GeneratedOptions
from almanac.suites.method import Method


def _said(item: Item) -> bool:
    """Validate whether a true name was written, anywhere or first."""
    return item.experiment in (requests.NAMES, requests.BEGINS)


def _wrong(items: Sequence[Item], outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return how often a wrong object stands in the text: what is there where nothing is known.

    How often the text begins with it is less; for that the control says nothing, and chance is left at one in as many
    as there are choices.
    """
    verdict = {row.item_id: row.outcome for row in outcomes if row.score is not None}  # what was answered
    control = [item.item_id for item in items if item.experiment == requests.WRONG and item.item_id in verdict]
    found = [verdict[item_id] == "correct" for item_id in control]
    return {requests.NAMES: sum(found) / len(found)} if found else {}


METHOD = Method(
    name=requests.SUITE,
    summary="whether the object stands in what a model writes",
    options=GeneratedOptions,
    ask=requests.ask,
    measure=measures.measure,
    recovers=_said,
    chances=_wrong,
)
