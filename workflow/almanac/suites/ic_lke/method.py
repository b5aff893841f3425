"""IC-LKE as the house knows it."""

from collections.abc import Callable

from almanac.suites.asking import Asked
from almanac.suites.ic_lke import measures, requests
from almanac.suites.ic_lke.options import IcLkeOptions
from almanac.suites.method import Answered, Data, Measured, Method


def ask(data: Data, options: IcLkeOptions, on_step: Callable[[], object]) -> Asked:
    """Ask IC-LKE of a dataset; see `requests.ask`."""
    return requests.ask(data.facts, data.entities, data.choices, data.templates, options, on_step)


def measure(answered: Answered, options: IcLkeOptions) -> Measured:
    """Judge the answers and measure them; see `measures.judge` and `measures.measure`."""
    return measures.measure_choices(answered, measures.measure)


METHOD = Method(
    name=requests.SUITE,
    summary="pick one object of many after in-context examples",
    options=IcLkeOptions,
    ask=ask,
    measure=measure,
)
