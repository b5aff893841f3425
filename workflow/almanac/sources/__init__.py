"""Sources of facts: a module with a function `read` for each pulled source, the user's own facts, and shared parts."""
