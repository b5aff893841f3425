"""Almanac: what language models know, measured by published methods on one Snakemake workflow.

In a notebook `almanac.measure(model, tokenizer, "ic_lke")` asks a transformers model one suite and returns its measures
as a pandas data frame; `almanac.read_edition("results/demo")` gives the tables of a finished or frozen edition, and
`almanac.shares` the share of known facts in groups of your choice.
"""

import importlib
from typing import Any

__version__ = "0.1.0"
__all__ = ["__version__", "measure", "read_edition", "shares"]
PUBLIC = dict.fromkeys(("read_edition", "shares"), "almanac.edition.notebook") | {"measure": "almanac.quick"}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """Import a public name on first access."""
    if name in PUBLIC:
        return getattr(importlib.import_module(PUBLIC[name]), name)
    raise AttributeError(f"module 'almanac' has no attribute {name!r}; there are {', '.join(PUBLIC)}")
