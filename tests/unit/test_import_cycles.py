"""No import cycle among files, deferred imports included, except where a comment says why."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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


def runtime_imports(tree: ast.AST) -> Iterator[ast.ImportFrom | ast.Import]:
    """All imports but those that only type checkers see."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.ImportFrom | ast.Import):
            yield child
        yield from runtime_imports(child)


def imports_of(path: Path, sources: Path, modules: set[str]) -> Iterator[Import]:
    text = path.read_text()
    lines = text.splitlines()
    importer = module_name(path, sources)
    for statement in runtime_imports(ast.parse(text)):
        has_reason = lines[statement.lineno - 2].strip().startswith(REASON)
        for alias in statement.names:
            if isinstance(statement, ast.ImportFrom):
                whole = f"{statement.module}.{alias.name}"
                imported = whole if whole in modules else str(statement.module)
            else:
                imported = alias.name
            if imported in modules:
                yield Import(importer, imported, statement.lineno, has_reason)


def cycles_without_reason(sources: Path) -> list[str]:
    """Imports that close a cycle and have no comment that says why."""
    files = {module_name(path, sources): path for path in sorted(sources.rglob("*.py"))}
    imports = [each for path in files.values() for each in imports_of(path, sources, set(files))]
    graph: dict[str, set[str]] = defaultdict(set)
    for each in imports:
        if not each.has_reason:
            graph[each.importer].add(each.imported)
    return [
        f"{each.importer}:{each.line} imports {each.imported}, which imports it again: "
        f"break the cycle, or write `{REASON} why` above the import"
        for each in imports
        if not each.has_reason and reaches(graph, each.imported, each.importer)
    ]


def reaches(graph: dict[str, set[str]], start: str, goal: str) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        module = waiting.pop()
        if module == goal:
            return True
        waiting += graph[module] - seen
        seen |= graph[module]
    return False


def test_no_import_cycle_is_without_a_reason() -> None:
    assert cycles_without_reason(SOURCES) == []


def test_a_cycle_is_found(tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text("def f():\n    import second\n")
    (tmp_path / "second.py").write_text("import first\n")
    assert len(cycles_without_reason(tmp_path)) == 2
    (tmp_path / "first.py").write_text(f"def f():\n    {REASON} a test\n    import second\n")
    assert cycles_without_reason(tmp_path) == []
