"""The study of positions as the house knows it."""

from collections.abc import Collection

from almanac.rows import Measure
from almanac.suites.ic_lke.positions import measures, requests
from almanac.suites.ic_lke.positions.options import PositionOptions
from almanac.suites.ic_lke.requests import DRAW
from almanac.suites.method import Behind, Method, nothing


def _behind(row: Measure, options: PositionOptions, settings: Collection[str]) -> Behind:
    """Return all draws of an arrangement: the pairs of a class, or of a part of the sequence."""
    draws = tuple(one for one in settings if one.partition(DRAW)[0] == row.setting)
    part = None
    if row.metric == measures.IN_BIN:
        start = int(row.level or 0)
        part = start, min((one for one in options.starts if one > start), default=options.pairs)
    return Behind((row.experiment,), draws, measures.roles(row.metric), part)


METHOD = Method(
    name=requests.SUITE,
    summary="how probable objects are by their place in a long text",
    options=PositionOptions,
    ask=requests.ask,
    measure=measures.measure,
    recovers=nothing,
    bars=measures.bars,
    behind=_behind,
)
