"""Variables from clang's declarations: their types, and the lengths of arrays."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from riselang.frontends.c.parse.c_types import FUNCTION, INT, LONG, CType, types_by_kind
from riselang.frontends.c.parse.clang import (
    Cursor,
    children,
    class_members,
    has_base_classes,
    kind_name,
)
from riselang.frontends.c.parse.containers import (
    container_name,
    container_type,
)
from riselang.frontends.c.parse.record_types import (
    COMPLEX_DOUBLE,
    COMPLEX_FLOAT,
    Member,
    RecordType,
)
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


def value_type(type: Any, location: SourceLocation) -> CType:
    """Return the arithmetic type or the record that a clang type denotes."""
    canonical = type.get_canonical()
    if canonical.kind.name == "COMPLEX":
        return _complex_type(canonical, location)
    if canonical.kind.name == "RECORD" and not canonical.is_volatile_qualified():
        return _structure_type(canonical, location)
    return scalar_type(type, location)


def _complex_type(type: Any, location: SourceLocation) -> CType:
    found = {8: COMPLEX_FLOAT, 16: COMPLEX_DOUBLE}.get(type.get_size())
    if found is None or type.element_type.kind.name not in ("FLOAT", "DOUBLE"):
        return scalar_type(type, location)
    return found


def _structure_type(type: Any, location: SourceLocation) -> CType:
    declaration = type.get_declaration()
    if kind_name(declaration) == "UNION_DECL":
        raise UnsupportedConstruct(
            location, f"{type.spelling} is a union, whose members share memory",
            "use a structure, or one variable for each member",
        )  # fmt: skip
    if name := container_name(declaration):
        element = value_type(type.get_template_argument_type(0), location)
        return container_type(name, type, element, location)
    if has_base_classes(declaration):
        raise UnsupportedConstruct(
            location, f"{type.spelling} has base classes, whose members are not known",
            "use a structure without base classes, or pass its members",
        )  # fmt: skip
    if type.get_size() <= 0:
        raise UnsupportedConstruct(location, f"the members of {type.spelling} are not known")
    name = type.spelling.removeprefix("const ")
    return RecordType(
        name, 8 * type.get_size(), read_members=lambda: _members(type, location),
        is_constructed=any(kind_name(each) == "CONSTRUCTOR" for each in class_members(declaration)),
    )  # fmt: skip


def _members(type: Any, location: SourceLocation) -> tuple[Member, ...]:
    return tuple(_read_member(each, location) for each in type.get_fields())


def _read_member(field: Cursor, location: SourceLocation) -> Member:
    """Read a member; one that cannot be modeled matters only where it is accessed."""
    type, lengths, is_pointer = field.type.get_canonical(), list[int](), False
    offset, remainder = divmod(field.get_field_offsetof(), 8)
    try:
        if field.is_bitfield() or remainder or not field.spelling:
            what = "a bit-field" if field.spelling else "without a name"
            raise UnsupportedConstruct(location, f"{field.spelling or 'a member'} is {what}")
        while type.kind.name == "CONSTANTARRAY":
            lengths.append(type.get_array_size())
            type = type.element_type
        if type.kind.name == "POINTER" and not lengths:
            type, is_pointer = type.get_pointee(), True
        if type.kind.name in ("INCOMPLETEARRAY", "POINTER", "FUNCTIONPROTO", "FUNCTIONNOPROTO"):
            raise UnsupportedConstruct(
                location, f"a member of type {field.type.spelling} cannot be modeled"
            )
        element = value_type(type, location)
        initial = _initial_value(field, len(lengths))
        return Member(field.spelling, element, offset, tuple(lengths), is_pointer, initial=initial)
    except UnsupportedConstruct as refusal:
        return Member(field.spelling, INT, offset, refusal=refusal.message)


def _initial_value(field: Cursor, rank: int) -> Cursor | None:
    """Return the initial value of a member, which follows the lengths of an array."""
    given = [
        each for each in children(field)
        # Arguments of a template are before the name.
        if each.kind.is_expression() and each.extent.start.offset > field.location.offset
    ]  # fmt: skip
    return given[-1] if len(given) > rank else None


def make_variable(
    cursor: Cursor, location: SourceLocation, value: Callable[[Cursor], Expression]
) -> Variable:
    """Create the variable of a declaration; `value` reads the lengths of arrays."""
    type, levels = cursor.type, list[Any]()
    if is_function_pointer(type):
        is_parameter = kind_name(cursor) == "PARM_DECL"
        return Variable(cursor.spelling, FUNCTION, location, is_parameter=is_parameter)
    is_parameter = kind_name(cursor) == "PARM_DECL"
    is_pointer = is_restrict = is_named = False
    if is_reference(type):
        # It is a pointer that every use dereferences, or another name of an array.
        is_pointer, reference = True, type.get_canonical()
        type = reference.get_pointee()
        levels += [] if type.kind.name in _ARRAY_KINDS else [reference]
    while True:
        if type.kind.name in _NAMED_KINDS and type.get_canonical().kind.name in (
            *_ARRAY_KINDS,
            "POINTER",
        ):
            type, is_named = type.get_canonical(), True
        if type.kind.name in _ARRAY_KINDS:
            levels.append(type)
            type = type.element_type
        elif type.kind.name == "POINTER" and is_parameter and len(levels) == 1:
            levels.append(type)
            type = type.get_pointee()
        elif type.kind.name == "POINTER" and not levels:
            is_pointer, is_restrict = True, type.is_restrict_qualified()
            levels.append(type)
            type = type.get_pointee()
        else:
            break
    if is_function_pointer(type):
        raise UnsupportedConstruct(
            location, f"{cursor.spelling} is an array of function pointers",
            "call functions by their names, and choose them by if or switch",
        )  # fmt: skip
    if type.kind.name == "POINTER":
        raise UnsupportedConstruct(
            location,
            f"{cursor.spelling} is an array of pointers, whose rows may be anywhere in memory",
            f"declare it as an array of arrays, {cursor.spelling}[n][m]",
        )
    element = value_type(type, location)
    extents = _array_extents(cursor, levels, is_named, location, value)
    return Variable(
        cursor.spelling,
        element,
        location,
        extents,
        is_pointer=is_pointer or (is_parameter and bool(levels)),
        is_parameter=is_parameter,
        is_global=is_global(cursor),
        is_reference=is_reference(cursor.type),
        is_restrict=is_restrict or _is_restrict_parameter(cursor),
        is_constant=type.is_const_qualified(),
        steps=(None,) * len(extents),
        row_pointers=(1,) if [each.kind.name for each in levels][1:] == ["POINTER"] else (),
    )


def is_reference(type: Any) -> bool:
    """Whether a variable of this type is another name of what it is initialized with."""
    return type.get_canonical().kind.name == "LVALUEREFERENCE"


def is_dereferenced(type: Any) -> bool:
    """Whether uses of a variable of this type are those of the element that it points to."""
    return is_reference(type) and type.get_canonical().get_pointee().kind.name not in _ARRAY_KINDS


def _is_restrict_parameter(cursor: Cursor) -> bool:
    """Whether a parameter is declared like `double a[restrict n]`, which only the text of its type
    shows."""
    return re.search(r"\[[^\]]*\brestrict\b", cursor.type.spelling) is not None


def is_function_pointer(type: Any) -> bool:
    canonical = type.get_canonical()
    kinds = ("FUNCTIONPROTO", "FUNCTIONNOPROTO")
    pointee = canonical.get_pointee() if canonical.kind.name == "POINTER" else canonical
    return pointee.get_canonical().kind.name in kinds


def is_global(cursor: Cursor) -> bool:
    """Whether a variable keeps its value between calls."""
    if kind_name(cursor.semantic_parent) == "TRANSLATION_UNIT":
        return True
    is_static = kind_name(cursor) == "VAR_DECL" and cursor.storage_class.name == "STATIC"
    return is_static and not _is_constant(cursor.type)


def _is_constant(type: Any) -> bool:
    while type.kind.name in _ARRAY_KINDS:
        type = type.element_type
    return bool(type.is_const_qualified())


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
