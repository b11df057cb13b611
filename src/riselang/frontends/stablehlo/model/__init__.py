"""Callable models: read, bound to arguments, saved."""
