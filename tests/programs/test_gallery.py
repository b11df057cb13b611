"""Every program of examples/gallery computes what its version in NumPy computes."""

from __future__ import annotations

import pytest
from harness import NAMES, SMALL_SIZES, load

from making import gallery


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sampled(2)
def test_a_program_computes_what_numpy_computes(name: str) -> None:
    load(name).check(is_small=True)


def test_there_are_forty_programs() -> None:
    assert len(NAMES) == 40
    assert set(NAMES) == set(SMALL_SIZES)


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_a_program_of_the_page_computes_what_numpy_computes(name: str) -> None:
    load(name).check()


@pytest.mark.nightly
def test_the_page_shows_the_results() -> None:
    changed = {path: data for path, data in gallery.results() if path.read_bytes() != data}
    assert not changed, f"run docs/generate.py gallery.md: {[path.name for path in changed]}"
