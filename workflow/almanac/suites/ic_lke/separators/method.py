"""The study of separators as the house knows it."""

from almanac.rows import Item
from almanac.suites.ic_lke.separators import measures, requests
from almanac.suites.ic_lke.separators.options import SeparatorOptions
from almanac.suites.method import Method


def _nothing(item: Item) -> bool:
    """Validate nothing: each of its settings would be a method of its own."""
    return False


METHOD = Method(
    name=requests.SUITE,
    summary="pick an object with other words between subject and object",
    options=SeparatorOptions,
    ask=requests.ask,
    measure=measures.measure,
    asked_beside={"infixes": requests.Infix},
    recovers=_nothing,
)
