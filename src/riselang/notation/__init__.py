"""RISE's functional notation: how terms are shown to people (`printer.py`)."""
