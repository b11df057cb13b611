"""`rl.filter` and `rl.compress`: results whose length depends on the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl

X = np.array([3, -1, 4, -1, 5, -9, 2], np.float32)


@rl.jit
def positive(x):
    return x | rl.filter(lambda a: a > 0)


@pytest.mark.parametrize("backend", ["compile", "interpret"])
def test_selected_elements_are_returned_in_order(backend: str) -> None:
    kernel = rl.jit(positive, backend=backend)
    for x in (X, -np.abs(X), np.abs(X), X[:0]):
        assert np.array_equal(kernel(x), x[x > 0])


def test_the_count_and_the_values_in_a_program() -> None:
    @rl.jit
    def parts(mask, x):
        selected = rl.compress(mask, x)
        total = selected.values | rl.reduce(rl.add, 0)
        return {"selected": selected, "count": selected.count, "total": total}

    result: Any = parts(X > 2, X)
    assert result["selected"].tolist() == [3, 4, 5]
    assert result["count"] == 3
    pairs = rl.jit(lambda x: rl.zip(x, x) | rl.filter(lambda a, b: a + b < 0))(X)
    assert [part.tolist() for part in pairs] == [[-1, -1, -9]] * 2


def test_a_mask_of_another_length_or_type() -> None:
    with pytest.raises(rl.UserError, match="the lengths"):
        rl.jit(lambda m, x: rl.compress(m, x))(X[:3] > 0, X)
    with pytest.raises(rl.UserError, match="condition of 'where'"):
        rl.jit(lambda m, x: rl.compress(m, x))(X, X)
    with pytest.raises(rl.UserError, match="compress: expected an array, but found f32"):
        rl.jit(lambda m, x: rl.compress(m, x))(X > 0, np.float32(1))


@pytest.mark.parametrize(
    "use", [lambda c: c * 2, lambda c: 2.0 * c, lambda c: c.sum(), lambda c: c > c]
)
def test_selected_elements_are_no_array(use: Any) -> None:
    program = rl.jit(lambda x: use(rl.compress(x > 1, x)))
    with pytest.raises(rl.UserError, match="a pair of selected elements and their number"):
        program(np.arange(4.0))
