"""The suites there are, by name, in the order in which they are shown."""

from typing import Any

from almanac.suites.ic_lke import method as ic_lke
from almanac.suites.ic_lke.prompts import method as lke_prompts
from almanac.suites.karr import method as karr
from almanac.suites.method import Method

METHODS: dict[str, Method[Any]] = {method.name: method for method in (ic_lke.METHOD, lke_prompts.METHOD, karr.METHOD)}
