"""`rl.vmap`: functions that are mapped over an axis of their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl

A = np.arange(12, dtype=np.float32).reshape(3, 4)
B = np.arange(20, dtype=np.float32).reshape(4, 5)
CUBE = np.arange(24.0).reshape(2, 3, 4)


def dot(a: Any, b: Any) -> Any:
    return rl.zip(a, b) | rl.map(rl.mult) | rl.reduce(rl.add, 0)


@rl.jit
def total(x: rl.Array["N", rl.f32]):
    return x | rl.reduce(rl.add, 0)


matmul = rl.vmap(rl.vmap(dot, in_axes=(None, 1)), in_axes=(0, None))


def test_matrix_multiplication_from_a_dot_product() -> None:
    assert np.array_equal(matmul(A, B), A @ B)
    assert np.array_equal(rl.jit(matmul, backend="interpret")(A, B), A @ B)
    assert "transpose |> map" in rl.jit(matmul).lower(A, B).as_text("notation")


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("out", [0, 1, -1])
def test_axes(axis: int, out: int) -> None:
    identity = rl.vmap(lambda matrix: matrix, axis, out)
    assert np.array_equal(identity(CUBE), np.moveaxis(CUBE, axis, out))


def test_structures_and_jitted_functions() -> None:
    def parts(pair: Any, factor: Any) -> Any:
        return {"scaled": pair["x"] * factor, "both": (pair["row"], pair["x"] + 1)}

    x = np.ones(3, np.float32)
    result = rl.vmap(parts, in_axes=({"x": 0, "row": 0}, None))({"x": x, "row": A}, 3)
    assert result["scaled"].tolist() == [3, 3, 3]
    assert np.array_equal(result["both"][0], A)
    assert rl.vmap(total)(A).tolist() == A.sum(axis=1).tolist()
    assert rl.jit(lambda rows: rl.vmap(lambda row: dot(row, A[0]))(rows))(A).tolist() == [
        14,
        38,
        62,
    ]


WRONG = {
    "in_axes has 1 entry, but dot is called with 2 positional arguments": (dot, (0,), (A, A)),
    "the axis 2 is out of bounds for <value of type 3.4.f32>": (dot, (2, None), (A, A)),
    "no argument of dot is mapped": (dot, None, (A, A)),
    "zip, argument 2: expected 3._, but found 4.5.f32": (dot, 0, (A, B)),
    "argument x of total: expected 4.f32, but found 4.f64": (total, 0, (A.astype(float),)),
    "<lambda> returns nothing": (lambda a: None, 0, (A,)),
    "in_axes must be an axis, None, or a structure": (total, ("x",), (A,)),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_calls(message: str) -> None:
    function, axes, arguments = WRONG[message]
    with pytest.raises(rl.UserError) as raised:
        rl.vmap(function, axes)(*arguments)
    assert message in str(raised.value)
    assert "contextlib" not in str(raised.value)
