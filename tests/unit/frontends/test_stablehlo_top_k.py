"""JAX's call of top k: the greatest elements in total order, the first of equal ones first."""

from typing import Any

import numpy as np
import pytest

import riselang as rl
from support.model_examples import as_list

CALL = """
func.func @main(%0: tensor<{shape}x{length}x{element}>)
    -> (tensor<{shape}x{count}x{element}>, tensor<{shape}x{count}xi32>) {{
  %1:2 = stablehlo.custom_call @mhlo.topk(%0)
    {{mhlo.attributes = {{k = {count} : i64{options}}}, mhlo.version = 1 : i64}}
    : (tensor<{shape}x{length}x{element}>)
    -> (tensor<{shape}x{count}x{element}>, tensor<{shape}x{count}xi32>)
  return %1#0, %1#1 : tensor<{shape}x{count}x{element}>, tensor<{shape}x{count}xi32>
}}
"""


def top_k(shape: str, length: int, count: int, element: str = "f32", options: str = "") -> str:
    return CALL.format(shape=shape, length=length, count=count, element=element, options=options)


def order(x: Any) -> Any:
    """Return the indices of the rows of floats in descending total order."""
    bits = x.view(f"i{x.itemsize}").astype(np.int64)
    keys = np.where(bits < 0, -(2 ** (8 * x.itemsize - 1)) - bits - 1, bits)
    return np.argsort(-keys, axis=-1, kind="stable")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("count", [1, 5, 40])
@pytest.mark.parametrize("backend", ["interpret", "compile"])
def test_the_greatest_elements_and_their_indices(count: int, backend: str) -> None:
    source = np.random.default_rng(count)
    x = source.integers(-4, 4, (2, 3, 40)).astype(np.float32) * np.float32(0.5)
    x[0, 1, ::6] = np.nan
    x[1, 0, ::3] = -0.0
    model: Any = rl.from_stablehlo(top_k("2x3", 40, count), backend=backend)
    values, indices = as_list(model(x))
    expected = order(x)[..., :count]
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(x, expected, -1))


@pytest.mark.rotating(3)
@pytest.mark.parametrize("element", ["i32", "i8"])
def test_integers(element: str) -> None:
    x = np.random.default_rng(1).integers(-100, 100, (1, 60)).astype(f"i{int(element[1:]) // 8}")
    model: Any = rl.from_stablehlo(top_k("1", 60, 7, element))
    values, indices = as_list(model(x))
    expected = np.argsort(-x.astype(np.int64), axis=-1, kind="stable")[:, :7]
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(x, expected, -1))


def test_the_least_elements_are_not_supported() -> None:
    with pytest.raises(rl.LimitationError, match="it selects the least elements"):
        rl.from_stablehlo(top_k("1", 60, 7, options=", largest = false"))
