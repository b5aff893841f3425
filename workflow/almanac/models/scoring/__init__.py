"""The ways to compute log-probabilities: the reference, and the faster ways that are tested against it."""
