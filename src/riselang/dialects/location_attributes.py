"""Source locations as MLIR attributes."""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr, UnknownLoc

from riselang.support.errors import SourceLocation

UNKNOWN_LOCATION = UnknownLoc()


def location_attribute(location: SourceLocation | None) -> LocationAttr:
    return (
        UNKNOWN_LOCATION
        if location is None
        else file_location(location.file, location.line, location.column)
    )


@lru_cache(maxsize=4096)
def file_location(file: str, line: int, column: int) -> FileLineColLoc:
    """A location attribute; cached, since creating attributes is slow and locations repeat."""
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))
