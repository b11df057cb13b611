"""The heads of for loops: their parts, and loops over the elements of an array in C++."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from riselang.frontends.c.parse.c_types import INT, LONG
from riselang.frontends.c.parse.clang import Cursor, ParsedFile, children, kind_name
from riselang.frontends.c.parse.containers import SIZE_TYPE, container_data, container_size
from riselang.frontends.c.parse.declarations import is_dereferenced, is_reference
from riselang.frontends.c.parse.expressions import ExpressionReader
from riselang.frontends.c.parse.lvalues import index_array
from riselang.frontends.c.parse.syntax import (
    Access,
    ArrayValue,
    Binary,
    Block,
    Declare,
    Expression,
    For,
    Literal,
    Statement,
    Variable,
)
from riselang.frontends.c.parse.typed_nodes import convert_to
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct

Parts = tuple[Cursor | None, Cursor | None, Cursor | None, Cursor]
"""The start, condition, update and body of a loop."""


def loop_parts(parsed: ParsedFile, cursor: Cursor) -> Parts:
    """Return the parts of a for loop. Clang omits missing ones, and does not say which, so they are
    told apart by the semicolons between them."""
    *parts, body = children(cursor)
    if len(parts) == 3:
        return parts[0], parts[1], parts[2], body
    ends = _semicolons(cursor)
    if len(ends) != 2:
        raise UnsupportedConstruct(
            parsed.location_of(cursor),
            "the loop lacks an initialization, a condition or an update, in a macro",
            "write for (i = first; i < end; i += step)",
        )
    found: list[Cursor | None] = [None, None, None]
    for part in parts:
        # A declaration ends with its semicolon.
        begin = part.extent.start.offset
        found[sum(begin > end for end in ends)] = part
    return found[0], found[1], found[2], body


def _semicolons(cursor: Cursor) -> list[int]:
    """Return the offsets of the semicolons in the head of a loop."""
    depth, ends = 0, list[int]()
    for token in cursor.get_tokens():
        text = token.spelling
        depth += (text in ("(", "{", "[")) - (text in (")", "}", "]"))
        if text == ")" and depth == 0:
            break
        if text == ";" and depth == 1:
            ends.append(token.location.offset)
    return ends


def read_range_loop(
    cursor: Cursor, expressions: ExpressionReader, read_statement: Callable[[Cursor], Statement]
) -> Statement:
    """Read `for (double &x : a)` as a loop over the indices of an array."""
    location = expressions.location_of(cursor)
    declared, given, *rest = children(cursor)
    if len(rest) != 1 or kind_name(declared) != "VAR_DECL":
        raise UnsupportedConstruct(
            location, "this loop over a range cannot be modeled", "write a loop over the indices"
        )
    array, length = _elements(given, expressions)
    type = length.type if length.type == SIZE_TYPE else LONG
    counter = Variable("index", type, location)
    index = Access(location, type, counter, ())
    variable = expressions.find_variable(declared)
    element = index_array(array, index, location)
    body: list[Statement] = []
    if is_reference(declared.type):
        _bind_reference(variable, declared, element, expressions)
    else:
        value = expressions.check_subscript_count(element, cursor)
        body.append(Declare(location, variable, convert_to(value, variable.type)))
    body.append(read_statement(rest[0]))
    condition = Binary(location, INT, "<", index, convert_to(length, type))
    start = Literal(location, type, 0)
    return For(location, counter, True, start, condition, 1, Block(location, tuple(body)))


def _elements(cursor: Cursor, expressions: ExpressionReader) -> tuple[ArrayValue, Expression]:
    """Return an array, or that of a container, and its length."""
    location = expressions.location_of(cursor)
    if cursor.type.get_canonical().kind.name == "RECORD":
        container = expressions.read_container(cursor)
        return container_data(container, location), container_size(container, location)
    array = expressions.read_lvalue(cursor)
    array = replace(array, indices=tuple(map(expressions.fix_value, array.indices)))
    if len(array.indices) < len(array.variable.extents) and array.offset is None:
        length = array.variable.extents[len(array.indices)]
        if length is not None:
            return array, length
    raise UnsupportedConstruct(
        location, "the length of this range is not known", "write a loop over the indices"
    )


def _bind_reference(
    variable: Variable, declared: Cursor, element: ArrayValue, expressions: ExpressionReader
) -> None:
    """Let a reference stand for an element whose index does not change."""
    if not is_dereferenced(declared.type):
        # It is another name of a row.
        expressions.pointers[variable] = element
        return
    *outer, last = element.indices
    is_element = len(element.indices) == len(element.variable.extents)
    if not is_element or element.type != variable.type:
        raise UnsupportedConstruct(
            variable.location, f"{variable.name} is not bound to an element of an array",
            "write a loop over the indices",
        )  # fmt: skip
    expressions.pointers[variable] = ArrayValue(
        element.location, element.type, element.variable, tuple(outer), last
    )
