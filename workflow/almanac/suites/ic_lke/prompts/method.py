"""The prompt baselines as the house knows them."""

from collections.abc import Callable, Collection
from pathlib import Path

from almanac.rows import Measure
from almanac.suites.asking import Asked
from almanac.suites.ic_lke.measures import measure_choices
from almanac.suites.ic_lke.prompts import measures, published, requests
from almanac.suites.ic_lke.prompts.options import PromptsOptions
from almanac.suites.method import Answered, Behind, Data, Measured, Method, own_items


def ask(data: Data, options: PromptsOptions, on_step: Callable[[], object]) -> Asked:
    """Ask the prompt baselines of a dataset; see `requests.ask`."""
    found = published.read(Path(options.published)) if options.published is not None else {}
    return requests.ask(data.facts, data.entities, data.choices, data.templates, data.evidence, options, found, on_step)


def measure(answered: Answered, options: PromptsOptions) -> Measured:
    """Judge the answers as IC-LKE's are, and measure them; see `measures.measure`."""
    return measure_choices(answered, measures.measure)


def _behind(row: Measure, options: PromptsOptions, settings: Collection[str]) -> Behind:
    """Return the items of a prompt, or of all of them for their mean."""
    return Behind((row.experiment,)) if row.setting == measures.MEAN else own_items(row, options, settings)


METHOD = Method(
    name=requests.SUITE,
    summary="the same choices behind written and mined prompts, without examples",
    options=PromptsOptions,
    ask=ask,
    measure=measure,
    behind=_behind,
)
