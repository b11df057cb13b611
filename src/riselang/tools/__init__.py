"""The command-line tools `rise` and `rise-opt`."""
