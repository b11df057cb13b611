"""Counts in messages."""

from __future__ import annotations


def format_count(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: `1 step`, `2 steps`, `2 entries`."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"
