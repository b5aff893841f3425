"""The report: one page that opens from disk, and the tables and figures behind it. Every page is a view of measures."""
