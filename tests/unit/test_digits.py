"""The digit classifier of the demo."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

DIGITS = Path(__file__).parents[2] / "examples/digits"
MOST_BYTES = 1 << 20


@pytest.fixture(scope="module")
def recognize() -> ModuleType:
    found = importlib.util.spec_from_file_location("recognize", DIGITS / "recognize.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_weights_are_small_and_no_pickle() -> None:
    assert (DIGITS / "weights.npz").stat().st_size <= MOST_BYTES
    for name in ("weights.npz", "held_out.npz"):
        with np.load(DIGITS / name, allow_pickle=False) as kept:
            assert all(kept[each].size for each in kept)


@pytest.mark.rotating(3)
def test_the_demo_classifies_what_it_has_never_seen(
    recognize: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert recognize.main() >= 0.95
    shown = capsys.readouterr().out
    assert "x |> at(0_index" in shown
    assert "reduce(add, total1)" in shown
    assert "is classified as 4; its label is 4" in shown
    assert "classified 500 of 500 images" in shown
    assert "us an image; the same network in NumPy" in shown
