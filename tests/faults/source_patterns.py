"""Patterns of Python source: find code by its form, and write other code in its place.

A pattern is Python text with metavariables. `$x` stands for one expression, statement or
identifier, the same one wherever it occurs; `$$x` for any number of arguments, elements or
statements, which is `**$$x` among the entries of a dictionary; `$_` and `$$_` for anything.

    $a - 1 - $b                        an expression
    $x = $f($x)                        a statement, or several in a row
    case $class($x) if $guard: $$body  a case of a match statement

Formatting, comments and the names of what a metavariable stands for do not matter. The rest of a
file stays as it is, to the character. What is inside an f-string is found only as a part of it,
since Python 3.11 does not say where it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from textwrap import dedent
from typing import Any

ONE, MANY = "metavariable_", "metavariables_"
_REST = ast.Name(f"{MANY}0")
"""The statements after a match; no metavariable of a pattern is a number."""
_IGNORED = {"ctx", "kind", "type_comment"}

Bindings = Mapping[str, Any]
"""The node, identifier, or list of nodes that each metavariable stands for."""


@dataclass(frozen=True)
class Edit:
    """A text for the part of a source from one line and byte to another."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str

    def apply(self, source: str) -> str:
        lines = source.encode().splitlines(keepends=True)
        (first, start), (last, end) = self.start, self.end
        before = b"".join(lines[: first - 1]) + lines[first - 1][:start]
        after = lines[last - 1][end:] + b"".join(lines[last:])
        return (before + self.text.encode() + after).decode()


def edits(root: ast.AST, find: str, replace: str, given: str = "") -> list[Edit]:
    """The distinct ways to replace what `find` matches below a node.

    `given` is a pattern that matches elsewhere below the node, and binds metavariables as well.
    """
    pattern, template = _parse(find), _parse(replace)
    is_expression = isinstance(pattern, ast.expr) and isinstance(template, ast.expr)
    found: dict[Edit, None] = {}
    for bound in _bindings(root, given):
        if is_expression:
            for node, filled in _expressions(root, pattern, bound):
                text = _text(_fill(template, filled))
                found[Edit(_start(node), _end(node), f"({text})")] = None
        else:
            for nodes, filled in _runs(root, _statements(pattern), bound):
                indent = " " * _start(nodes[0])[1]
                text = "\n".join(map(_text, _fill(_statements(template), filled)))
                text = text.replace("\n", f"\n{indent}")
                found[Edit(_start(nodes[0]), _end(nodes[-1]), text)] = None
    return list(found)


@cache
def _parse(text: str) -> Any:
    """An expression, or a list of statements or cases."""
    text = re.sub(r"\$\$(\w+)", rf"{MANY}\1", dedent(text).strip())
    text = re.sub(r"\$(\w+)", rf"{ONE}\1", text)
    if text.startswith("case "):
        lines = "".join(f"    {line}\n" for line in text.splitlines())
        (statement,) = ast.parse(f"match _:\n{lines}").body
        assert isinstance(statement, ast.Match)
        return statement.cases
    body = ast.parse(text).body
    match body:
        case [ast.Expr(expression)]:
            return expression
        case _:
            return body


def _statements(pattern: Any) -> list[ast.AST]:
    return [ast.Expr(pattern)] if isinstance(pattern, ast.expr) else pattern


def _bindings(root: ast.AST, given: str) -> Iterator[Bindings]:
    if not given:
        yield {}
        return
    pattern = _parse(given)
    is_expression = isinstance(pattern, ast.expr)
    matched = _expressions(root, pattern, {}) if is_expression else _runs(root, pattern, {})
    for _, bound in matched:
        yield bound


def _expressions(root: ast.AST, pattern: Any, bound: Bindings) -> Iterator[tuple[Any, Bindings]]:
    for node in _walk(root):
        if isinstance(node, ast.expr):
            for found in _match(pattern, node, bound):
                yield node, found


def _runs(
    root: ast.AST, pattern: Sequence[ast.AST], bound: Bindings
) -> Iterator[tuple[list[Any], Bindings]]:
    """Statements or cases that follow each other."""
    for node in _walk(root):
        for _, body in ast.iter_fields(node):
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt | ast.match_case):
                for start in range(len(body)):
                    for found in _match([*pattern, _REST], body[start:], bound):
                        found = dict(found)
                        end = len(body) - len(found.pop("0"))
                        yield body[start:end], found


