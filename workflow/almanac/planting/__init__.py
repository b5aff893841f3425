"""Models whose knowledge is known: invented world, corpus of known exposure, training."""
