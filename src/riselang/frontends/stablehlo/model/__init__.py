"""Models to call: read, bound to arguments, saved."""
