"""From source tables to a dataset: which relations qualify, train and test facts, wrong choices, one normaliser."""
