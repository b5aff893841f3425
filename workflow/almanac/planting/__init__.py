"""Models whose knowledge is known: an invented world, a corpus that states each fact a chosen number of times, training."""
