"""How our commands end: errors to standard error, and the exit code that fits."""

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
    """Run a command and leave the process with its exit code; no traceback for user mistakes."""
    try:
        with _repeating_dropped_interruptions():
            action()
    except RiseError as error:
        print(error, file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except MemoryError as error:
        print(LimitationError(f"there is not enough memory: {error}"), file=sys.stderr)
        raise SystemExit(FAILED) from None
    except BrokenPipeError:
        # The reader of our output has gone; nothing is left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(OK) from None
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        _code.append(INTERRUPTED)
        raise SystemExit(INTERRUPTED) from None
    except Exception as error:  # a defect, of any kind: this is the last place to report it
        if DEBUG.value():
            raise
        problem = f"{type(error).__name__}: {error}"
        print(
            InternalError(problem, None, f"set {DEBUG.variable}=1 for a traceback"), file=sys.stderr
        )
        raise SystemExit(INTERNAL) from None


@contextmanager
def _repeating_dropped_interruptions() -> Generator[None]:
    """Let Ctrl-C end a command that is in the callback of a weak reference, too.

    Python drops what is raised there, and tells `sys.unraisablehook`. Many terms are freed at once,
    so that happens. The alarm comes after the callback, or it would be dropped again.
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

    before = signal.signal(signal.SIGALRM, interrupt)
    sys.unraisablehook = repeat
    try:
        yield
    finally:
        sys.unraisablehook = report
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


_code: list[int] = []
"""What an interrupted process ends with."""


@atexit.register
def _end_by_code() -> None:
    """Python ends itself by the signal where that went through an `exec`, as in an import.

    So the process is ended here, after all else that waits for its end: what is registered first
    comes last.
    """
    if _code:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(_code[0])
