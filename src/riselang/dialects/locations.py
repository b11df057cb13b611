"""Places in files as attributes of ops."""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr, UnknownLoc

from riselang.support.errors import SourceLocation

NOWHERE = UnknownLoc()


def location_attribute(place: SourceLocation | None) -> LocationAttr:
    return NOWHERE if place is None else file_location(place.file, place.line, place.column)


@lru_cache(maxsize=4096)
def file_location(file: str, line: int, column: int) -> FileLineColLoc:
    """Kept, since places are met several times, and attributes take long to make."""
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))
