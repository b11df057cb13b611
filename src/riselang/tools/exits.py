"""Exit codes of the commands; errors are printed to standard error."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

from riselang.support.config import DEBUG
from riselang.support.errors import InternalError, LimitationError, RiseError

OK, FAILED, USAGE, INTERNAL, INTERRUPTED = 0, 1, 2, 70, 130


def run_tool(action: Callable[[], object]) -> None:
    """Run a command and exit with its code; user errors print no traceback."""
    try:
        with _repeat_dropped_interrupts():
            action()
    except RiseError as error:
        print(error, file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except MemoryError as error:
        print(LimitationError(f"there is not enough memory: {error}"), file=sys.stderr)
        raise SystemExit(FAILED) from None
    except BrokenPipeError:
        # The reader of the output has closed the pipe; exit silently.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(OK) from None
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        _exit_code.append(INTERRUPTED)
        raise SystemExit(INTERRUPTED) from None
    except Exception as error:  # any other exception is a defect
        if DEBUG.value():
            raise
        problem = f"{type(error).__name__}: {error}"
        print(
            InternalError(problem, None, f"set {DEBUG.variable}=1 for a traceback"), file=sys.stderr
        )
        raise SystemExit(INTERNAL) from None


@contextmanager
def _repeat_dropped_interrupts() -> Generator[None]:
    """Make Ctrl-C end a command even if it arrives in a weak reference callback.

    Python drops exceptions there, and calls `sys.unraisablehook`. Freeing many terms runs many such
    callbacks. The alarm fires after the callback; otherwise its exception would be dropped, too.
    """
    report, interrupt = sys.unraisablehook, signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or interrupt is not signal.default_int_handler:
        yield
        return

    def repeat(dropped: Any) -> None:
        if dropped.exc_type is KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
        else:
            report(dropped)

    previous_handler = signal.signal(signal.SIGALRM, interrupt)
    sys.unraisablehook = repeat
    try:
        yield
    finally:
        sys.unraisablehook = report
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous_handler)


_exit_code: list[int] = []
"""The exit code of an interrupted process."""


@atexit.register
def _exit_with_code() -> None:
    """Exit with the recorded code.

    If an interrupt passes through an `exec`, as in an import, Python kills itself by the signal. So
    exit here, after all other exit handlers: the first one registered runs last.
    """
    if _exit_code:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(_exit_code[0])
