"""The import statements of sources, each file of which is parsed once in a process."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple


class ImportStatement(NamedTuple):
    """An import anywhere in a file."""

    module: str
    """Where names are imported from; nothing where modules themselves are imported."""
    names: tuple[str, ...]
    line: int
    is_for_types: bool
    """Whether only type checkers see it."""


def import_statements(path: Path) -> list[ImportStatement]:
    return list(_statements(ast.parse(path.read_text(encoding="utf-8")).body, False))


@cache
def statements_of_sources(sources: Path) -> dict[Path, list[ImportStatement]]:
    """The files of a folder that does not change, with their imports."""
    return {path: import_statements(path) for path in sorted(sources.rglob("*.py"))}


def _statements(nodes: list[ast.stmt], is_for_types: bool) -> Iterator[ImportStatement]:
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            names = tuple(alias.name for alias in node.names)
            yield ImportStatement(module, names, node.lineno, is_for_types)
        is_checked = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for part in ("body", "handlers", "cases", "orelse", "finalbody"):
            yield from _statements(getattr(node, part, []), is_for_types or is_checked)
