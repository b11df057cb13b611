"""Variables from clang's declarations: their types, and the lengths of arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from riselang.frontends.c.parse.c_types import LONG, CType, types_by_kind
from riselang.frontends.c.parse.clang import Cursor, children, kind_name
from riselang.frontends.c.parse.syntax import Expression, Literal, Variable
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation

_ARRAY_KINDS = ("CONSTANTARRAY", "VARIABLEARRAY", "INCOMPLETEARRAY")
_NAMED_KINDS = ("ELABORATED", "TYPEDEF")


@cache
def _scalar_types(long_bits: int) -> dict[str, CType]:
    return dict(types_by_kind(long_bits))


def scalar_type(type: Any, location: SourceLocation) -> CType:
    """Return the arithmetic type that a clang type denotes."""
    canonical = type.get_canonical()
    name = canonical.kind.name
    if name == "ENUM":
        canonical = canonical.get_declaration().enum_type.get_canonical()
        name = canonical.kind.name
    if canonical.is_volatile_qualified():
        raise UnsupportedConstruct(
            location, f"{type.spelling} is volatile", "do not use volatile variables"
        )
    bits = 8 * canonical.get_size() if name in ("LONG", "ULONG") else 64
    result = _scalar_types(bits).get(name)
    if result is None:
        raise UnsupportedConstruct(
            location,
            f"a value of type {type.spelling} cannot be modeled",
            "use float, double, or an integer type of at most 64 bits",
        )
    return result


def make_variable(
    cursor: Cursor, location: SourceLocation, value: Callable[[Cursor], Expression]
) -> Variable:
    """Create the variable of a declaration; `value` reads the lengths of arrays."""
    type, levels = cursor.type, list[Any]()
    is_parameter = kind_name(cursor) == "PARM_DECL"
    is_pointer = is_restrict = is_named = False
    while True:
        if type.kind.name in _NAMED_KINDS and type.get_canonical().kind.name in (
            *_ARRAY_KINDS,
            "POINTER",
        ):
            type, is_named = type.get_canonical(), True
        if type.kind.name in _ARRAY_KINDS:
            levels.append(type)
            type = type.element_type
        elif type.kind.name == "POINTER" and not levels:
            is_pointer, is_restrict = True, type.is_restrict_qualified()
            levels.append(type)
            type = type.get_pointee()
        else:
            break
    if type.kind.name == "POINTER":
        raise UnsupportedConstruct(
            location,
            f"{cursor.spelling} is an array of pointers, whose rows may be anywhere in memory",
            f"declare it as an array of arrays, {cursor.spelling}[n][m]",
        )
    element = scalar_type(type, location)
    is_kept = cursor.storage_class.name == "STATIC" and not type.is_const_qualified()
    if is_kept and not _is_global(cursor):
        raise UnsupportedConstruct(
            location, f"{cursor.spelling} is static, so its value persists between calls",
            "pass it as a parameter",
        )  # fmt: skip
    return Variable(
        cursor.spelling,
        element,
        location,
        _array_extents(cursor, levels, is_named, location, value),
        is_pointer=is_pointer or (is_parameter and bool(levels)),
        is_parameter=is_parameter,
        is_global=_is_global(cursor),
        is_restrict=is_restrict,
        is_constant=type.is_const_qualified(),
    )


def _is_global(cursor: Cursor) -> bool:
    return kind_name(cursor.semantic_parent) == "TRANSLATION_UNIT"


def _array_extents(
    cursor: Cursor,
    levels: list[Any],
    is_named: bool,
    location: SourceLocation,
    value: Callable[[Cursor], Expression],
) -> tuple[Expression | None, ...]:
    """Return the lengths of an array, outermost first.

    Clang gives the written lengths as children of the declaration, those of inner dimensions first;
    lengths in a typedef are not among them.
    """
    lengths = [child for child in children(cursor) if child.kind.is_expression()]
    extents: list[Expression | None] = []
    for level in reversed(levels):
        name = level.kind.name
        if name == "CONSTANTARRAY":
            if not is_named and lengths:
                lengths.pop(0)
            extents.append(Literal(location, LONG, level.get_array_size()))
        elif name == "VARIABLEARRAY":
            if is_named or not lengths:
                raise UnsupportedConstruct(
                    location, f"the lengths of {cursor.spelling} are in a typedef",
                    "write the lengths where the variable is declared",
                )  # fmt: skip
            extents.append(value(lengths.pop(0)))
        else:
            extents.append(None)
    return tuple(reversed(extents))
