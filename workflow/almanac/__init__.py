"""Almanac: what language models know, measured by published methods on one Snakemake workflow.

In a notebook, `almanac.read_edition("results/demo")` gives the tables of a finished or frozen edition as pandas frames.
"""

import importlib
from typing import Any

__version__ = "0.1.0"
__all__ = ["__version__", "read_edition"]


def __getattr__(name: str) -> Any:
    """Return what is public and is loaded only when it is asked for."""
    if name == "read_edition":
        return importlib.import_module("almanac.edition.notebook").read_edition
    raise AttributeError(f"module 'almanac' has no attribute {name!r}; there is read_edition")
