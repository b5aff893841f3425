"""The suites there are, by name, in the order in which they are shown."""

from typing import Any

from almanac.suites.facteval import method as facteval
from almanac.suites.ic_lke import method as ic_lke
from almanac.suites.ic_lke.eic import method as eic_lke
from almanac.suites.ic_lke.generated import method as lke_generated
from almanac.suites.ic_lke.positions import method as lke_positions
from almanac.suites.ic_lke.prompts import method as lke_prompts
from almanac.suites.ic_lke.separators import method as lke_separators
from almanac.suites.ic_lke.sweep import method as lke_sweep
from almanac.suites.karr import method as karr
from almanac.suites.method import Method

METHODS: dict[str, Method[Any]] = {
    one.METHOD.name: one.METHOD
    for one in (
        *(ic_lke, lke_prompts, eic_lke, lke_sweep, lke_separators, lke_positions, lke_generated),
        karr,
        facteval,
    )
}
