"""Sketches: the shape of a program, with holes.

    map[8](map[8](reduce[64](reduce[4](map[32](map[32](...))))))

A pattern with another one in parentheses is a loop whose body has that shape, or a pattern without
a function whose argument has it. In brackets is a length, or another size of the pattern. `...` is
any program, `contains(s)` is one with `s` anywhere inside, and `&` and `|` combine sketches. Views
and `let` between loops are not written.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.nat import Nat, NatError, parse_nat
from riselang.support.errors import SourceLocation, UserError
from riselang.support.spelling import closest_name
from riselang.term.nodes import Pattern


@dataclass(frozen=True)
class Sketch:
    """A shape; the classes below are the kinds."""

    @property
    def parts(self) -> Sequence[Sketch]:
        return ()

    def all_parts(self) -> Iterator[Sketch]:
        """Yield all parts, inner ones first, then the sketch itself."""
        for part in self.parts:
            yield from part.all_parts()
        yield self


@dataclass(frozen=True)
class Hole(Sketch):
    """Any program."""

    def __str__(self) -> str:
        return "..."


@dataclass(frozen=True)
class Applied(Sketch):
    """A pattern that is applied; `inner` is the shape of its body, or of its argument."""

    name: str
    size: Nat | None
    inner: Sketch | None

    @property
    def parts(self) -> Sequence[Sketch]:
        return () if self.inner is None else (self.inner,)

    def is_pattern(self, pattern: Pattern) -> bool:
        """Whether the pattern has this name and size; `inner` is not considered."""
        if pattern.spec.name != self.name:
            return False
        return self.size is None or self.size in pattern.sizes.values()

    def __str__(self) -> str:
        size = "" if self.size is None else f"[{self.size}]"
        return f"{self.name}{size}" + ("" if self.inner is None else f"({self.inner})")


@dataclass(frozen=True)
class Contains(Sketch):
    """A program with this shape anywhere inside."""

    inner: Sketch

    @property
    def parts(self) -> Sequence[Sketch]:
        return (self.inner,)

    def __str__(self) -> str:
        return f"contains({self.inner})"


@dataclass(frozen=True)
class Both(Sketch):
    """Both shapes at once."""

    first: Sketch
    second: Sketch

    @property
    def parts(self) -> Sequence[Sketch]:
        return (self.first, self.second)

    def __str__(self) -> str:
        return f"{self.first} & {self.second}"


@dataclass(frozen=True)
class Either(Sketch):
    """One of two shapes."""

    first: Sketch
    second: Sketch

    @property
    def parts(self) -> Sequence[Sketch]:
        return (self.first, self.second)

    def __str__(self) -> str:
        return f"({self.first} | {self.second})"


def outline(sketch: Sketch) -> Sketch:
    """Return only the nested maps and reductions of a sketch, without lengths."""
    match sketch:
        case Applied(name, _, inner) if name.startswith("map"):
            return Applied("map", None, None if inner is None else outline(inner))
        case Applied(name, _, inner) if name.startswith("reduce"):
            return Applied("reduce", None, None if inner is None else outline(inner))
        case Both(first, second):
            return Both(outline(first), outline(second))
        case Either(first, second):
            return Either(outline(first), outline(second))
        case _:
            return Hole()


def parse_sketch(text: str) -> Sketch:
    """Parse a sketch; `?` may be written for `...`."""
    try:
        tree = ast.parse(text.replace("?", "..."), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        column = getattr(error, "offset", None) or 1
        raise _error(text, column, "this is not a sketch") from None
    return _read(tree.body, text)


def _read(node: ast.expr, text: str) -> Sketch:
    match node:
        case ast.Constant(value=value) if value is ...:
            return Hole()
        case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
            return Both(_read(left, text), _read(right, text))
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return Either(_read(left, text), _read(right, text))
        case ast.Call(func=ast.Name(id="contains"), args=[inner], keywords=[]):
            return Contains(_read(inner, text))
        case ast.Call(func=ast.Name() | ast.Subscript() as function, args=[inner], keywords=[]):
            name, size = _read_pattern(function, text)
            return Applied(name, size, _read(inner, text))
        case ast.Name() | ast.Subscript():
            return Applied(*_read_pattern(node, text), None)
        case _:
            raise _error(text, node.col_offset + 1, "expected a pattern, contains(...) or ...")


def _read_pattern(node: ast.Name | ast.Subscript, text: str) -> tuple[str, Nat | None]:
    size = None
    name = node
    if isinstance(node, ast.Subscript):
        name = node.value
        try:
            size = parse_nat(ast.unparse(node.slice).replace("//", "floordiv"))
        except NatError as error:
            raise _error(text, node.slice.col_offset + 1, str(error)) from None
    if not isinstance(name, ast.Name):
        raise _error(text, node.col_offset + 1, "expected the name of a pattern")
    if name.id not in PATTERNS:
        hint = closest_name(name.id, PATTERNS)
        suggestion = f"; did you mean {hint}?" if hint else ""
        raise _error(text, node.col_offset + 1, f"there is no pattern {name.id}{suggestion}")
    return name.id, size


def _error(text: str, column: int, message: str) -> UserError:
    # Each `?` before the column was read as three characters.
    shown, position = 0, 0
    while shown < len(text) and position < column - 1:
        position += 3 if text[shown] == "?" else 1
        shown += 1
    return UserError(message, SourceLocation("<sketch>", 1, shown + 1, text=text))