def _walk(root: ast.AST) -> Iterator[ast.AST]:
    yield root
    if not isinstance(root, ast.JoinedStr):
        for child in ast.iter_child_nodes(root):
            yield from _walk(child)


def _match(pattern: Any, node: Any, bound: Bindings) -> Iterator[Bindings]:
    """The ways to bind metavariables so that the pattern is the node."""
    if (name := _metavariable(pattern, ONE)) is not None:
        if isinstance(node, ast.AST | str) and (name not in bound or _is_same(bound[name], node)):
            yield bound if name == "_" else {**bound, name: node}
    elif isinstance(pattern, list):
        if isinstance(node, list):
            yield from _match_lists(pattern, node, bound)
    elif type(pattern) is not type(node):
        return
    elif isinstance(pattern, ast.Dict):
        yield from _match_lists(_entries(pattern), _entries(node), bound)
    elif isinstance(pattern, ast.AST):
        fields = [field for field in pattern._fields if field not in _IGNORED]
        patterns = [getattr(pattern, field, None) for field in fields]
        yield from _match_all(patterns, [getattr(node, field, None) for field in fields], bound)
    elif pattern == node:
        yield bound


def _match_all(patterns: list[Any], nodes: list[Any], bound: Bindings) -> Iterator[Bindings]:
    """Each pattern with the node at its position."""
    if not patterns:
        yield bound
        return
    for found in _match(patterns[0], nodes[0], bound):
        yield from _match_all(patterns[1:], nodes[1:], found)


def _match_lists(patterns: list[Any], nodes: list[Any], bound: Bindings) -> Iterator[Bindings]:
    if not patterns:
        if not nodes:
            yield bound
        return
    if (name := _metavariable(patterns[0], MANY)) is not None:
        for count in range(len(nodes) + 1):
            taken = nodes[:count]
            if name not in bound or _is_same(bound[name], taken):
                found = bound if name == "_" else {**bound, name: taken}
                yield from _match_lists(patterns[1:], nodes[count:], found)
    elif nodes:
        for found in _match(patterns[0], nodes[0], bound):
            yield from _match_lists(patterns[1:], nodes[1:], found)


def _metavariable(pattern: Any, prefix: str) -> str | None:
    """Its name without the prefix, for an expression, identifier, statement or `**` entry."""
    match pattern:
        case ast.Expr(value) | ast.keyword(arg=None, value=value):
            return _metavariable(value, prefix)
        case ast.Name(identifier) | str(identifier) if identifier.startswith(prefix):
            return identifier.removeprefix(prefix)
        case _:
            return None


def _is_same(first: Any, second: Any) -> bool:
    first, second = (node.id if isinstance(node, ast.Name) else node for node in (first, second))
    return any(True for _ in _match(first, second, {}))


def _entries(node: ast.Dict) -> list[ast.AST]:
    return [
        ast.keyword(None, value) if key is None else ast.Tuple([key, value])
        for key, value in zip(node.keys, node.values, strict=True)
    ]


def _fill(template: Any, bound: Bindings) -> Any:
    """The template with what its metavariables stand for."""
    if (name := _metavariable(template, ONE)) is not None:
        value = bound[name]
        if isinstance(template, str):
            return value.id if isinstance(value, ast.Name) else value
        return ast.Name(value) if isinstance(value, str) else value
    if isinstance(template, list):
        filled: list[Any] = []
        for part in template:
            name = _metavariable(part, MANY)
            filled += [_fill(part, bound)] if name is None else bound[name]
        return filled
    if isinstance(template, ast.Dict):
        entries = _fill(_entries(template), bound)
        pairs = [
            (None, entry.value) if isinstance(entry, ast.keyword) else entry.elts
            for entry in entries
        ]
        return ast.Dict([key for key, _ in pairs], [value for _, value in pairs])
    if isinstance(template, ast.AST):
        return type(template)(**{
            field: _fill(value, bound) for field, value in ast.iter_fields(template)
        })  # fmt: skip
    return template


def _text(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node)).strip("\n")


def _start(node: Any) -> tuple[int, int]:
    if isinstance(node, ast.match_case):
        # Where `case` is, it does not say; bodies are one level deeper.
        return node.pattern.lineno, node.pattern.col_offset - len("case ")
    return node.lineno, node.col_offset


def _end(node: Any) -> tuple[int, int]:
    last: Any = node.body[-1] if isinstance(node, ast.match_case) else node
    return last.end_lineno, last.end_col_offset
