"""Models with planted knowledge: invented worlds, corpora that state each fact a known number of times, training."""
