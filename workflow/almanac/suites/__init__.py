"""The published methods, one folder each, in the form that `suite.py` gives them. None knows a model."""
