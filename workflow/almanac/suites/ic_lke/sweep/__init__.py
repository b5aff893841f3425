"""How many examples are enough: accuracy by their number, over several draws."""
