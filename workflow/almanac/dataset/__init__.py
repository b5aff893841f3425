"""Builds a dataset from source tables: qualifying relations, train and test facts, wrong choices, normalised names."""
