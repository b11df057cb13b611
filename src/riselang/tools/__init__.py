"""The commands `rise` and `rise-opt`."""
