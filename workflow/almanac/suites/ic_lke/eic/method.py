"""EIC-LKE as the house knows it."""

from collections.abc import Collection

from almanac.rows import Item, Measure
from almanac.suites.ic_lke.eic import measures, requests
from almanac.suites.ic_lke.eic.options import EicOptions
from almanac.suites.ic_lke.requests import IN_CONTEXT
from almanac.suites.method import Behind, Method, own_items


def _own(item: Item) -> bool:
    """Validate what is EIC-LKE's own: IC-LKE is validated by itself."""
    return item.experiment != IN_CONTEXT


def _behind(row: Measure, options: EicOptions, settings: Collection[str]) -> Behind:
    """Return an experiment's items, and for its agreement with IC-LKE those of both."""
    if row.metric in measures.AGREEMENT:
        return Behind((row.experiment, IN_CONTEXT))
    return own_items(row, options, settings)


METHOD = Method(
    name=requests.SUITE,
    summary="many facts in one text, a choice of each; and each by itself",
    options=EicOptions,
    ask=requests.ask,
    measure=measures.measure,
    asked_beside={"costs": requests.Cost},
    recovers=_own,
    behind=_behind,
)
