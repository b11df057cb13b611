"""No module imports another one that imports it, also not for types or inside a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import riselang

ROOT = Path(riselang.__file__).parent
RECURSIVE = {
    "riselang.api",
    "riselang.dialects.rise",
    "riselang.dsl",
    "riselang.nat",
    "riselang.rewrite",
    "riselang.term",
}
"""Packages whose modules define one recursive thing together."""


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What is imported anywhere in a module, and from where."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            yield from ((node.module, alias.name) for alias in node.names)


def import_graph() -> dict[str, set[str]]:
    """Each module with those that it imports."""
    files = {module_name(path): path for path in ROOT.rglob("*.py")}
    graph: dict[str, set[str]] = {}
    for module, path in files.items():
        names = imported_names(ast.parse(path.read_text(encoding="utf-8")))
        found = {f"{source}.{name}" if f"{source}.{name}" in files else source
                 for source, name in names}  # fmt: skip
        graph[module] = (found & files.keys()) - {module}
    return graph


def reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Modules that reach each other."""
    reached = {module: reachable(graph, module) for module in graph}
    found = {
        tuple(sorted(each for each in reached[module] if module in reached[each]))
        for module in graph
        if module in reached[module]
    }
    return sorted(map(list, found))


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set[str]()}
    assert circles(graph) == [["b", "c"]]


def test_modules_import_in_one_direction() -> None:
    found = circles(import_graph())
    left = [circle for circle in found if {each.rpartition(".")[0] for each in circle} - RECURSIVE]
    assert left == []
