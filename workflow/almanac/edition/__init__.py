"""An edition: where its files lie, how it is packed, and how a packed one is checked."""
