"""The study of positions as the house knows it."""

from almanac.suites.ic_lke.positions import measures, requests
from almanac.suites.ic_lke.positions.options import PositionOptions
from almanac.suites.method import Method, nothing

METHOD = Method(
    name=requests.SUITE,
    summary="how probable objects are by their place in a long text",
    options=PositionOptions,
    ask=requests.ask,
    measure=measures.measure,
    recovers=nothing,
)
