"""Short tracebacks of user errors: the frames of the user's program, without riselang's."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, TypeVar

from riselang.support.config import DEBUG
from riselang.support.errors import InternalError, RiseError

_OWN_FILES = (str(Path(__file__).parents[1]) + os.sep, contextlib.__file__)
"""The files of this package, and of the standard library's decorators that it uses."""
Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def shorten_traceback(error: RiseError) -> RiseError:
    """Remove riselang's frames from the traceback of an error that leaves riselang.

    Internal errors keep the full traceback, and so do all errors with `RISE_DEBUG=1`.
    """
    if isinstance(error, InternalError) or DEBUG.value():
        return error
    return error.with_traceback(_without_own_frames(error.__traceback__))


def _without_own_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Return the frames of a traceback that are not riselang's."""
    frames: list[TracebackType] = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_OWN_FILES):
            frames.append(traceback)
        traceback = traceback.tb_next
    linked: TracebackType | None = None
    for frame in reversed(frames):
        linked = TracebackType(linked, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return linked


def own_frame_count() -> int:
    """Return the number of riselang's frames between the caller and the user's code."""
    frame, count = sys._getframe(1), 0  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_FILES):
        frame, count = frame.f_back, count + 1
    return count


def with_short_tracebacks(
    function: Callable[Parameters, Returned],
) -> Callable[Parameters, Returned]:
    """Shorten the tracebacks of errors; for functions that users call."""

    @wraps(function)
    def wrapper(*arguments: Parameters.args, **named: Parameters.kwargs) -> Returned:
        try:
            return function(*arguments, **named)
        except RiseError as error:
            raise shorten_traceback(error) from error.__cause__

    return wrapper
