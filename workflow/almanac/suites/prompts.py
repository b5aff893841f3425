"""The instructions and examples of a suite's prompts, which ship as a file."""

import functools
from collections.abc import Mapping
from typing import Any

import yaml

from almanac.project import RESOURCES

PROMPTS = RESOURCES / "prompts"


@functools.cache
def prompts(name: str) -> Mapping[str, Any]:
    """Return the content of ``resources/prompts/NAME.yaml``; all callers share one object."""
    found: dict[str, Any] = yaml.safe_load((PROMPTS / f"{name}.yaml").read_text("utf-8"))
    return found
