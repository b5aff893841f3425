"""EIC-LKE as the house knows it."""

from almanac.rows import Item
from almanac.suites.ic_lke.eic import measures, requests
from almanac.suites.ic_lke.eic.options import EicOptions
from almanac.suites.ic_lke.requests import IN_CONTEXT
from almanac.suites.method import Method


def _own(item: Item) -> bool:
    """Validate what is EIC-LKE's own: IC-LKE is validated by itself."""
    return item.experiment != IN_CONTEXT


METHOD = Method(
    name=requests.SUITE,
    summary="many facts in one text, a choice of each; and each by itself",
    options=EicOptions,
    ask=requests.ask,
    measure=measures.measure,
    asked_beside={"costs": requests.Cost},
    recovers=_own,
)
