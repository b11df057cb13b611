"""Forks wait for the compiler, and the child starts with nothing of other threads."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from riselang.native.workers import worker_pool
from riselang.support import forking, garbage_collection, recursion
from riselang.support.forking import hold_forks
from riselang.support.garbage_collection import infrequent_gc
from riselang.support.lazy import cached_property
from riselang.support.recursion import with_deep_stack

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
LONG = 60.0


@pytest.fixture(autouse=True)
def no_warnings() -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        import warnings

        patch.setattr(warnings, "filters", [("ignore", None, DeprecationWarning, None, 0)])
        yield


def answer_of_child(work: Callable[[], bool]) -> bool:
    """Whether a child that is forked here says yes, in time."""
    child = os.fork()
    if child == 0:
        result = 1
        try:
            result = 0 if work() else 2
        finally:
            os._exit(result)
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status == 0
        time.sleep(0.005)
    os.kill(child, 9)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")


class Inside:
    """A thread in a section, until it may leave."""

    def __init__(self, within: Any = None) -> None:
        self.entered, self.leaves = threading.Event(), threading.Event()
        self.left_at = 0.0
        self.within = within or hold_forks()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        assert self.entered.wait(LONG)

    def _run(self) -> None:
        with self.within:
            self.entered.set()
            self.leaves.wait(LONG)
            self.left_at = time.monotonic()

    def leave_soon(self) -> None:
        threading.Timer(0.2, self.leaves.set).start()


def enters() -> bool:
    with hold_forks():
        return True


def test_a_fork_waits_for_a_section_of_another_thread() -> None:
    other = Inside()
    other.leave_soon()
    assert answer_of_child(lambda: other.left_at > 0 and enters())
    other.thread.join()


def test_a_thread_may_fork_in_a_section_of_its_own() -> None:
    with hold_forks():
        assert answer_of_child(enters)
        with hold_forks():
            assert answer_of_child(enters)
    assert answer_of_child(lambda: not forking._SECTIONS.depths)


def test_threads_without_a_pause_do_not_keep_a_fork_from_happening() -> None:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            with hold_forks():
                time.sleep(0.01)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for each in threads:
        each.start()
    try:
        for _ in range(5):
            assert answer_of_child(enters)
    finally:
        stop.set()
        for each in threads:
            each.join()


def test_a_fork_goes_ahead_where_the_section_waits_for_the_thread_that_forks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forking, "LONGEST_WAIT", 0.1)
    other = Inside()
    assert answer_of_child(lambda: not forking._SECTIONS.depths and enters())
    other.leaves.set()
    other.thread.join()


def test_a_section_may_log_while_a_fork_waits() -> None:
    """The locks of logging are taken for a fork after it has waited."""
    script = """
import os, threading, time
from riselang.support.forking import hold_forks, import_logging
def work():
    with hold_forks():
        logging = import_logging()
        entered.set()
        time.sleep(0.3)
        logging.getLogger("some.name").warning("logged")
entered = threading.Event()
thread = threading.Thread(target=work)
thread.start()
entered.wait()
if (child := os.fork()) == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
thread.join()
"""
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=True)
    assert "logged" in done.stderr


def test_a_child_has_what_its_thread_asked_for_and_no_more() -> None:
    threshold, limit = gc.get_threshold(), sys.getrecursionlimit()
    others = [Inside(recursion._limit), Inside(infrequent_gc())]
    try:
        assert sys.getrecursionlimit() > limit
        assert answer_of_child(
            lambda: (gc.get_threshold(), sys.getrecursionlimit()) == (threshold, limit)
        )
        with infrequent_gc():
            assert answer_of_child(
                lambda: (
                    len(garbage_collection._compiling_threads) == 1
                    and gc.get_threshold() == garbage_collection.INFREQUENT_THRESHOLDS
                )
            )
    finally:
        for other in others:
            other.leaves.set()
            other.thread.join()
    assert (gc.get_threshold(), sys.getrecursionlimit()) == (threshold, limit)


@pytest.mark.parametrize(
    "lock",
    [
        lambda: recursion._stack_size_lock,
        lambda: recursion._limit._lock,
        lambda: garbage_collection._lock,
    ],
)
def test_a_lock_that_is_held_for_a_moment_is_free_in_the_child(lock: Callable[[], Any]) -> None:
    other = Inside(lock())

    def works() -> bool:
        with infrequent_gc():
            return with_deep_stack(lambda: True)()

    try:
        assert answer_of_child(works)
    finally:
        other.leaves.set()
        other.thread.join()


def test_a_deep_call_in_a_section_does_not_wait_for_a_fork_that_waits_for_it() -> None:
    """The thread of the deep call is in the section of the one it works for."""
    entered, forked = threading.Event(), threading.Event()

    @with_deep_stack
    def inner() -> bool:
        entered.set()
        time.sleep(0.3)  # by now the other thread waits to fork
        with hold_forks():
            return True

    def fork() -> None:
        entered.wait()
        assert answer_of_child(lambda: True)
        forked.set()

    thread = threading.Thread(target=fork)
    thread.start()
    with hold_forks():
        assert inner()
    thread.join(LONG)
    assert forked.is_set()


def test_a_child_leaves_the_workers_of_its_parent_alone() -> None:
    worker_pool.start_workers(1)
    try:
        assert answer_of_child(lambda: not worker_pool._idle_workers)
        assert worker_pool._idle_workers[0].poll() is None
    finally:
        while worker_pool._idle_workers:
            process = worker_pool._idle_workers.pop()
            process.kill()
            process.communicate()


class Counted:
    def __init__(self) -> None:
        self.count = 0

    @cached_property
    def value(self) -> object:
        """Documented."""
        self.count += 1
        time.sleep(0.05)
        return object()


def test_an_attribute_is_computed_once_and_the_same_for_all_threads() -> None:
    one = Counted()
    assert one.value is one.value
    assert one.count == 1
    assert Counted.value.__doc__ == "Documented."
    many, found = Counted(), list[object]()
    threads = [threading.Thread(target=lambda: found.append(many.value)) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len({id(each) for each in found}) == 1


def test_attributes_of_different_objects_are_computed_at_the_same_time() -> None:
    """With one lock for all objects, the first would wait for the second, which waits for it."""
    meeting = threading.Barrier(2, timeout=LONG)

    class Meeting:
        @cached_property
        def value(self) -> int:
            meeting.wait()
            return 1

    pair = [Meeting(), Meeting()]
    other = threading.Thread(target=lambda: pair[0].value)
    other.start()
    assert pair[1].value == 1
    other.join()


def test_no_attribute_has_a_lock_of_its_own() -> None:
    package = Path(forking.__file__).parent
    users = [
        path.name
        for path in package.rglob("*.py")
        if re.search(r"^from functools import .*cached_property", path.read_text(), re.MULTILINE)
    ]
    assert not users, "riselang.support.lazy has one without"
