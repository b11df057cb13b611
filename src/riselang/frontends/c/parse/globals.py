"""Globals and static variables: their symbols and their initial values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from riselang.frontends.c.parse.c_types import DOUBLE, LONG, CType
from riselang.frontends.c.parse.clang import (
    Cursor,
    ParsedFile,
    children,
    evaluate_constant,
    kind_name,
)
from riselang.frontends.c.parse.initializers import InitializerReader, Path
from riselang.frontends.c.parse.record_types import RecordType
from riselang.frontends.c.parse.syntax import (
    Convert,
    Expression,
    GlobalDefinition,
    Literal,
    Variable,
)
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation

MAX_COPIED_ELEMENTS = 64
"""Constant tables of up to this length are copied to the functions that use them, so that their
elements are known there."""


def define_global(parsed: ParsedFile, cursor: Cursor, variable: Variable) -> GlobalDefinition:
    """Return the definition of a global; its initial value has to be constant."""
    is_static = cursor.storage_class.name == "STATIC"
    symbol, parent = cursor.spelling, cursor.semantic_parent
    if kind_name(parent) != "TRANSLATION_UNIT":
        symbol = f"{parent.spelling}.{symbol}"
    is_elsewhere = cursor.storage_class.name == "EXTERN" and _initializer(cursor) is None
    initial = None if is_elsewhere else _Initializer(parsed).read(cursor, variable)
    return GlobalDefinition(symbol, is_static, initial)


def count_elements(variable: Variable) -> int:
    total = 1
    for extent in variable.extents:
        total *= int(extent.value) if isinstance(extent, Literal) else 0
    return total


def _initializer(cursor: Cursor) -> Cursor | None:
    values = [each for each in children(cursor) if each.kind.is_expression()]
    lengths = 0
    type = cursor.type
    while type.kind.name == "CONSTANTARRAY":
        lengths, type = lengths + 1, type.element_type
    lists = [each for each in values if kind_name(each) in ("INIT_LIST_EXPR", "STRING_LITERAL")]
    if lists:
        return lists[-1]
    return values[-1] if values and not lengths else None


class _Initializer:
    """Reads the initial value of a variable as an array."""

    def __init__(self, parsed: ParsedFile):
        self._parsed = parsed
        self._lists = InitializerReader(
            self._read_constant, parsed.location_of, self._refuse_defaults
        )

    def _refuse_defaults(
        self, type: RecordType, location: SourceLocation, _given: Mapping[str, Expression]
    ) -> dict[str, Expression]:
        raise UnsupportedConstruct(
            location, f"members of {type} have initial values, which a global has, too",
            "name all members in the list of the global",
        )  # fmt: skip

    def read(self, cursor: Cursor, variable: Variable) -> np.ndarray[Any, Any]:
        shape = [int(each.value) if isinstance(each, Literal) else -1 for each in variable.extents]
        if -1 in shape:
            raise UnsupportedConstruct(
                variable.location, f"the length of {variable.name} is not known",
                "declare it with its length",
            )  # fmt: skip
        array = np.zeros(shape, variable.type.dtype)
        initial = _initializer(cursor)
        if initial is None:
            return array
        if kind_name(initial) == "STRING_LITERAL":
            raise UnsupportedConstruct(
                variable.location, f"{variable.name} is initialized with a string",
                "write a list of numbers",
            )  # fmt: skip
        if kind_name(initial) == "INIT_LIST_EXPR":
            values = self._lists.read_list(initial, variable.type, shape)
        else:
            values = {(): self._read_constant(initial)}
        for path, value in values.items():
            _store(array, path, _number(value), variable.type)
        return array

    def _read_constant(self, cursor: Cursor) -> Expression:
        value, location = evaluate_constant(cursor), self._parsed.location_of(cursor)
        if value is None:
            raise UnsupportedConstruct(
                location, "this initial value is not a constant", "assign it in a function"
            )
        return Literal(location, LONG if isinstance(value, int) else DOUBLE, value)


def _number(value: Expression) -> int | float:
    while isinstance(value, Convert):
        value = value.operand
    assert isinstance(value, Literal)
    return value.value


def _store(array: Any, path: Path, value: int | float, type: CType) -> None:
    for key in path[:-1]:
        array = array[key]
    dtype = array.dtype if not path else (array[path[-1]]).dtype
    converted = int(value) if np.dtype(dtype).kind in "iu" else value
    array[path[-1] if path else ()] = converted


def referenced_definition(cursor: Cursor) -> Cursor:
    """Return the declaration of a variable that defines it, if there is one."""
    if kind_name(cursor) != "VAR_DECL":
        return cursor
    return cursor.get_definition() or cursor.canonical


def mark_users(name: str, variables: Sequence[Variable]) -> None:
    """Note that a function that other files may call uses globals."""
    for variable in variables:
        definition = variable.root.definition
        if definition is not None:
            definition.users.add(name)
