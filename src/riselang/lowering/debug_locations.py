"""Locations as line tables need them: every op has one, in a file that a debugger finds."""

from __future__ import annotations

import os

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, ModuleOp, NameLoc
from xdsl.ir import Operation

from riselang.dialects.locations import file_location
from riselang.dialects.module import functions, walk

NO_FILE = "<unknown>"


def complete_locations(module: ModuleOp) -> None:
    """Locate every op of a lowered module, in place.

    What says no place of its own is for the op around it; a function, for what is first in it. One
    that nobody wrote is at line 0, which means so in line tables.
    """
    places = {function: _first_place(function) for function in functions(module)}
    known = next((place for place in places.values() if place is not None), None)
    file = known.filename.data if known is not None else NO_FILE
    module.location = file_location(file, 0, 0)
    for function, place in places.items():
        function.location = place or module.location
        for op in walk(function):
            parent = op.parent_op()
            if op is not function and parent is not None:
                op.location = _place(op.location) or parent.location


def _first_place(function: Operation) -> FileLineColLoc | None:
    """Where the function was written, or else the first op in it that knows its place."""
    places = (_place(op.location) for op in walk(function))
    return next((place for place in places if place is not None), None)


def _place(location: LocationAttr) -> FileLineColLoc | None:
    place = location.location if isinstance(location, NameLoc) else location
    if not isinstance(place, FileLineColLoc):
        return None
    return file_location(_absolute(place.filename.data), place.line.data, place.column.data)


def _absolute(file: str) -> str:
    """A file by its whole path; `<text>` and its like are no files."""
    return file if file.startswith("<") else os.path.abspath(file)
