"""No import cycle among files, deferred imports included, except where a comment says why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from support.import_statements import (
    ImportStatement,
    import_statements,
    statements_of_sources,
)

SOURCES = Path(__file__).parents[2] / "src"
REASON = "# Deferred:"


class Import(NamedTuple):
    """One module imports another one, in a line of its file."""

    importer: str
    imported: str
    line: int
    has_reason: bool


def module_name(path: Path, sources: Path) -> str:
    parts = path.relative_to(sources).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def imports_of(
    path: Path, statements: list[ImportStatement], sources: Path, modules: set[str]
) -> Iterator[Import]:
    """The imports of modules, but for those that only type checkers see."""
    lines = path.read_text().splitlines()
    importer = module_name(path, sources)
    for statement in statements:
        if statement.is_for_types:
            continue
        has_reason = lines[statement.line - 2].strip().startswith(REASON)
        for name in statement.names:
            whole = f"{statement.module}.{name}" if statement.module else name
            imported = whole if whole in modules else statement.module
            if imported in modules:
                yield Import(importer, imported, statement.line, has_reason)


def cycles_without_reason(sources: Path, files: Mapping[Path, list[ImportStatement]]) -> list[str]:
    """Imports that close a cycle and have no comment that says why."""
    modules = {module_name(path, sources) for path in files}
    imports = [
        each
        for path, statements in files.items()
        for each in imports_of(path, statements, sources, modules)
    ]
    graph: dict[str, set[str]] = defaultdict(set)
    for each in imports:
        if not each.has_reason:
            graph[each.importer].add(each.imported)
    reached = {module: reachable(graph, module) for module in modules}
    return [
        f"{each.importer}:{each.line} imports {each.imported}, which imports it again: "
        f"break the cycle, or write `{REASON} why` above the import"
        for each in imports
        if not each.has_reason and each.importer in reached[each.imported]
    ]


def reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """A module and all that it imports, directly or not."""
    seen, waiting = {start}, [start]
    while waiting:
        new = graph.get(waiting.pop(), set[str]()) - seen
        waiting += new
        seen |= new
    return seen


def test_no_import_cycle_is_without_a_reason() -> None:
    assert cycles_without_reason(SOURCES, statements_of_sources(SOURCES)) == []


def found(sources: Path) -> list[str]:
    files = {path: import_statements(path) for path in sources.rglob("*.py")}
    return cycles_without_reason(sources, files)


def test_a_cycle_is_found(tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text("def f():\n    import second\n")
    (tmp_path / "second.py").write_text("import first\n")
    assert len(found(tmp_path)) == 2
    (tmp_path / "first.py").write_text(f"def f():\n    {REASON} a test\n    import second\n")
    assert found(tmp_path) == []
