"""Where facts come from: one module a source, each yielding the same rows."""
