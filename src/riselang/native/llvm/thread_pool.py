"""The threads of parallel loops, with the functions of `thread_pool.ll`.

MLIR translates parallel loops to calls to an OpenMP runtime. Compiled code calls the functions of
the thread pool instead, which have the parameters of OpenMP's: the pool needs no library, and works
on every system with POSIX threads.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import sys
from collections.abc import Callable
from importlib import resources

from riselang.native.llvm import guard
from riselang.support import config

PARALLEL = "rise_parallel"
SET_COUNT = "rise_set_thread_count"
FUNCTIONS = (
    PARALLEL, "rise_dispatch_init_8u", "rise_dispatch_next_8u", "rise_global_thread_num",
    "rise_barrier", "rise_reduce", "rise_end_reduce",
)  # fmt: skip
"""The functions that compiled code calls."""
IS_SUPPORTED = os.name == "posix"
STACK_BYTES = 1 << 23
"""The size of a worker's stack, as that of the main thread on Linux."""
POLLING_NANOSECONDS = 200_000
"""How long a thread polls before it sleeps: longer than the time between two calls from Python."""
MAX_JOBS = 8
"""The number of parallel loops that share the workers at a time."""
MAX_WORKERS = (1 << 16) - 1
"""The maximum number of workers of a loop, which is a part of the state of its job."""
ONE_PLACE = 1 << 16
"""The number that one worker adds to the state of a job if it may join."""
_PAUSE = "call void @llvm.x86.sse2.pause()"
_PAUSES = {"x86_64": _PAUSE, "amd64": _PAUSE}
"""The instruction of a thread that polls, by the architecture."""
_IS_DARWIN = sys.platform == "darwin"
_CONSTANTS: dict[str, int | str] = {
    "STACK": STACK_BYTES,
    "POLLING": POLLING_NANOSECONDS,
    "CLOCK": 6 if _IS_DARWIN else 1,  # CLOCK_MONOTONIC
    "CORES": 58 if _IS_DARWIN else 84,  # _SC_NPROCESSORS_ONLN
    "SET_MASK": 3 if _IS_DARWIN else 2,  # SIG_SETMASK
    "DETACHED": 2 if _IS_DARWIN else 1,  # PTHREAD_CREATE_DETACHED
    "ALL_TAKEN": (1 << 63) - 1,
    "JOBS": MAX_JOBS,
    "MAX_WORKERS": MAX_WORKERS,
    "ONE_PLACE": ONE_PLACE,
    "ONE_JOINS": ONE_PLACE - 1,
    "OPEN": MAX_WORKERS * ONE_PLACE,
    "NOT_OPEN": ~(MAX_WORKERS * ONE_PLACE),
    "OWNED": 1 << 32,
    "PAUSE": _PAUSES.get(platform.machine().lower(), ""),
}
_GUARD_DECLARATIONS = """
declare i64 @rise_run_body(ptr, ptr, ptr)
declare void @rise_end_call(i64)
"""
_FUNCTIONS_WITHOUT_GUARD = """
define LINKAGE i64 @rise_run_body(ptr %function, ptr %number, ptr %argument) {
  call void %function(ptr %number, ptr %number, ptr %argument)
  ret i64 0
}

define LINKAGE void @rise_end_call(i64 %reason) {
  ret void
}
"""
"""The functions of `guard.ll` that the pool calls, for code that runs outside of Python."""
_FORK_CALL = re.compile(
    r"call void \(ptr, i32, ptr, \.\.\.\) @__kmpc_fork_call"
    r"\(ptr [^,]+, i32 \d+, (?P<function>ptr [^,)]+)(?:, (?P<argument>ptr [^,)]+))?\)"
)
_FORK_DECLARATION = re.compile(r"^declare .*@__kmpc_fork_call\(.*$", re.MULTILINE)
_OTHER_FUNCTION = re.compile(r"@__kmpc_(\w+)\(")


def has_threads() -> bool:
    """Whether parallel loops run in several threads, with the current settings."""
    return IS_SUPPORTED and config.num_threads() > 1


def call_pool(ir: str) -> str:
    """Return LLVM IR that calls the thread pool where it called OpenMP."""
    if "@__kmpc_" not in ir:
        return ir
    text = _FORK_CALL.sub(
        lambda call: f"call void @{PARALLEL}({call['function']}, {call['argument'] or 'ptr null'})",
        ir,
    )
    text = _FORK_DECLARATION.sub(f"declare void @{PARALLEL}(ptr, ptr)", text)
    return _OTHER_FUNCTION.sub(r"@rise_\1(", text)


def needs_pool(code: bytes) -> bool:
    """Whether machine code, or the bytes of LLVM IR, contains loops that run in parallel."""
    return PARALLEL.encode() in code


def pool_ir() -> str:
    """Return the LLVM IR of the thread pool that all code in this process shares."""
    has_guard = guard.IS_SUPPORTED
    return _pool_ir("internal", "", _GUARD_DECLARATIONS if has_guard else _FUNCTIONS_WITHOUT_GUARD)


def linked_pool_ir() -> str:
    """Return the LLVM IR of a thread pool for an object file; linked objects share one pool."""
    return _pool_ir("weak hidden", "weak hidden ", _FUNCTIONS_WITHOUT_GUARD)


def _pool_ir(linkage: str, visible: str, guard_functions: str) -> str:
    text = resources.files("riselang.native.llvm").joinpath("thread_pool.ll").read_text()
    text = (text + guard_functions).replace("LINKAGE", linkage).replace("VISIBLE ", visible)
    for name, value in _CONSTANTS.items():
        text = re.sub(rf"\b{name}\b", str(value), text)
    return text


def set_thread_count(address: Callable[[str], int]) -> None:
    """Set the number of threads to that of the current settings."""
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(address(SET_COUNT))(config.num_threads())
