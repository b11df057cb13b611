"""`rl.random`: the bits of `jax.random`, which computed the expected numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl

KEY = rl.random.key(42)


def interpreted(function: Any) -> Any:
    return rl.jit(function, backend="interpret")


def test_keys() -> None:
    np.testing.assert_array_equal(rl.random.key((7 << 32) + 5), [7, 5])
    keys = interpreted(lambda key: rl.random.split(key))(KEY)
    np.testing.assert_array_equal(keys, [[1832780943, 270669613], [64467757, 2916123636]])


def test_bits_and_floats() -> None:
    words = interpreted(lambda key: rl.random.bits(key, (2, 2)))(KEY)
    np.testing.assert_array_equal(words, [[2098992034, 2919706841], [2646866425, 2409546199]])
    floats = rl.random.uniform(KEY, (3,))
    assert floats.tolist() == [0.48870956897735596, 0.6797971725463867, 0.6162714958190918]
    normal = interpreted(lambda key: rl.random.normal(key, (3,)))(KEY)
    expected = [-0.02830461598932743, 0.4671318531036377, 0.2957029640674591]
    np.testing.assert_allclose(normal, expected, rtol=1e-6)


def test_numbers_in_mapped_functions() -> None:
    def sample(key: Any) -> Any:
        return rl.random.split(key, 3) | rl.map(lambda key: rl.random.uniform(key, (), -1.0, 1.0))

    numbers = interpreted(sample)(KEY)
    keys = interpreted(lambda key: rl.random.split(key, 3))(KEY)
    one = interpreted(lambda key: rl.random.uniform(key, (), -1.0, 1.0))(keys[1])
    assert numbers[1] == one
    assert np.all(np.abs(numbers) <= 1)


def test_a_negative_length_is_rejected() -> None:
    with pytest.raises(rl.UserError, match="must not be negative"):
        rl.random.uniform(KEY, (-1,))
