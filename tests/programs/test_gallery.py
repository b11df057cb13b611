"""Every program of examples/gallery computes what its version in NumPy computes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "gallery"))

from harness import NAMES, SMALL_SIZES, load


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sampled(6)
def test_a_program_computes_what_numpy_computes(name: str) -> None:
    load(name).check(is_small=True)


def test_there_are_forty_programs() -> None:
    assert len(NAMES) == 40
    assert set(NAMES) == set(SMALL_SIZES)


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_a_program_of_the_page_computes_what_numpy_computes(name: str) -> None:
    load(name).check()
