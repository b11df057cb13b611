"""Runs third-party parsers and passes on users' modules in a worker process.

Such code may abort, or overflow its stack; this ends only the worker, and raises `Died`. A worker
is reused for the next call, and exits if none comes. It is run as a script: it needs only MLIR and
LLVM, so it does not import the whole package.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

IDLE_TIMEOUT = 120.0
"""The number of seconds that a worker waits for the next call."""
_MAX_IDLE = 2
"""The number of idle workers that are kept; others are stopped after their call."""
_MAX_ERROR_CHARS = 2000
"""The number of characters of a worker's stderr that are searched for an error."""


_P = ParamSpec("_P")
_R = TypeVar("_R")
_Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class WorkerDied(Exception):
    """The worker ended without a reply; the message is its signal or exit code."""


def call_isolated(function: Callable[_P, _R], *arguments: _P.args, **options: _P.kwargs) -> _R:
    """Call a function of `native` in a worker, and return its result or raise its error."""
    call = (function, arguments, options)
    try:
        return _run_call(_take_idle_worker() or _Worker(), call)
    except _Expired:
        return _run_call(_Worker(), call)


class _Expired(Exception):
    """The worker had exited before the call reached it."""


def _run_call(worker: _Worker, call: _Call) -> Any:
    try:
        is_error, value = worker.run_call(call)
    except (EOFError, OSError):
        raise worker.failure_reason() from None
    except BaseException:
        worker.kill()
        raise
    _release(worker)
    if is_error:
        raise value
    return value


class _Worker:
    """A process that executes calls one after the other."""

    def __init__(self) -> None:
        # A file, not a pipe, since it is not read while the worker runs.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._calls = 0
        command = [sys.executable, "-P", str(Path(__file__)), json.dumps(sys.path)]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
            )
        except OSError as error:
            from riselang.support.errors import LimitationError

            raise LimitationError(f"a worker process cannot be started: {error}") from None

    def run_call(self, call: _Call) -> tuple[bool, Any]:
        """Return whether the function failed, and its error or result."""
        from riselang.native.workers.messages import receive, send

        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # The worker shares the file position.
        self._errors.seek(0)
        self._errors.truncate()
        self._calls += 1
        send(self._process.stdin, sys.path)
        send(self._process.stdin, call)
        return receive(self._process.stdout)

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def failure_reason(self) -> Exception:
        """Return the reason for a missing reply: a crash, or an earlier exit after a timeout."""
        code = self._process.wait()
        self._errors.seek(0)
        text = self._errors.read(_MAX_ERROR_CHARS).decode(errors="replace")
        self.close()
        if code == 0 and self._calls > 1:
            return _Expired()
        messages = [line for line in text.splitlines() if "ERROR:" in line or "Assertion" in line]
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return WorkerDied(f"{how}: {messages[0].strip()}" if messages else how)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self.close()

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            # Closing flushes buffered data, which fails if the worker is gone.
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()


_idle_workers: list[_Worker] = []


def _take_idle_worker() -> _Worker | None:
    try:
        while not (worker := _idle_workers.pop()).is_alive:
            worker.close()
    except IndexError:
        return None
    return worker


def _release(worker: _Worker) -> None:
    if len(_idle_workers) < _MAX_IDLE:
        _idle_workers.append(worker)
    else:
        worker.kill()


@atexit.register
def _end_workers() -> None:
    while (worker := _take_idle_worker()) is not None:
        worker.kill()


def _close_inherited_workers() -> None:
    """Close the pipes of workers in a forked child: they belong to the parent."""
    while _idle_workers:
        _idle_workers.pop().close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited_workers)


def main() -> None:
    package = types.ModuleType("riselang")
    package.__path__ = [str(Path(__file__).parents[2])]
    sys.modules["riselang"] = package
    sys.path = json.loads(sys.argv[1])
    # Ctrl-C is handled by the parent process, which then stops this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    # Output of third-party code goes to stderr, not to the replies.
    os.dup2(2, 1)
    _serve(sys.stdin.buffer, answers)


def _serve(calls: IO[bytes], answers: IO[bytes]) -> None:
    from riselang.native.workers.messages import receive, send

    while select.select([calls], [], [], IDLE_TIMEOUT)[0]:
        try:
            # Imports use the caller's search path, which may have changed.
            sys.path = receive(calls)
            importlib.invalidate_caches()
            function, arguments, options = receive(calls)
        except EOFError:
            return
        try:
            answer = False, function(*arguments, **options)
        except Exception as error:  # any error is sent to the caller
            answer = True, _portable_error(function.__name__, error)
        send(answers, answer)


def _portable_error(function: str, error: Exception) -> Exception:
    """Return the error to send to the caller: errors of riselang unchanged."""
    from riselang.support.errors import InternalError, LimitationError

    if type(error).__module__.startswith("riselang."):
        return error
    if isinstance(error, RecursionError):
        return LimitationError("the module is nested too deeply")
    return InternalError(f"{function} failed: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
