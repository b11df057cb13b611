"""Processes that compile jobs, or run foreign parsers on users' files."""
