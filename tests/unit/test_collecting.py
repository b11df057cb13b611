"""While something is compiled, garbage is collected rarely; afterwards as before."""

from __future__ import annotations

import gc
import threading

import pytest

from riselang.support.garbage_collection import INFREQUENT_THRESHOLDS, infrequent_gc


def test_it_is_as_before_afterwards() -> None:
    before = gc.get_threshold()
    with infrequent_gc():
        assert gc.get_threshold() == INFREQUENT_THRESHOLDS
        with infrequent_gc():
            assert gc.get_threshold() == INFREQUENT_THRESHOLDS
        assert gc.get_threshold() == INFREQUENT_THRESHOLDS
    assert gc.get_threshold() == before


def test_it_is_as_before_after_an_error() -> None:
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="a mistake"), infrequent_gc():
        raise ValueError("a mistake")
    assert gc.get_threshold() == before


def test_the_last_thread_ends_it() -> None:
    before = gc.get_threshold()
    begun, end = threading.Event(), threading.Event()

    def compile() -> None:
        with infrequent_gc():
            begun.set()
            end.wait()

    thread = threading.Thread(target=compile)
    with infrequent_gc():
        thread.start()
        begun.wait()
    assert gc.get_threshold() == INFREQUENT_THRESHOLDS
    end.set()
    thread.join()
    assert gc.get_threshold() == before


def test_one_who_collects_nothing_is_left_alone() -> None:
    gc.disable()
    try:
        with infrequent_gc():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
