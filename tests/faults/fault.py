"""A fault: a small change to a function of the compiler that makes it wrong."""

from __future__ import annotations

import ast
import inspect
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from source_patterns import Edit, edits

from riselang.support.lazy import cached_property

SOURCES = Path(__file__).parents[2] / "src"


class Entry(NamedTuple):
    """What a statement of a module defines under a name that it passes: `x = define("name", ...)`."""

    module: ModuleType
    key: str


class MisfitError(Exception):
    """A fault does not fit the sources as they are."""


@dataclass(frozen=True)
class Fault:
    """`find` becomes `replace` in one place of `target`; `source_patterns` explains both.

    The target is a function, method, class or module, or an entry of a table. `given` is a pattern
    that binds metavariables which `find` does not have.
    """

    name: str
    target: Any
    find: str
    replace: str
    given: str = ""

    @property
    def module(self) -> ModuleType:
        match self.target:
            case ModuleType():
                return self.target
            case Entry(module):
                return module
            case _:
                return sys.modules[_function(self.target).__module__]

    @property
    def path(self) -> Path:
        """The file of the fault, below the sources."""
        assert self.module.__file__ is not None
        return Path(self.module.__file__).resolve().relative_to(SOURCES.resolve())

    @property
    def where(self) -> str:
        match self.target:
            case ModuleType():
                return self.module.__name__
            case Entry(module, key):
                return f"{key!r} in {module.__name__}"
            case _:
                return f"{self.module.__name__}.{_function(self.target).__qualname__}"

    def plant(self) -> str:
        """The text of the file with the fault in it."""
        source, tree = _parsed(self.path)
        node = self._node(tree)
        found = edits(node, self.find, self.replace, self.given)
        if len(found) != 1:
            raise MisfitError(self._misfit(node, found))
        planted = found[0].apply(source)
        if ast.dump(self._node(ast.parse(planted))) == ast.dump(node):
            raise MisfitError(f"the fault {self.name!r} changes nothing in {self.where}")
        return planted

    def _node(self, tree: ast.Module) -> ast.AST:
        match self.target:
            case ModuleType():
                return tree
            case Entry(_, key):
                found = [node for node in tree.body if _defines(node, key)]
            case _:
                found = [tree]
                for name in _function(self.target).__qualname__.split("."):
                    found = [
                        child for node in found for child in ast.iter_child_nodes(node)
                        if isinstance(child, ast.FunctionDef | ast.ClassDef) and child.name == name
                    ]  # fmt: skip
        if len(found) != 1:
            raise MisfitError(
                f"the fault {self.name!r} expects one definition of {self.where} in "
                f"src/{self.path}, but there are {len(found)}: change its target"
            )
        return found[0]

    def _misfit(self, node: ast.AST, found: list[Edit]) -> str:
        lines = ", ".join(str(edit.start[0]) for edit in found)
        given = f", where `{self.given}` is in it, too," if self.given else ""
        return (
            f"src/{self.path}:{getattr(node, 'lineno', 1)}: the fault {self.name!r} expects one "
            f"place in {self.where} of the form `{self.find}`{given} but finds "
            f"{f'{len(found)}, in lines {lines}' if found else 'none'}: "
            "write the form that the code has now, so that the fault keeps its meaning"
        )


def _function(target: Any) -> Any:
    match target:
        case property(fget=function) | cached_property(function=function):
            return function
        case _:
            return inspect.unwrap(target)


def _defines(statement: ast.stmt, key: str) -> bool:
    match statement:
        case ast.Assign(value=ast.Call(args=[ast.Constant(value), *_])):
            return value == key
        case _:
            return False


@cache
def _parsed(path: Path) -> tuple[str, ast.Module]:
    source = (SOURCES / path).read_text()
    return source, ast.parse(source)
