"""Calls of compiled code that can end early, with the functions of `guard.ll`.

A long loop calls `rise_poll` periodically, which runs Python's signal handlers; if one raises, as
the handler of Ctrl-C does, the call ends and the exception propagates. A call also ends if there is
not enough memory for a temporary.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from importlib import resources
from typing import NoReturn

from riselang.support.errors import LimitationError
from riselang.support.machine import total_memory

POLL, POLL_PARALLEL, STOP = "rise_poll", "rise_poll_parallel", "rise_stop"
FUNCTIONS = (POLL, POLL_PARALLEL, STOP, "rise_enter", "rise_leave")
"""The functions that compiled code calls."""
POOL_FUNCTIONS = ("rise_run_body", "rise_end_call")
"""The functions that the thread pool calls."""
PYTHON_FUNCTIONS = (
    "PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyErr_Fetch",
    "PyErr_NormalizeException",
)  # fmt: skip
INTERRUPTED = 1
"""The reason for an interruption; other reasons are the bytes of a failed allocation."""
WORK_PER_CLOCK_READ = 1 << 20
"""The number of operations after which the clock is read: some hundred microseconds."""
MONOTONIC_CLOCK = 6 if sys.platform == "darwin" else 1
"""The number of the monotonic clock of `clock_gettime`."""
EMPTY_FUNCTIONS = """
define internal void @rise_poll(i64 %work) alwaysinline {
  ret void
}

define internal i1 @rise_poll_parallel(i64 %address, i64 %work) alwaysinline {
  ret i1 false
}

define internal void @rise_stop(i64 %address) alwaysinline {
  ret void
}
"""
"""Empty functions, for code that runs outside of Python."""
IS_SUPPORTED = os.name == "posix" and sys.implementation.name == "cpython"


def guard_ir() -> str:
    """Return the LLVM IR of the functions."""
    text = resources.files("riselang.native.llvm").joinpath("guard.ll").read_text()
    return text.replace("CLOCK", str(MONOTONIC_CLOCK)).replace("WORK", str(WORK_PER_CLOCK_READ))


def remove_polls(ir: str) -> str:
    """Return LLVM IR whose loops do not poll for signals."""
    lines = [line for line in ir.split("\n") if not _is_declaration(line)]
    return "\n".join([*lines, EMPTY_FUNCTIONS]) if f"@{POLL}" in ir else ir


def _is_declaration(line: str) -> bool:
    return line.startswith("declare ") and any(f"@{name}(" in line for name in FUNCTIONS)


def start_guard(address: Callable[[str], int]) -> None:
    """Initialize the functions, given their addresses."""
    prepare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64)(address("rise_start_guard"))
    assert prepare(threading.main_thread().ident or 0) == 0
    _ERROR_ADDRESS.append(address("rise_error"))


_ERROR_ADDRESS: list[int] = []
"""The address of the exception that ended a call."""


def raise_call_error(reason: int) -> NoReturn:
    """Raise the error that ended a call."""
    if reason != INTERRUPTED:
        raise LimitationError(
            f"there is not enough memory for a temporary of {reason} bytes; this machine has "
            f"{total_memory()}"
        )
    error_slots = (ctypes.py_object * 3).from_address(_ERROR_ADDRESS[0])
    error: BaseException = error_slots[1]
    # The C code owns a reference, which is released here.
    for index in range(3):
        pointer = ctypes.c_void_p.from_address(
            _ERROR_ADDRESS[0] + index * ctypes.sizeof(ctypes.c_void_p)
        )
        if pointer.value:
            ctypes.pythonapi.Py_DecRef(ctypes.py_object(error_slots[index]))
            pointer.value = None
    raise error
