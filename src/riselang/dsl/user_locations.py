"""Locations in the user's code: the innermost frame outside this package."""

from __future__ import annotations

import contextlib
import dis
import linecache
import os
import re
import sys
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType

from riselang.support.errors import SourceLocation

Positions = tuple[int | None, int | None, int | None, int | None]
"""First and last line, first and last column of an instruction."""
_PIPE = (dis.opmap["BINARY_OP"], 7)
"""The operator `|`."""
MAX_DECORATOR_LINES = 20
"""How many lines after its first decorator the name of a function is searched for."""
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OWN_FILES = (_PACKAGE + os.sep, contextlib.__file__)
"""The files of this package, and of the standard library's decorators that it uses."""
_COMMANDS = os.path.join(os.path.dirname(_PACKAGE), "rise_commands.py")
"""The entry points of the commands, whose callers are not the user's code."""


def user_location() -> SourceLocation | None:
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_FILES):
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename == _COMMANDS:
        return None
    return _instruction_location(frame.f_code, frame.f_lasti)


def function_location(function: object) -> SourceLocation | None:
    """Return where the name of a function is defined, after its decorators."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    for number in range(code.co_firstlineno, code.co_firstlineno + MAX_DECORATOR_LINES):
        line = linecache.getline(code.co_filename, number)
        match = re.search(rf"def +({re.escape(code.co_name)})\b", line)
        if match:
            return SourceLocation(code.co_filename, number, match.start(1) + 1, len(match[1]))
    return SourceLocation(code.co_filename, code.co_firstlineno)


def _last_stage_positions(code: CodeType, current: int) -> Positions | None:
    """Return the positions of `f` in a multi-line `x | f`, where `x` may itself be a pipeline.

    The instruction before the operator computes `f`.
    """
    instruction = code.co_code[current : current + 2]
    if current < 2 or tuple(instruction) != _PIPE:
        return None
    return next(islice(code.co_positions(), current // 2 - 1, None), None)


@lru_cache(maxsize=4096)
def _instruction_location(code: CodeType, current: int) -> SourceLocation:
    """Return the location of an instruction; cached, because functions are traced repeatedly."""
    positions = next(islice(code.co_positions(), current // 2, None), None)
    line, end_line, column, end_column = positions or (None, None, None, None)
    if line != end_line and (stage := _last_stage_positions(code, current)) is not None:
        line, end_line, column, end_column = stage
    line = line or _instruction_line(code, current)
    if column is None:
        return SourceLocation(code.co_filename, line)
    length = end_column - column if end_column and end_line == line else 1
    return SourceLocation(code.co_filename, line, column + 1, max(1, length))


def _instruction_line(code: CodeType, current: int) -> int:
    """Return the line of an instruction that has no column information."""
    lines = (line for start, end, line in code.co_lines() if start <= current < end)
    return next(lines, None) or code.co_firstlineno
