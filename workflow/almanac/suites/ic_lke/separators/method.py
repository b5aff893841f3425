"""The study of separators as the house knows it."""

from almanac.suites.ic_lke.separators import measures, requests
from almanac.suites.ic_lke.separators.options import SeparatorOptions
from almanac.suites.method import Method, nothing

METHOD = Method(
    name=requests.SUITE,
    summary="pick an object with other words between subject and object",
    options=SeparatorOptions,
    ask=requests.ask,
    measure=measures.measure,
    asked_beside={"infixes": requests.Infix},
    recovers=nothing,
)
