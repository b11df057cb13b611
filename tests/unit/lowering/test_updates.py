"""Updates at known indices copy only what they keep, and store the new part where it belongs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl

x = np.arange(30, dtype=np.float32).reshape(5, 6)


def affine(function: Any, *arrays: Any) -> str:
    text: str = rl.jit(function, strategy="none").lower(*arrays).as_text("affine")
    return text


def test_a_part_in_two_dimensions_needs_no_buffer() -> None:
    text = affine(lambda x: x.at[1:-1, 1:-1].set(x[:-2, 1:-1] + x[2:, 1:-1]), x)
    assert "memref.alloc" not in text
    assert text.count("affine.store") == 5  # the first and last row and column, and the inner part


def test_only_other_elements_are_copied() -> None:
    text = affine(lambda x: x.at[0].set(7.0), x[0])
    assert "for %i = 0 to 6" not in text
    assert text.count("affine.store") == 2


@pytest.mark.parametrize("key", [0, -1, slice(1, 3), slice(0, 5), slice(2, None)])
def test_parts_of_computed_arrays(key: Any) -> None:
    def update(x: Any) -> Any:
        doubled = x * 2
        return doubled.at[key].set(x[key] - 1).at[0, 1:3].add(doubled[1, 1:3])

    expected = x * 2
    expected[key] = x[key] - 1
    expected[0, 1:3] += x[1, 1:3] * 2
    assert (rl.jit(update)(x) == expected).all()


def test_parts_that_read_what_they_replace() -> None:
    def step(x: Any) -> Any:
        return x.at[1:].set(x[:-1]).at[0].set(x[-1])

    result = rl.jit(lambda x: rl.iterate(3, step, x))(x)
    assert (result == np.roll(x, 3, axis=0)).all()
