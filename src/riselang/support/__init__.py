"""Utilities for all packages: errors, settings, files, profiling, machine properties."""
