"""Conditions that the user promises: `#pragma rise assume(n >= 64)` and `__builtin_assume(...)`.

clang does not parse the first, so it is read as the second. Promises count if they come before all
other statements of a function, and mention only parameters that the function does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from riselang.frontends.c.parse.clang import Cursor, ParsedFile, children, kind_name
from riselang.frontends.c.parse.pragma_texts import ASSUME, pragma_lines
from riselang.frontends.c.parse.syntax import Assumption, Expression
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import UserError

_HARMLESS = ("DECL_STMT", "NULL_STMT")


def is_assumption(cursor: Cursor) -> bool:
    return kind_name(cursor) == "CALL_EXPR" and cursor.spelling == ASSUME


def read_assumptions(
    parsed: ParsedFile, body: Cursor, read: Callable[[Cursor], Expression]
) -> tuple[Assumption, ...]:
    """Return the promises at the start of a function."""
    lines = pragma_lines(parsed.text)
    found: list[Assumption] = []
    for cursor in children(body):
        if is_assumption(cursor):
            is_pragma = cursor.location.line in lines
            (condition,) = cursor.get_arguments()
            try:
                found.append(Assumption(parsed.location_of(cursor), read(condition), is_pragma))
            except UnsupportedConstruct:
                if is_pragma:
                    raise
        elif kind_name(cursor) not in _HARMLESS:
            break
    return tuple(found)


def check_pragmas(parsed: ParsedFile) -> None:
    """Report pragmas that are not at the start of a function."""
    lines = pragma_lines(parsed.text)
    if not lines:
        return
    for parents, cursor in _assumptions_in(parsed.unit.cursor):
        if cursor.location.line in lines and not _is_at_start(parents, cursor):
            raise UserError(
                "this #pragma rise assume is not at the start of a function; move it in front of "
                "all statements",
                parsed.location_of(cursor),
            )


def _is_at_start(parents: Sequence[Cursor], cursor: Cursor) -> bool:
    if [kind_name(each) for each in parents[-2:]] != ["FUNCTION_DECL", "COMPOUND_STMT"]:
        return False
    for each in children(parents[-1]):
        if each == cursor:
            return True
        if not is_assumption(each) and kind_name(each) not in _HARMLESS:
            return False
    return False


def _assumptions_in(root: Cursor) -> Iterator[tuple[tuple[Cursor, ...], Cursor]]:
    """Yield the calls that are assumptions, with the nodes around each, the innermost last."""
    stack: list[tuple[Cursor, ...]] = [(root,)]
    while stack:
        parents = stack.pop()
        for cursor in children(parents[-1]):
            if is_assumption(cursor):
                yield parents, cursor
            stack.append((*parents[-1:], cursor))
