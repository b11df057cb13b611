"""A cache of parsed laws, so that a process that uses a few dozen of them parses no text.

`law_cache.json` contains both sides of every built-in law, one law per line. A law is a list of
rows. A row is a JSON list that encodes one type or term: its kind, followed by its fields, where
parts that are types or terms are given by the indices of their own, earlier rows. The last row
contains the indices of both sides. A law that is not in the file, such as a user's or one whose
text has changed, is parsed. `make docs-tables` writes the file, and a test fails if the file is out
of date.
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

CACHE_FILE = Path(__file__).with_name("law_cache.json")
Row = list[Any]
Sides = tuple[Term, Term]


def load_sides(text: str) -> Sides | None:
    """Return the sides of the law with this text, if they are in the cache."""
    rows = _load_cache().get(text)
    return None if rows is None else _Reader().decode_sides(rows)


@cache
def _load_cache() -> dict[str, list[Row]]:
    return json.loads(CACHE_FILE.read_text())


def format_cache(laws: Iterable[tuple[str, Sides]]) -> str:
    """Format the cache file with these laws."""
    lines = {
        text: json.dumps(_Writer().encode_sides(sides), separators=(",", ":"))
        for text, sides in laws
    }
    return (
        "{\n" + ",\n".join(f"{json.dumps(text)}: {lines[text]}" for text in sorted(lines)) + "\n}\n"
    )


class _Writer:
    """Encodes each type and term as one row."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._row_indices: dict[str, int] = {}

    def encode_sides(self, sides: Sides) -> list[Row]:
        side_indices = [self.add_term(side) for side in sides]
        return [*self._rows, side_indices]

    def add_term(self, term: Term) -> int:
        """Add the row of a term, unless there is one, and return its index."""
        return self._add_row(_TERM_ENCODERS[term.__class__](self, term))

    def add_type(self, type: RiseType) -> int:
        """Add the row of a type, unless there is one, and return its index."""
        return self._add_row(_TYPE_ENCODERS[type.__class__](self, type))

    def encode_argument(self, argument: Argument) -> Row:
        if isinstance(argument, Nat):
            return ["nat", str(argument)]
        if isinstance(argument, RiseType):
            return ["type", self.add_type(argument)]
        return ["", argument]

    def _add_row(self, row: Row) -> int:
        text = json.dumps(row)
        if text not in self._row_indices:
            self._row_indices[text] = len(self._rows)
            self._rows.append(row)
        return self._row_indices[text]


_TYPE_ENCODERS: dict[type, Callable[[_Writer, Any], Row]] = {
    ScalarType: lambda writer, node: ["scalar", SCALAR_NAMES[node]],
    TypeVariable: lambda writer, node: ["variable", node.label.data],
    IdxType: lambda writer, node: ["idx", str(node.bound)],
    ArrayType: lambda writer, node: ["array", str(node.length), writer.add_type(node.element)],
    VectorType: lambda writer, node: ["vector", str(node.length), writer.add_type(node.element)],
    TupleType: lambda writer, node: [
        "pair", writer.add_type(node.first), writer.add_type(node.second)
    ],
    FunType: lambda writer, node: [
        "fun", writer.add_type(node.input), writer.add_type(node.output)
    ],
}  # fmt: skip
_TERM_ENCODERS: dict[type, Callable[[_Writer, Any], Row]] = {
    Bound: lambda writer, node: ["Bound", node.index, writer.add_type(node.type)],
    Free: lambda writer, node: ["Free", node.name, writer.add_type(node.type)],
    Literal: lambda writer, node: ["Literal", writer.add_type(node.type), node.number],
    Lambda: lambda writer, node: [
        "Lambda", node.name, writer.add_type(node.parameter), writer.add_term(node.body)
    ],
    Apply: lambda writer, node: [
        "Apply", writer.add_term(node.function), writer.add_term(node.argument)
    ],
    Pattern: lambda writer, node: [
        "Pattern", node.spec.name, [writer.encode_argument(each) for each in node.arguments],
        node.to,
    ],
    Scalar: lambda writer, node: [
        "Scalar", node.op, [writer.add_term(operand) for operand in node.operands],
        writer.add_type(node.type), node.predicate,
    ],
}  # fmt: skip


class _Reader:
    """Builds a type or term from each row; its parts have been built from earlier rows."""

    def __init__(self) -> None:
        self._decoded_rows: list[Any] = []

    def decode_sides(self, rows: Sequence[Row]) -> Sides:
        *rows, (left, right) = rows
        for kind, *parts in rows:
            self._decoded_rows.append(_DECODERS[kind](self, *parts))
        return self[left], self[right]

    def __getitem__(self, row: int) -> Any:
        return self._decoded_rows[row]

    def decode_argument(self, kind: str, value: Any) -> Argument:
        if kind == "nat":
            return _parse_nat_cached(value)
        return self[value] if kind == "type" else value


@cache
def _parse_nat_cached(text: str) -> Nat:
    return parse_nat(text)


_DECODERS: dict[str, Callable[..., Any]] = {
    "scalar": lambda reader, name: SCALARS[name],
    "variable": lambda reader, label: variable(label),
    "idx": lambda reader, bound: idx(_parse_nat_cached(bound)),
    "array": lambda reader, length, element: array(_parse_nat_cached(length), reader[element]),
    "vector": lambda reader, length, element: vector(_parse_nat_cached(length), reader[element]),
    "pair": lambda reader, first, second: pair(reader[first], reader[second]),
    "fun": lambda reader, input, output: FunType(reader[input], reader[output]),
    "Bound": lambda reader, index, type: Bound(index, reader[type]),
    "Free": lambda reader, name, type: Free(name, reader[type]),
    "Literal": lambda reader, type, number: Literal(literal(number, reader[type])),
    "Lambda": lambda reader, name, type, body: Lambda(name, reader[type], reader[body]),
    "Apply": lambda reader, function, argument: Apply(reader[function], reader[argument]),
    "Pattern": lambda reader, name, arguments, to: Pattern(
        PATTERNS[name], [reader.decode_argument(*each) for each in arguments], to
    ),
    "Scalar": lambda reader, op, operands, type, predicate: Scalar(
        op, [reader[each] for each in operands], reader[type], predicate
    ),
}
