"""HTML for notebooks: code, tables, and collapsible parts.

Everything is escaped here and nowhere else. Colors are inherited from the page, so they fit light
and dark themes.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_CODE = "line-height: 1.35; overflow-x: auto; text-align: left; white-space: pre; margin: 0.3em 0"
_MARK = "background: rgba(80, 180, 100, 0.28); color: inherit; border-radius: 3px"
_CELL = "text-align: right; padding: 2px 12px 2px 0; font-variant-numeric: tabular-nums"
_FIRST = "text-align: left; padding: 2px 16px 2px 0"


def code(text: str, marks: str = "") -> str:
    """Return preformatted text; the two characters of `marks` enclose highlighted parts."""
    html = escape(text)
    if marks:
        begin, end = marks
        html = html.replace(begin, f'<mark style="{_MARK}">').replace(end, "</mark>")
    return f'<pre style="{_CODE}">{html}</pre>'


def paragraph(text: str, *, strong: str = "") -> str:
    head = f"<b>{escape(strong)}</b> " if strong else ""
    return f'<div style="text-align: left; margin: 0.3em 0">{head}{escape(text)}</div>'


def details(summary: str, inner: str, *, is_open: bool = False) -> str:
    """Return a collapsible part with a summary line; `inner` is HTML."""
    opened = " open" if is_open else ""
    return (
        f'<details{opened} style="text-align: left; margin: 0.2em 0"><summary>'
        f"<code>{escape(summary)}</code></summary>{inner}</details>"
    )


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column has the row headings."""
    head = "".join(_cell("th", column, text) for column, text in enumerate(headings))
    body = "".join(
        f"<tr>{''.join(_cell('td', column, text) for column, text in enumerate(row))}</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(kind: str, column: int, text: str) -> str:
    return f'<{kind} style="{_CELL if column else _FIRST}">{escape(text)}</{kind}>'
