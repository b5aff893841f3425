"""Sources of facts: one module per source, all with the same entry point, ``read(options, folder) -> SourceTables``."""
