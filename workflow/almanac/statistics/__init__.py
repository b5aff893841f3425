"""Intervals, ranks and agreement: the numbers behind every table, from published formulas."""
