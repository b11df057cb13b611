"""While something is compiled, garbage is collected rarely; afterwards as before."""

from __future__ import annotations

import gc
import threading

import pytest

from riselang.collecting import RARELY, fewer_collections


def test_it_is_as_before_afterwards() -> None:
    before = gc.get_threshold()
    with fewer_collections():
        assert gc.get_threshold() == RARELY
        with fewer_collections():
            assert gc.get_threshold() == RARELY
        assert gc.get_threshold() == RARELY
    assert gc.get_threshold() == before


def test_it_is_as_before_after_an_error() -> None:
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="a mistake"), fewer_collections():
        raise ValueError("a mistake")
    assert gc.get_threshold() == before


def test_the_last_thread_ends_it() -> None:
    before = gc.get_threshold()
    begun, end = threading.Event(), threading.Event()

    def compile() -> None:
        with fewer_collections():
            begun.set()
            end.wait()

    thread = threading.Thread(target=compile)
    with fewer_collections():
        thread.start()
        begun.wait()
    assert gc.get_threshold() == RARELY
    end.set()
    thread.join()
    assert gc.get_threshold() == before


def test_one_who_collects_nothing_is_left_alone() -> None:
    gc.disable()
    try:
        with fewer_collections():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
