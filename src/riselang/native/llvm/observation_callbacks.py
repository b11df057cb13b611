"""The functions that compiled code calls to report the values that a program observes."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from riselang.support.observations import (
    OBSERVE_END,
    OBSERVE_FLOAT,
    OBSERVE_INTEGER,
    REPORT_FLOAT,
    current_float_recorder,
    current_recorder,
)

NUMBER, TOKEN = ctypes.c_int64, ctypes.c_int32


def _report(number: int, token: int, scalar: Any) -> int:
    recorder = current_recorder()
    if recorder is not None:
        recorder.add(scalar)
    return token


def _finish(number: int, token: int) -> int:
    recorder = current_recorder()
    if recorder is not None:
        recorder.finish_observation(number)
    return token


def _report_float(number: int, a: float, b: float, c: float, result: float) -> None:
    recorder = current_float_recorder()
    if recorder is not None:
        recorder.add(number, (a, b, c), result)


@cache
def define_observation_functions() -> tuple[Any, ...]:
    """Make the functions known to loaded code, once; they must not be collected."""
    from riselang.native import code_loading

    functions = {
        OBSERVE_FLOAT: ctypes.CFUNCTYPE(TOKEN, NUMBER, TOKEN, ctypes.c_double)(_report),
        OBSERVE_INTEGER: ctypes.CFUNCTYPE(TOKEN, NUMBER, TOKEN, ctypes.c_int64)(_report),
        OBSERVE_END: ctypes.CFUNCTYPE(TOKEN, NUMBER, TOKEN)(_finish),
        REPORT_FLOAT: ctypes.CFUNCTYPE(None, NUMBER, *[ctypes.c_double] * 4)(_report_float),
    }
    for name, function in functions.items():
        address = ctypes.cast(function, ctypes.c_void_p).value
        assert address is not None
        code_loading.add_symbol(name, address)
    return tuple(functions.values())
