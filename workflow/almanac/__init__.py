"""Almanac: what language models know, measured five published ways on one Snakemake workflow."""

__version__ = "0.1.0"
