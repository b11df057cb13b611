"""The stack of what recurses over programs."""

from __future__ import annotations

import contextvars
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from riselang.support.errors import LimitationError
from riselang.support.recursion import MAX_CALL_DEPTH, has_deep_stack, with_deep_stack

pytestmark = pytest.mark.rotating(6)

DEEP = 20_000


def directly(levels: int) -> int:
    return 1 + directly(levels - 1) if levels else 0


def by_a_generator(levels: int) -> int:
    return 1 + sum(by_a_generator(levels - 1) for _ in range(1)) if levels else 0


def by_a_key(levels: int) -> int:
    return 1 + min([0], key=lambda _: by_a_key(levels - 1)) if levels else 0


@cache
def by_a_cache(levels: int) -> int:
    return 1 + by_a_cache(levels - 1) if levels else 0


@pytest.mark.sampled(1)
@pytest.mark.parametrize("function", [directly, by_a_generator, by_a_key, by_a_cache])
def test_a_recursion_may_be_deep_however_it_is_made(function: Any) -> None:
    """Python 3.12 and later count the calls that go through C; see Note [Two stacks]."""
    is_counted = function is not directly and sys.version_info >= (3, 12)
    levels = 1000 if is_counted else DEEP
    assert with_deep_stack(function)(levels) in (levels, 1)


def test_a_recursion_without_end_is_a_limitation() -> None:
    with pytest.raises(LimitationError, match="nests too deeply"):
        with_deep_stack(directly)(2 * MAX_CALL_DEPTH)


def test_what_a_deep_function_calls_stays_on_its_stack() -> None:
    @with_deep_stack
    def outer() -> tuple[bool, int, int]:
        return has_deep_stack(), threading.get_ident(), inner()

    @with_deep_stack
    def inner() -> int:
        return threading.get_ident()

    entered, own, called = outer()
    assert entered
    assert not has_deep_stack()
    assert own == called != threading.get_ident()


def test_the_limit_on_calls_is_put_back() -> None:
    before = sys.getrecursionlimit()
    assert with_deep_stack(sys.getrecursionlimit)() >= MAX_CALL_DEPTH
    assert sys.getrecursionlimit() == before


def test_errors_and_context_variables_come_through() -> None:
    variable = contextvars.ContextVar("variable", default="outside")
    variable.set("set by the caller")
    assert with_deep_stack(variable.get)() == "set by the caller"
    with pytest.raises(KeyError, match="missing"):
        with_deep_stack(dict[str, int]().__getitem__)("missing")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let SIGINT raise, also where it is ignored (in the background) or was caught by a library."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)


@pytest.mark.usefixtures("interruptible")
def test_who_waits_may_be_interrupted() -> None:
    ended = threading.Event()

    @with_deep_stack
    def endless() -> None:
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            while True:
                ended.wait(0.01)
        finally:
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        endless()
    assert ended.is_set()


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_that_python_drops_is_repeated(capfd: pytest.CaptureFixture[str]) -> None:
    """It is dropped in the callback of a weak reference, as interned terms have them."""
    hook = sys.unraisablehook
    moments: list[str] = []

    class Referred:
        pass

    def wait_here(_: object) -> None:
        moments.append("callback")
        until = time.monotonic() + 1
        while time.monotonic() < until:
            pass

    @with_deep_stack
    def endless() -> None:
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        value = Referred()
        reference = weakref.ref(value, wait_here)
        del value
        until = time.monotonic() + 10
        while time.monotonic() < until:
            assert reference() is None
        moments.append("not interrupted")

    with pytest.raises(KeyboardInterrupt):
        endless()
    assert moments == ["callback"]
    assert sys.unraisablehook is hook
    assert capfd.readouterr().err == ""
