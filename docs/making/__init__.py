"""What makes the documentation: running the pages, the tables, the dialect, and the lexers."""
