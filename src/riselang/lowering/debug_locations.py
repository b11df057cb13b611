"""Completes locations for line tables: every op gets one, in a file that a debugger finds."""

from __future__ import annotations

import os

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, ModuleOp, NameLoc
from xdsl.ir import Operation

from riselang.dialects.location_attributes import file_location
from riselang.dialects.module import functions, walk

UNKNOWN_FILE = "<unknown>"


def complete_locations(module: ModuleOp) -> None:
    """Give every op of a lowered module a file location, in place.

    An op without a location gets that of its parent; a function, that of the first op in it that
    has one. Without any, the line is 0, which means "no source line" in line tables.
    """
    source_locations = {function: _first_location(function) for function in functions(module)}
    known = next(
        (
            source_location
            for source_location in source_locations.values()
            if source_location is not None
        ),
        None,
    )
    file = known.filename.data if known is not None else UNKNOWN_FILE
    module.location = file_location(file, 0, 0)
    for function, source_location in source_locations.items():
        function.location = source_location or module.location
        for op in walk(function):
            parent = op.parent_op()
            if op is not function and parent is not None:
                op.location = _as_file_location(op.location) or parent.location


def _first_location(function: Operation) -> FileLineColLoc | None:
    """Return the location of the function, or else of the first op in it that has one."""
    source_locations = (_as_file_location(op.location) for op in walk(function))
    return next(
        (source_location for source_location in source_locations if source_location is not None),
        None,
    )


def _as_file_location(location: LocationAttr) -> FileLineColLoc | None:
    source_location = location.location if isinstance(location, NameLoc) else location
    if not isinstance(source_location, FileLineColLoc):
        return None
    return file_location(
        _absolute_path(source_location.filename.data),
        source_location.line.data,
        source_location.column.data,
    )


def _absolute_path(file: str) -> str:
    """Return the absolute path of a file; names such as `<text>` are not files."""
    return file if file.startswith("<") else os.path.abspath(file)
