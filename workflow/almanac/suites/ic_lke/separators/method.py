"""The study of separators as the house knows it."""

from collections.abc import Collection

from almanac.rows import Measure
from almanac.suites.ic_lke.separators import measures, requests
from almanac.suites.ic_lke.separators.options import SeparatorOptions
from almanac.suites.method import Behind, Method, nothing


def _behind(row: Measure, options: SeparatorOptions, settings: Collection[str]) -> Behind:
    """Return the items of a separator or of all infixes, and for a difference those of the space too."""
    own = measures.infixes(settings) if row.setting == measures.INFIXES else (row.setting,)
    return Behind((row.experiment,), (*own, *((requests.SPACE,) if row.metric == "difference" else ())))


METHOD = Method(
    name=requests.SUITE,
    summary="pick an object with other words between subject and object",
    options=SeparatorOptions,
    ask=requests.ask,
    measure=measures.measure,
    asked_beside={"infixes": requests.Infix},
    recovers=nothing,
    behind=_behind,
)
