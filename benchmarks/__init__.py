"""Measurements of speed: commands that are run by hand, never tests."""
