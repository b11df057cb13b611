"""A deep stack for functions that recurse over programs.

The depth of terms, notation and ops grows with the number of operations in a program, but Python
limits its stack to 1,000 calls. Whether a program compiles must depend neither on its depth nor on
the depth of the caller. So a recursion over programs is always entered through a function with the
decorator `with_deep_stack`. The outermost such function, with everything that it calls, runs in a
thread whose stack is large enough for `MAX_CALL_DEPTH` calls. See Note [Two stacks].
"""

from __future__ import annotations

import contextvars
import ctypes
import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar

from riselang.support.errors import LimitationError
from riselang.support.forking import after_fork_in_child

MAX_CALL_DEPTH = 1_000_000
"""The maximum depth of a recursion over a program."""
BYTES_PER_CALL = 2048
"""The C stack that a call through C uses; calls from Python to Python use none."""
MIN_STACK_BYTES = 1_000_000
"""If a thread cannot be started even with a stack smaller than this, an error is raised."""
TOO_DEEP = f"the program nests too deeply: it takes more than {MAX_CALL_DEPTH:,} nested calls"

P = ParamSpec("P")
R = TypeVar("R")


def with_deep_stack(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function on a deep stack: it, or a function that it calls, recurses over a program."""

    @wraps(function)
    def wrapper(*arguments: P.args, **kwargs: P.kwargs) -> R:
        if getattr(_thread_state, "has_deep_stack", False):
            return function(*arguments, **kwargs)
        return _DeepCall(lambda: function(*arguments, **kwargs)).run()

    return wrapper


def has_deep_stack() -> bool:
    """Return whether this thread has a deep stack."""
    return getattr(_thread_state, "has_deep_stack", False)


_thread_state = threading.local()


class _RecursionLimit:
    """Python's recursion limit, which is global: raised while any thread has a deep stack."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._original_limit = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._original_limit = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._original_limit, MAX_CALL_DEPTH))
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                sys.setrecursionlimit(self._original_limit)

    def restore(self) -> None:
        """Restore the original limit."""
        if self._users:
            sys.setrecursionlimit(self._original_limit)


_limit = _RecursionLimit()
_stack_size_lock = threading.Lock()
"""Protects the stack size of new threads, which is a setting of the entire process."""


@after_fork_in_child
def _forget_other_threads() -> None:
    global _limit, _stack_size_lock
    if not has_deep_stack():
        _limit.restore()
    _limit, _stack_size_lock = _RecursionLimit(), threading.Lock()


class _DeepCall(Generic[R]):
    """A call that runs in a new thread, with the context variables of the caller."""

    def __init__(self, action: Callable[[], R]):
        self._action = action
        self._context = contextvars.copy_context()
        self._results: list[R] = []
        self._error: BaseException | None = None
        self._end_lock = threading.Lock()

    def run(self) -> R:
        with _limit:
            self._end_lock.acquire()
            thread = _start_thread(self._run_in_thread)
            self._wait(thread)
            thread.join()
        try:
            if self._error is not None:
                raise self._error
            return self._results[0]
        finally:
            self._error = None  # its traceback references this frame

    def _run_in_thread(self) -> None:
        _thread_state.has_deep_stack = True
        try:
            self._results.append(self._context.run(self._action))
        except RecursionError:
            self._error = LimitationError(TOO_DEEP)
        except BaseException as error:
            self._error = error
        finally:
            self._end_lock.release()

    def _wait(self, thread: threading.Thread) -> None:
        """Wait until the thread ends, and forward interruptions of this thread to it."""
        interruption: BaseException | None = None
        with _Interruptions(thread) as interruptions:
            while True:
                try:
                    if self._end_lock.acquire(timeout=-1 if interruption is None else 0.05):
                        break
                    # A thread that is interrupted just before it ends may not release the lock.
                    if not interruptions.is_running():
                        break
                    interruptions.resend_if_dropped()
                except BaseException as error:
                    interruption = error
                    interruptions.send(type(error))
        self._error = self._error or interruption


class _Interruptions:
    """Exceptions that one thread raises in another.

    Python drops an exception that is raised in a weak reference callback, in `__del__` or in the
    garbage collector, and calls `sys.unraisablehook`. A dropped exception is sent again.
    """

    def __init__(self, thread: threading.Thread):
        self._thread = thread
        self._sent: type[BaseException] | None = None
        self._was_dropped = False
        self._previous_hook: Callable[[Any], object] | None = None

    def __enter__(self) -> _Interruptions:
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous_hook is not None:
            sys.unraisablehook = self._previous_hook

    def send(self, kind: type[BaseException]) -> None:
        """Raise an exception in the thread."""
        if self._previous_hook is None:
            self._previous_hook, sys.unraisablehook = sys.unraisablehook, self._handle_unraisable
        self._sent = kind
        identity = ctypes.c_ulong(self._thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(identity, ctypes.py_object(kind))

    def resend_if_dropped(self) -> None:
        """Raise the last exception in the thread again if Python dropped it."""
        if self._was_dropped and self._sent is not None:
            self._was_dropped = False
            self.send(self._sent)

    def is_running(self) -> bool:
        """Return whether the thread has not ended."""
        frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
        return self._thread.ident in frames

    def _handle_unraisable(self, dropped: Any) -> None:
        if dropped.exc_type is self._sent and threading.get_ident() == self._thread.ident:
            self._was_dropped = True
        elif self._previous_hook is not None:
            self._previous_hook(dropped)


def _start_thread(action: Callable[[], None]) -> threading.Thread:
    """Start a thread with the largest stack that the system permits."""
    size = MAX_CALL_DEPTH * BYTES_PER_CALL
    while True:
        thread = threading.Thread(target=action, name="riselang", daemon=True)
        with _stack_size_lock:
            previous_size = threading.stack_size(size)
            try:
                thread.start()
                return thread
            except RuntimeError:
                # The process has a memory limit; few programs need a stack of this size.
                if size < MIN_STACK_BYTES:
                    raise
                size //= 4
            finally:
                threading.stack_size(previous_size)


# Note [Two stacks]
#
# Since Python 3.11, a call from Python to Python uses no C stack, and only the recursion limit
# bounds the depth of such calls. A call through C (the key function of `sorted`, a generator, the
# `__eq__` of a tuple's element) does use C stack. With only the limit raised, such calls would
# overflow the stack of the caller's thread. The operating system allocates stack pages on first
# use, so a stack of 2 GB costs only what a program uses of it.
#
# Python 3.12 and 3.13 count calls through C separately, and allow only a few thousand of them,
# regardless of the stack size. So functions that recurse over the operations of a program call
# themselves directly from Python; `tests/unit/test_recursion.py` checks this.
