"""Text tables; the first column has text, the others have numbers."""

from __future__ import annotations

from collections.abc import Sequence


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table whose columns are as wide as their cells."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "".join(_format_row(line, widths) + "\n" for line in lines)


def _format_row(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *other_cells = zip(cells, widths, strict=True)
    return "  ".join(
        [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in other_cells)]
    ).rstrip()
