"""A package that uses riselang; type checkers see all types of its programs."""
