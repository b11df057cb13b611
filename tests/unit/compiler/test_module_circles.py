"""No modules of `api` and `compiler` import each other in a circle, wherever the import stands."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[3] / "src" / "riselang"
FOLDERS = ("api", "compiler")


def imported(path: Path) -> set[str]:
    """The modules of the package that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def graph() -> dict[str, set[str]]:
    files = {
        ".".join(("riselang", folder, path.stem)): path
        for folder in FOLDERS
        for path in (PACKAGE / folder).glob("*.py")
        if path.stem != "__init__"
    }
    return {name: imported(path) & files.keys() for name, path in files.items()}


def test_there_are_no_circles() -> None:
    rest = graph()
    assert len(rest) > 20
    while leaves := {name for name, others in rest.items() if not others & rest.keys()}:
        rest = {name: others for name, others in rest.items() if name not in leaves}
    assert not rest
