"""While something is compiled, garbage is collected rarely; afterwards as before."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from riselang.support import garbage_collection
from riselang.support.garbage_collection import INFREQUENT_THRESHOLDS, infrequent_gc

UNFROZEN = pytest.mark.skipif(
    gc.get_freeze_count() > 0, reason="something else has frozen objects in this process"
)


class Cycle:
    """An object that only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


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


def young_objects() -> int:
    return len(gc.get_objects(generation=0)) + len(gc.get_objects(generation=1))


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> garbage_collection._OldGeneration:
    generation = garbage_collection._OldGeneration()
    monkeypatch.setattr(garbage_collection, "_old_generation", generation)
    return generation


@pytest.mark.rotating(3)
@UNFROZEN
def test_objects_of_a_compilation_are_moved_and_garbage_is_freed_later(
    moved: garbage_collection._OldGeneration,
) -> None:
    with infrequent_gc():
        cycles = [Cycle() for _ in range(5000)]
        references = [weakref.ref(cycle) for cycle in cycles]
        del cycles
    assert young_objects() < 1000
    assert moved.moved_objects >= 5000
    gc.collect()
    assert not any(reference() for reference in references)


@pytest.mark.rotating(3)
@UNFROZEN
def test_few_objects_are_moved_between_full_collections(
    moved: garbage_collection._OldGeneration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(garbage_collection, "MAX_MOVED_OBJECTS", 8000)
    for _ in range(3):
        with infrequent_gc():
            references = [weakref.ref(Cycle()) for _ in range(2500)]
            assert len(references) == 2500
    assert 2500 <= moved.moved_objects <= 8000
    gc.collect()
    with infrequent_gc():
        pass
    assert moved.moved_objects < 5000


@pytest.mark.rotating(3)
def test_what_the_application_has_frozen_stays_frozen(
    moved: garbage_collection._OldGeneration,
) -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with infrequent_gc():
            cycles = [Cycle() for _ in range(5000)]
        assert len(cycles) == 5000
        assert gc.get_freeze_count() >= 0.9 * frozen
        assert not moved.moved_objects
    finally:
        gc.unfreeze()
