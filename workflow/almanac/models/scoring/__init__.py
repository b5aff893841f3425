"""Backends that compute log-probabilities: the reference, and faster ones that are tested against it."""
