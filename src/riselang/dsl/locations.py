"""The user's own line: the innermost frame outside this package."""

from __future__ import annotations

import os
import sys
from itertools import islice
from types import FrameType

from riselang.errors import SourceLocation

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def user_location() -> SourceLocation | None:
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return None if frame is None else _location(frame)


def _location(frame: FrameType) -> SourceLocation:
    code = frame.f_code
    positions = next(islice(code.co_positions(), frame.f_lasti // 2, None), None)
    line, end_line, column, end_column = positions or (frame.f_lineno, None, None, None)
    line = line or frame.f_lineno
    if column is None:
        return SourceLocation(code.co_filename, line)
    length = end_column - column if end_column and end_line == line else 1
    return SourceLocation(code.co_filename, line, column + 1, max(1, length))
