"""Which functions of the sources are recursive, found in their syntax trees.

Functions are known by name: within a module, a name is the function of that name in the nearest
scope, and an attribute any method of that name. So the survey may find a recursion where there is
none, but misses none within a module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "riselang"
THROUGH_C = frozenset({"all", "any", "filter", "map", "max", "min", "reduce", "sorted", "sum"})
"""Functions that call those that they are given from C."""
CACHES = frozenset({"cache", "cached_property", "lru_cache"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False)
class Function:
    """A function of a module, with what is directly in it."""

    module: str
    name: str
    """With the names of what it stands in."""
    node: _Function
    is_method: bool
    outer: Function | None
    own: list[ast.AST] = field(default_factory=list[ast.AST], repr=False)
    """The nodes of its body that are in no function inside of it."""
    calls: set[Function] = field(default_factory=set["Function"])

    @property
    def decorators(self) -> set[str]:
        return {
            part.id if isinstance(part, ast.Name) else part.attr
            for each in self.node.decorator_list
            for part in ast.walk(each)
            if isinstance(part, ast.Name | ast.Attribute)
        }

    @property
    def parameter_types(self) -> set[str]:
        """The names in the annotations of its parameters."""
        arguments = self.node.args
        return {
            name.id
            for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            if each.annotation is not None
            for name in ast.walk(each.annotation)
            if isinstance(name, ast.Name)
        }

    def __str__(self) -> str:
        return f"{self.module}:{self.node.lineno} {self.name}"


def functions_of(path: Path) -> list[Function]:
    """The functions of a file, each with those of the file that it refers to."""
    found: list[Function] = []
    module = path.relative_to(SOURCES).as_posix() if path.is_relative_to(SOURCES) else path.name
    body: Iterable[ast.AST] = ast.parse(path.read_text()).body
    stack: list[tuple[Iterable[ast.AST], str, bool, Function | None]] = [(body, "", False, None)]
    while stack:
        nodes, prefix, is_class, outer = stack.pop()
        for node in nodes:
            if isinstance(node, _Function):
                function = Function(module, f"{prefix}{node.name}", node, is_class, outer)
                found.append(function)
                stack.append((node.body, f"{function.name}.", False, function))
                continue
            if outer is not None:
                outer.own.append(node)
            elif isinstance(node, ast.expr):
                continue  # there is no function in an expression
            children = ast.iter_child_nodes(node)
            if isinstance(node, ast.ClassDef):
                stack.append((children, f"{prefix}{node.name}.", True, outer))
            else:
                stack.append((children, prefix, is_class, outer))
    methods = {each.node.name: each for each in found if each.is_method}
    for each in found:
        visible = _visible(each, found)
        for node in each.own:
            if isinstance(node, ast.Name) and node.id in visible:
                each.calls.add(visible[node.id])
            elif isinstance(node, ast.Attribute) and node.attr in methods:
                each.calls.add(methods[node.attr])
    return found


def _visible(function: Function, found: list[Function]) -> dict[str, Function]:
    """The functions that a function may call by name, inner ones last."""
    around: list[Function | None] = [function]
    while around[-1] is not None:
        around.append(around[-1].outer)
    return {
        each.node.name: each
        for scope in reversed(around)
        for each in found
        if each.outer is scope and not each.is_method
    }


def recursions(functions: list[Function]) -> list[set[Function]]:
    """The groups of functions that call each other, directly or not."""
    reached = {each: _reached(each) for each in functions}
    groups: list[set[Function]] = []
    for each in functions:
        if each in reached[each] and not any(each in group for group in groups):
            groups.append({other for other in reached[each] if each in reached[other]})
    return groups


def _reached(function: Function) -> set[Function]:
    seen: set[Function] = set()
    stack = list(function.calls)
    while stack:
        current = stack.pop()
        if current not in seen:
            seen.add(current)
            stack.extend(current.calls)
    return seen


def calls_through_c(group: set[Function]) -> list[str]:
    """Where functions of a recursion call each other by way of C, which takes C stack."""
    names = {each.node.name for each in group}
    found: list[str] = []
    for function in group:
        if function.decorators & CACHES:
            found.append(f"{function}: is cached by a decorator")
        for node in function.own:
            if isinstance(node, ast.GeneratorExp) and _named(node.elt, names):
                found.append(f"{function}: calls itself in a generator, line {node.lineno}")
            elif isinstance(node, ast.Call) and _callee(node) in THROUGH_C:
                given = [*node.args, *(each.value for each in node.keywords)]
                if any(_last_name(each) in names for each in given):
                    found.append(f"{function}: is given to {_callee(node)}, line {node.lineno}")
    return found


def _named(node: ast.AST, names: set[str]) -> bool:
    """Whether one of these functions is called in an expression."""
    calls = (each for each in ast.walk(node) if isinstance(each, ast.Call))
    return any(_callee(each) in names for each in calls)


def _callee(call: ast.Call) -> str:
    return _last_name(call.func)


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
