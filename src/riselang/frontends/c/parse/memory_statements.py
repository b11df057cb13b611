"""Loops that set or copy elements: memset, memcpy, and initializer lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from riselang.frontends.c.parse.c_types import INT, LONG, CType
from riselang.frontends.c.parse.initializers import Path
from riselang.frontends.c.parse.lvalues import index_array
from riselang.frontends.c.parse.syntax import (
    Access,
    ArrayValue,
    Assign,
    Binary,
    Call,
    Convert,
    Expression,
    For,
    Literal,
    RecordValue,
    Statement,
    Variable,
)
from riselang.frontends.c.parse.typed_nodes import convert_to
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation

MEMORY_FUNCTIONS = ("memset", "memcpy")
MAX_LISTED_ELEMENTS = 64
"""The limit on the elements of an initializer list: each is a statement of the model."""


def expand_memory_call(call: Call) -> Statement:
    """Return the loops that set or copy the same elements."""
    if len(call.arguments) != 3:
        raise UnsupportedConstruct(call.location, f"{call.function} takes three arguments")
    target, source, size = call.arguments
    location = call.location
    if not isinstance(target, ArrayValue):
        raise UnsupportedConstruct(location, "this is not an array")
    lengths = _element_counts(target, size, location)
    counters = [Variable("element", LONG, location) for _ in lengths]
    counted = [Access(location, LONG, each, ()) for each in counters]
    if call.function == "memcpy":
        value = _element(source, counted, target, location)
    else:
        value = _repeated_byte(source, target.type, location)
    statement: Statement = Assign(location, _access(target, counted), value)
    for counter, length in zip(reversed(counters), reversed(lengths), strict=True):
        statement = _count_to(counter, length, statement)
    return statement


def initial_values(variable: Variable, values: Mapping[Path, Expression]) -> list[Statement]:
    """Return assignments of the elements in an initializer list; all others are zero."""
    location = variable.location
    values = _group_records(variable, values)
    extents = [each.value for each in variable.extents if isinstance(each, Literal)]
    if len(values) > MAX_LISTED_ELEMENTS or len(extents) < len(variable.extents):
        raise UnsupportedConstruct(
            location, f"{variable.name} has an initializer list that is too long",
            "pass the array as a parameter",
        )  # fmt: skip
    total = 1
    for extent in extents:
        total *= int(extent)
    statements: list[Statement] = []
    if len(values) < total:
        whole = ArrayValue(location, variable.type, variable, ())
        size = Literal(location, LONG, total * variable.type.bits // 8)
        zero = Literal(location, INT, 0)
        statements.append(expand_memory_call(Call(location, INT, "memset", (whole, zero, size))))
    for indices, value in values.items():
        subscripts = tuple(Literal(location, INT, int(index)) for index in indices)
        target = Access(location, variable.type, variable, subscripts)
        statements.append(Assign(value.location, target, value))
    return statements


def _group_records(
    variable: Variable, values: Mapping[Path, Expression]
) -> Mapping[Path, Expression]:
    """Return the values of elements that are structures, from those of their members."""
    if not variable.type.is_record:
        return values
    rank = len(variable.extents)
    groups: dict[Path, dict[Path, Expression]] = {}
    for path, value in values.items():
        groups.setdefault(path[:rank], {})[path[rank:]] = value
    return {
        indices: parts[()] if () in parts else RecordValue(
            variable.location, variable.type, tuple(parts), tuple(parts.values())
        )
        for indices, parts in groups.items()
    }  # fmt: skip


def _count_to(counter: Variable, length: Expression, body: Statement) -> For:
    location = body.location
    condition = Binary(location, INT, "<", Access(location, LONG, counter, ()), length)
    return For(location, counter, True, Literal(location, LONG, 0), condition, 1, body)


def _access(part: ArrayValue, indices: Sequence[Expression]) -> Access:
    for index in indices:
        part = index_array(part, index, part.location)
        part = ArrayValue(part.location, part.type, part.variable, part.indices)
    return Access(part.location, part.type, part.variable, part.indices)


def _element(
    source: Expression, indices: Sequence[Expression], target: ArrayValue, location: SourceLocation
) -> Expression:
    if not isinstance(source, ArrayValue) or source.type != target.type:
        raise UnsupportedConstruct(
            location, "this copies between arrays of different types", "copy element by element"
        )
    inner, other = (each.variable.extents[len(each.indices) :] for each in (target, source))
    if len(inner) != len(other) or inner[1:] != other[1:]:
        raise UnsupportedConstruct(
            location, "this copies between arrays of different shapes", "copy element by element"
        )
    return _access(source, indices)


def _repeated_byte(value: Expression, type: CType, location: SourceLocation) -> Expression:
    """Return an element of which every byte has a value."""
    is_zero = isinstance(value, Literal) and value.value == 0
    if is_zero and type.is_record:
        return RecordValue(location, type, (), ())
    if is_zero:
        return convert_to(Literal(location, INT, 0), type)
    if type.bits == 8 and not type.is_bool:
        return convert_to(value, type)
    raise UnsupportedConstruct(
        location, f"this sets the bytes of {type} to a value other than zero",
        "assign the elements in a loop",
    )  # fmt: skip


def _element_counts(
    part: ArrayValue, size: Expression, location: SourceLocation
) -> list[Expression]:
    """Return the lengths of the loops over a number of bytes: one loop, or one for each dimension
    if these are all elements."""
    extents = part.variable.extents[len(part.indices) :]
    count = _divide(size, part.type.bits // 8)
    if count is None or not extents:
        raise UnsupportedConstruct(
            location, "the number of bytes is not a number of elements times their size",
            "write n * sizeof(double)",
        )  # fmt: skip
    if len(extents) == 1:
        return [convert_to(count, LONG)]
    lengths = [each for each in extents if isinstance(each, Literal)]
    total = 1
    for each in lengths:
        total *= int(each.value)
    is_all = isinstance(count, Literal) and count.value == total and part.offset is None
    if len(lengths) < len(extents) or not is_all:
        raise UnsupportedConstruct(
            location, f"this accesses a part of {part.variable.name} as if it had one dimension",
            "write loops over its dimensions",
        )  # fmt: skip
    return [convert_to(each, LONG) for each in lengths]


def _divide(size: Expression, by: int) -> Expression | None:
    """Return a number of bytes divided by the size of an element; None if there is a remainder."""
    while isinstance(size, Convert) and size.type.bits >= size.operand.type.bits:
        size = size.operand
    if by == 1:
        return size
    match size:
        case Literal(value=int(value)) if value % by == 0:
            return Literal(size.location, LONG, value // by)
        case Binary(operator="*", left=left, right=right):
            for one, other in ((left, right), (right, left)):
                quotient = _divide(one, by)
                if quotient is not None:
                    return _multiply(quotient, other)
        case _:
            pass
    return None


def _multiply(left: Expression, right: Expression) -> Expression:
    while isinstance(right, Convert) and right.type.bits >= right.operand.type.bits:
        right = right.operand
    if isinstance(left, Literal) and left.value == 1:
        return right
    location = right.location
    return Binary(location, LONG, "*", convert_to(left, LONG), convert_to(right, LONG))
