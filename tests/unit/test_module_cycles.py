"""No modules import each other, not even for type checking or inside a function."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import riselang
from support.import_statements import statements_of_sources

ROOT = Path(riselang.__file__).parent
RECURSIVE = {
    "riselang.dialects.rise",
    "riselang.dsl",
    "riselang.dsl.arrays",
    "riselang.nat",
    "riselang.rewrite",
    "riselang.term",
}
"""Packages whose modules define mutually recursive functions or types."""


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph() -> dict[str, set[str]]:
    """Return each module with the modules that it imports, anywhere in it."""
    files = {
        module_name(path): statements
        for path, statements in statements_of_sources(ROOT.parent).items()
        if path.is_relative_to(ROOT)
    }
    graph: dict[str, set[str]] = {}
    for module, statements in files.items():
        names = {
            (statement.module, f"{statement.module}.{name}" if statement.module else name)
            for statement in statements
            for name in statement.names
        }
        imported = {whole if whole in files else source for source, whole in names}
        graph[module] = (imported & files.keys()) - {module}
    return graph


def reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    modules: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - modules
        modules |= new
        waiting += new
    return modules


def module_cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or indirectly."""
    reached = {module: reachable(graph, module) for module in graph}
    cycles = {
        tuple(sorted(each for each in reached[module] if module in reached[each]))
        for module in graph
        if module in reached[module]
    }
    return sorted(map(list, cycles))


def test_cycles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set[str]()}
    assert module_cycles(graph) == [["b", "c"]]


def test_modules_import_in_one_direction() -> None:
    cycles = module_cycles(import_graph())
    unexpected = [
        cycle for cycle in cycles if {each.rpartition(".")[0] for each in cycle} - RECURSIVE
    ]
    assert unexpected == []
