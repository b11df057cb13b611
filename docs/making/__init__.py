"""What makes the documentation: running the pages, the pattern tables, and the lexers."""
