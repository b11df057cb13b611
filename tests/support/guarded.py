"""Running compiled functions in a process of their own, between pages that must not be touched.

Each buffer ends where a protected page begins, in a second run it begins where one ends, and inputs
are read-only, so an access outside of a buffer or a store to an input ends the process. The one who
asked sees that as `Crash`, and the next request starts a new process.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import mmap
import os
import pickle
import select
import struct
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any
from unittest.mock import patch

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
PAGE = mmap.PAGESIZE
NONE, READ, WRITE = 0, mmap.PROT_READ, mmap.PROT_WRITE
SIDES = ("end", "start")
PERTURBED = {"MALLOC_PERTURB_": "165", "MALLOC_CHECK_": "3"}
"""Let the C library fill memory of the heap with garbage, and stop at a second free."""


# Guarded memory


def _system() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return library


SYSTEM = _system()


@contextlib.contextmanager
def guarded(array: Array, side: str, *, read_only: bool) -> Generator[Array]:
    """A copy of `array` whose `side` ("start" or "end") touches a protected page."""
    inside = max(1, -(-array.nbytes // PAGE)) * PAGE
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    base = SYSTEM.mmap(None, inside + 2 * PAGE, NONE, flags, -1, 0)
    if base in (None, ctypes.c_void_p(-1).value):
        raise MemoryError("mmap failed")
    _protect(base + PAGE, inside, READ | WRITE)
    start = base + PAGE + (inside - array.nbytes if side == "end" else 0)
    memory: Any = (ctypes.c_char * array.nbytes).from_address(start)
    copy: Array = np.ndarray(array.shape, array.dtype, memory)
    copy[...] = array
    if read_only:
        _protect(base + PAGE, inside, READ)
    try:
        yield copy
    finally:
        SYSTEM.munmap(base, inside + 2 * PAGE)


def _protect(address: int, size: int, protection: int) -> None:
    if SYSTEM.mprotect(address, size, protection) != 0:
        raise MemoryError("mprotect failed")


# What goes between the processes


@dataclass(frozen=True)
class Call:
    """A function of the module, buffers for its results with their first contents, and inputs."""

    name: str
    outputs: Sequence[Array]
    inputs: Sequence[Array]


@dataclass(frozen=True)
class Request:
    """A module in text form, the loop dialect, and calls to make."""

    text: str
    loops: str
    calls: Sequence[Call]
    memory: str = "stack"
    """Where small temporaries live: "stack" as usual, or "heap" as if they were large."""
    permission: str = "strict"
    """What floats may do."""


class Crash(Exception):
    """The process that ran compiled code ended."""


class Hang(Exception):
    """The process that runs compiled code took longer than `Runner.limit`."""


class Refused(Exception):
    """Compiling or calling raised an exception."""


Results = list[list[list[Array]]]
"""For each call and each side, the results."""


def _send(stream: IO[bytes], message: Any) -> None:
    data = pickle.dumps(message)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def _receive(stream: IO[bytes]) -> Any:
    header = stream.read(8)
    if len(header) < 8:
        raise EOFError
    return pickle.loads(stream.read(struct.unpack("<Q", header)[0]))


# The process that runs


def compile_and_call(request: Request) -> Results:
    from riselang.compiler.compilation import Compilation
    from riselang.dialects.module import parse_module, verify_module
    from riselang.lowering import temporaries
    from riselang.support.config import Options

    module = parse_module(request.text)
    verify_module(module)
    limit = temporaries.STACK_LIMIT if request.memory == "stack" else -1
    with patch.object(temporaries, "STACK_LIMIT", limit):
        functions = Compilation(module, Options(request.loops, request.permission)).functions
    return [[_call(functions[call.name], call, side) for side in SIDES] for call in request.calls]


def _call(function: Any, call: Call, side: str) -> list[Array]:
    with contextlib.ExitStack() as stack:
        outputs = [stack.enter_context(guarded(x, side, read_only=False)) for x in call.outputs]
        inputs = [stack.enter_context(guarded(x, side, read_only=True)) for x in call.inputs]
        function(*outputs, *inputs)
        return [output.copy() for output in outputs]


def serve() -> None:
    """Answer requests from standard input until it ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            request = _receive(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer: Any = compile_and_call(request)
        except Exception as error:
            import traceback

            answer = "".join(traceback.format_exception(error))
        _send(answers, answer)


# The process that asks


@dataclass
class Runner:
    """Compiled code in another process, which is started when needed and again after a crash."""

    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    limit: float = 120.0
    """Seconds that one request may take."""
    _process: subprocess.Popen[bytes] | None = None

    def run(self, request: Request) -> Results:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _send(process.stdin, request)
            if not select.select([process.stdout], [], [], self.limit)[0]:
                process.kill()
                raise Hang(f"no answer after {self.limit} seconds")
            answer = _receive(process.stdout)
        except Hang:
            self._process = None
            raise
        except (EOFError, BrokenPipeError):
            status = process.wait()
            self._process = None
            raise Crash(f"the process ended with status {status}") from None
        if isinstance(answer, str):
            raise Refused(answer)
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.guarded"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **PERTURBED, **self.environment, "PYTHONPATH": _python_path()},
        )
        atexit.register(self.close)
        return self._process

    def close(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()
            self._process = None


@cache
def runner(threads: int) -> Runner:
    """The process that runs programs on so many threads."""
    return Runner({"RISE_NUM_THREADS": str(threads)})


def _python_path() -> str:
    return os.pathsep.join((str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")))


if __name__ == "__main__":
    # Under its own name, so that what is unpickled here has the classes of the other process.
    from support import guarded as module

    module.serve()
