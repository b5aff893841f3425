"""The sweep over the number of examples as the house knows it."""

from collections.abc import Collection

from almanac.rows import Measure
from almanac.suites.ic_lke.requests import DRAW
from almanac.suites.ic_lke.sweep import measures, requests
from almanac.suites.ic_lke.sweep.options import SweepOptions
from almanac.suites.method import Behind, Method, nothing


def _behind(row: Measure, options: SweepOptions, settings: Collection[str]) -> Behind:
    """Return all draws of a number of examples."""
    wanted = f"{requests.SHOTS}{row.level or 0:.0f}"
    return Behind((row.experiment,), tuple(one for one in settings if one.partition(DRAW)[0] == wanted))


METHOD = Method(
    name=requests.SUITE,
    summary="pick an object after more and more examples",
    options=SweepOptions,
    ask=requests.ask,
    measure=measures.measure,
    recovers=nothing,
    behind=_behind,
)
