"""Whether the true object stands in what a model writes."""
