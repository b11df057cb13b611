"""A cache of parsed laws, so that a process that uses a few dozen of them parses no text.

`law_cache.json` has both sides of every built-in law, one law per line: one row for each type and
term in it, which refers to the rows of its parts. A law that is not in the file, such as a user's
or one whose text has changed, is parsed. `make docs-tables` writes the file, and a test fails if
the file is out of date.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.attributes import literal
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.types import (
    SCALAR_NAMES,
    SCALARS,
    ArrayType,
    FunType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    TypeVariable,
    VectorType,
    array,
    idx,
    pair,
    variable,
    vector,
)
from riselang.nat import Nat, parse_nat
from riselang.term.nodes import Apply, Bound, Free, Lambda, Literal, Pattern, Scalar, Term

FILE = Path(__file__).with_name("law_cache.json")
Row = list[Any]
Sides = tuple[Term, Term]


def load_sides(text: str) -> Sides | None:
    """Return the sides of the law with this text, if they are in the cache."""
    rows = _load_cache().get(text)
    return None if rows is None else _Reader().sides(rows)


@cache
def _load_cache() -> dict[str, list[Row]]:
    return json.loads(FILE.read_text())


def format_cache(laws: Iterable[tuple[str, Sides]]) -> str:
    """Format the cache file with these laws."""
    lines = {text: json.dumps(_Writer().rows(sides), separators=(",", ":")) for text, sides in laws}
    return (
        "{\n" + ",\n".join(f"{json.dumps(text)}: {lines[text]}" for text in sorted(lines)) + "\n}\n"
    )


class _Writer:
    """Assigns one row to each type and term."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._row_numbers: dict[str, int] = {}

    def rows(self, sides: Sides) -> list[Row]:
        ends = [self.term(side) for side in sides]
        return [*self._rows, ends]

    def term(self, term: Term) -> int:
        return self._add_row(_TERM_ROWS[term.__class__](self, term))

    def type(self, type: RiseType) -> int:
        return self._add_row(_TYPE_ROWS[type.__class__](self, type))

    def argument(self, argument: Argument) -> Row:
        if isinstance(argument, Nat):
            return ["nat", str(argument)]
        return ["type", self.type(argument)] if isinstance(argument, RiseType) else ["", argument]

    def _add_row(self, row: Row) -> int:
        text = json.dumps(row)
        if text not in self._row_numbers:
            self._row_numbers[text] = len(self._rows)
            self._rows.append(row)
        return self._row_numbers[text]


_TYPE_ROWS: dict[type, Callable[[_Writer, Any], Row]] = {
    ScalarType: lambda write, of: ["scalar", SCALAR_NAMES[of]],
    TypeVariable: lambda write, of: ["variable", of.label.data],
    IdxType: lambda write, of: ["idx", str(of.bound)],
    ArrayType: lambda write, of: ["array", str(of.length), write.type(of.element)],
    VectorType: lambda write, of: ["vector", str(of.length), write.type(of.element)],
    TupleType: lambda write, of: ["pair", write.type(of.first), write.type(of.second)],
    FunType: lambda write, of: ["fun", write.type(of.input), write.type(of.output)],
}
_TERM_ROWS: dict[type, Callable[[_Writer, Any], Row]] = {
    Bound: lambda write, of: ["Bound", of.index, write.type(of.type)],
    Free: lambda write, of: ["Free", of.name, write.type(of.type)],
    Literal: lambda write, of: ["Literal", write.type(of.type), of.number],
    Lambda: lambda write, of: ["Lambda", of.name, write.type(of.parameter), write.term(of.body)],
    Apply: lambda write, of: ["Apply", write.term(of.function), write.term(of.argument)],
    Pattern: lambda write, of: [
        "Pattern", of.spec.name, [write.argument(each) for each in of.arguments], of.to
    ],
    Scalar: lambda write, of: [
        "Scalar", of.op, [write.term(each) for each in of.operands], write.type(of.type),
        of.predicate,
    ],
}  # fmt: skip


class _Reader:
    """Builds types and terms from rows, each from earlier ones."""

    def __init__(self) -> None:
        self._made: list[Any] = []

    def sides(self, rows: Sequence[Row]) -> Sides:
        *rows, (left, right) = rows
        for kind, *parts in rows:
            self._made.append(_BUILDERS[kind](self, *parts))
        return self[left], self[right]

    def __getitem__(self, row: int) -> Any:
        return self._made[row]

    def argument(self, kind: str, value: Any) -> Argument:
        if kind == "nat":
            return _nat(value)
        return self[value] if kind == "type" else value


@cache
def _nat(text: str) -> Nat:
    return parse_nat(text)


_BUILDERS: dict[str, Callable[..., Any]] = {
    "scalar": lambda read, name: SCALARS[name],
    "variable": lambda read, label: variable(label),
    "idx": lambda read, bound: idx(_nat(bound)),
    "array": lambda read, length, element: array(_nat(length), read[element]),
    "vector": lambda read, length, element: vector(_nat(length), read[element]),
    "pair": lambda read, first, second: pair(read[first], read[second]),
    "fun": lambda read, input, output: FunType(read[input], read[output]),
    "Bound": lambda read, index, type: Bound(index, read[type]),
    "Free": lambda read, name, type: Free(name, read[type]),
    "Literal": lambda read, type, number: Literal(literal(number, read[type])),
    "Lambda": lambda read, name, type, body: Lambda(name, read[type], read[body]),
    "Apply": lambda read, function, argument: Apply(read[function], read[argument]),
    "Pattern": lambda read, name, arguments, to: Pattern(
        PATTERNS[name], [read.argument(*each) for each in arguments], to
    ),
    "Scalar": lambda read, op, operands, type, predicate: Scalar(
        op, [read[each] for each in operands], read[type], predicate
    ),
}
