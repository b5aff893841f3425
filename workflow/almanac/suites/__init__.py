"""The published methods, one folder each: `requests` asks, `measures` counts, `figures` draws. None knows a model."""
