"""Where ops come from: what lowering makes is located at the pattern that it is made for."""

from __future__ import annotations

from functools import lru_cache

from xdsl.builder import Builder
from xdsl.dialects.builtin import LocationAttr, NameLoc, StringAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from riselang.dialects.locations import NOWHERE, file_location
from riselang.term.nodes import Pattern


def origin_of(pattern: Pattern) -> NameLoc:
    """The name of the pattern, and where it was written if that is known."""
    place = pattern.location
    if place is None:
        return _origin(pattern.spec.name, None, 0, 0)
    return _origin(pattern.spec.name, place.file, place.line, place.column)


@lru_cache(maxsize=4096)
def _origin(name: str, file: str | None, line: int, column: int) -> NameLoc:
    """Kept, since patterns are met several times, and attributes take long to make."""
    location = NOWHERE if file is None else file_location(file, line, column)
    return NameLoc(StringAttr(name), location)


def builder_at(point: InsertPoint, origin: LocationAttr = NOWHERE) -> Builder:
    """A builder whose ops come from one place, unless they say another."""
    builder = Builder(point)
    if origin is not NOWHERE:
        builder.operation_insertion_handler.append(lambda op: locate(op, origin))
    return builder


def builder_like(builder: Builder, point: InsertPoint) -> Builder:
    """A builder at another point, whose ops come from the same place."""
    other = Builder(point)
    other.extend_from_listener(builder)
    return other


def locate(op: Operation, origin: LocationAttr) -> None:
    if isinstance(op.location, UnknownLoc):
        op.location = origin
