"""What models are told: the instructions and the examples of a suite, which ship as a file."""

import functools
from collections.abc import Mapping
from typing import Any

import yaml

from almanac.project import RESOURCES

PROMPTS = RESOURCES / "prompts"


@functools.cache
def prompts(name: str) -> Mapping[str, Any]:
    """Return what models are told, as ``resources/prompts/NAME.yaml`` has it; all callers share it."""
    found: dict[str, Any] = yaml.safe_load((PROMPTS / f"{name}.yaml").read_text("utf-8"))
    return found
