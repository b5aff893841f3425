"""How probable each object is by its place in one long sequence, some pairs of which are unknown or incorrect."""
