"""The stack on which everything that recurses over programs runs.

Terms, notation and ops are trees that may be as deep as a program has operations, and Python's own
stack is 1,000 calls: neither how deep the caller is nor how deep a program is may decide whether it
compiles. So whatever recurses over a program is entered by a function that is marked `deep`. The
first one that is entered moves to a thread with a stack of its own, large enough for `MOST_CALLS`;
all that it calls runs there, whether it is marked or not. See Note [Two stacks].
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
from riselang.support.forking import after_in_child

MOST_CALLS = 1_000_000
"""How deep a recursion over a program may become."""
BYTES_PER_CALL = 2048
"""What a call takes of the C stack where it goes through C; others take none."""
TOO_DEEP = f"the program nests too deeply: it takes more than {MOST_CALLS:,} nested calls"

P = ParamSpec("P")
R = TypeVar("R")


def deep(function: Callable[P, R]) -> Callable[P, R]:
    """For a function that recurses over a program, or whose callees do."""

    @wraps(function)
    def entered(*arguments: P.args, **named: P.kwargs) -> R:
        if getattr(_here, "is_deep", False):
            return function(*arguments, **named)
        return _Run(lambda: function(*arguments, **named)).result()

    return entered


def is_deep() -> bool:
    """Whether this runs on a deep stack."""
    return getattr(_here, "is_deep", False)


_here = threading.local()


class _Limit:
    """Python's limit on nested calls, one for all threads, while any of them has a deep stack."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._before, MOST_CALLS))
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                sys.setrecursionlimit(self._before)

    def restore(self) -> None:
        """What was before all users."""
        if self._users:
            sys.setrecursionlimit(self._before)


_limit = _Limit()
_starting = threading.Lock()
"""The size of stacks is a setting of the whole process, too."""


@after_in_child
def _forget_other_threads() -> None:
    global _limit, _starting
    if not is_deep():
        _limit.restore()
    _limit, _starting = _Limit(), threading.Lock()


class _Run(Generic[R]):
    """One call on a thread of its own, which sees the context variables of the caller."""

    def __init__(self, action: Callable[[], R]):
        self._action = action
        self._context = contextvars.copy_context()
        self._results: list[R] = []
        self._error: BaseException | None = None
        self._ended = threading.Lock()

    def result(self) -> R:
        with _limit:
            self._ended.acquire()
            thread = _started(self._run)
            self._wait(thread)
            thread.join()
        try:
            if self._error is not None:
                raise self._error
            return self._results[0]
        finally:
            self._error = None  # which knows this frame

    def _run(self) -> None:
        _here.is_deep = True
        try:
            self._results.append(self._context.run(self._action))
        except RecursionError:
            self._error = LimitationError(TOO_DEEP)
        except BaseException as error:
            self._error = error
        finally:
            self._ended.release()

    def _wait(self, thread: threading.Thread) -> None:
        """Until it has ended. Who is interrupted here interrupts what it waits for."""
        interruption: BaseException | None = None
        with _Interruptions(thread) as interruptions:
            while True:
                try:
                    if self._ended.acquire(timeout=-1 if interruption is None else 0.05):
                        break
                    # A thread that is interrupted at its very end cannot say that it ended.
                    if not interruptions.is_running():
                        break
                    interruptions.repeat_lost()
                except BaseException as error:
                    interruption = error
                    interruptions.send(type(error))
        self._error = self._error or interruption


class _Interruptions:
    """Exceptions that one thread raises in another.

    Python drops an exception that is raised in the callback of a weak reference, in `__del__` or
    in the garbage collector, and tells `sys.unraisablehook`. One that was dropped is sent again.
    """

    def __init__(self, thread: threading.Thread):
        self._thread = thread
        self._sent: type[BaseException] | None = None
        self._is_lost = False
        self._report: Callable[[Any], object] | None = None

    def __enter__(self) -> _Interruptions:
        return self

    def __exit__(self, *_: object) -> None:
        if self._report is not None:
            sys.unraisablehook = self._report

    def send(self, kind: type[BaseException]) -> None:
        """Raise an exception in the thread."""
        if self._report is None:
            self._report, sys.unraisablehook = sys.unraisablehook, self._note
        self._sent = kind
        identity = ctypes.c_ulong(self._thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(identity, ctypes.py_object(kind))

    def repeat_lost(self) -> None:
        """Raise the last exception again if Python dropped it."""
        if self._is_lost and self._sent is not None:
            self._is_lost = False
            self.send(self._sent)

    def is_running(self) -> bool:
        """Whether the thread has not ended."""
        frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
        return self._thread.ident in frames

    def _note(self, dropped: Any) -> None:
        if dropped.exc_type is self._sent and threading.get_ident() == self._thread.ident:
            self._is_lost = True
        elif self._report is not None:
            self._report(dropped)


def _started(action: Callable[[], None]) -> threading.Thread:
    """A thread with as large a stack as the system gives."""
    size = MOST_CALLS * BYTES_PER_CALL
    while True:
        thread = threading.Thread(target=action, name="riselang", daemon=True)
        with _starting:
            before = threading.stack_size(size)
            try:
                thread.start()
                return thread
            except RuntimeError:
                # There is a limit on the memory of the process; few programs need that much.
                if size < MOST_CALLS:
                    raise
                size //= 4
            finally:
                threading.stack_size(before)


# Note [Two stacks]
#
# Since Python 3.11 a call from Python to Python takes no C stack, and Python's limit on nested
# calls is all that stands in its way. A call that goes through C (a key of `sorted`, a generator,
# `__eq__` of a tuple) does take C stack, and with a higher limit it would overflow that of the
# caller. Memory of a stack is used as it is touched, so 2 GB cost no more than a program needs.
#
# Python 3.12 and 3.13 count calls through C by themselves and allow some thousands whatever the
# stack; so walks over the operations of a program call themselves directly, which a test checks.
