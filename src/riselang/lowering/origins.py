"""Locations of lowered ops: each op has the location of the pattern that it implements."""

from __future__ import annotations

from functools import lru_cache

from xdsl.builder import Builder
from xdsl.dialects.builtin import LocationAttr, NameLoc, StringAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from riselang.dialects.location_attributes import UNKNOWN_LOCATION, file_location
from riselang.term.nodes import Pattern


def origin_of(pattern: Pattern) -> NameLoc:
    """Return the name of the pattern and its source location, if known, as a location."""
    location = pattern.location
    if location is None:
        return _origin(pattern.spec.name, None, 0, 0)
    return _origin(pattern.spec.name, location.file, location.line, location.column)


@lru_cache(maxsize=4096)
def _origin(name: str, file: str | None, line: int, column: int) -> NameLoc:
    """Cached, since the same patterns recur and attributes are slow to construct."""
    location = UNKNOWN_LOCATION if file is None else file_location(file, line, column)
    return NameLoc(StringAttr(name), location)


def builder_at(point: InsertPoint, origin: LocationAttr = UNKNOWN_LOCATION) -> Builder:
    """Return a builder that gives its ops the location `origin`, unless they have one."""
    builder = Builder(point)
    if origin is not UNKNOWN_LOCATION:
        builder.operation_insertion_handler.append(lambda op: locate(op, origin))
    return builder


def builder_like(builder: Builder, point: InsertPoint) -> Builder:
    """Return a builder at another point that gives its ops the same location."""
    result = Builder(point)
    result.extend_from_listener(builder)
    return result


def locate(op: Operation, origin: LocationAttr) -> None:
    if isinstance(op.location, UnknownLoc):
        op.location = origin
