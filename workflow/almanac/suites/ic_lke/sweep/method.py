"""The sweep over the number of examples as the house knows it."""

from almanac.suites.ic_lke.sweep import measures, requests
from almanac.suites.ic_lke.sweep.options import SweepOptions
from almanac.suites.method import Method, nothing

METHOD = Method(
    name=requests.SUITE,
    summary="pick an object after more and more examples",
    options=SweepOptions,
    ask=requests.ask,
    measure=measures.measure,
    recovers=nothing,
)
