"""Constructors, joins and tensor contractions beside NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import riselang as rl
from support.array_programs import check_beside_numpy, jitted


def numbers(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) * 5 % 13 - 6


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "arange": lambda xp, x: (
        xp.arange(5), xp.arange(2, 9, 3), xp.arange(5, 0, -2), xp.arange(0.5, 3.0, 0.5)
    ),
    "empty ranges": lambda xp, x: (xp.arange(0), xp.arange(3, 1)),
    "constants": lambda xp, x: (x + xp.zeros(4) + xp.ones((3, 1)), x * xp.full((2, 1, 4), 7)),
    "eye": lambda xp, x: (
        xp.eye(3) @ x, xp.eye(3, 4) + x, xp.eye(3, 4, k=-1) * x, xp.eye(4, k=2) + x[0]
    ),
    "stack": lambda xp, x: (
        xp.stack([x, x + 1]), xp.stack((x, x, x), axis=1), xp.stack([x, -x], -1)
    ),
    "stack scalars": lambda xp, x: xp.stack([x[0, 1], x.sum(), x.max()]),
    "concatenate": lambda xp, x: (
        xp.concatenate([x, x[1:], -x]), xp.concatenate((x[:, :2], x), axis=-1),
        xp.concatenate([x, x], axis=None),
    ),
    "roll": lambda xp, x: (xp.roll(x, 1), xp.roll(x, -2, axis=1), xp.roll(x, (1, 5), axis=(0, 1))),
    "clip": lambda xp, x: (xp.clip(x, -2, 3), xp.clip(x, x[0], None)),
    "where": lambda xp, x: (xp.where(x > 0, x, -1), xp.where(x[0] > 0, x, x[:, :1])),
    "matmul": lambda xp, x: (
        xp.matmul(x, x.T), xp.dot(x, x[0]), xp.dot(x.reshape(3, 2, 2), x[:2, :3])
    ),
    "tensordot": lambda xp, x: (
        xp.tensordot(x, x), xp.tensordot(x, x.T, 1), xp.tensordot(x, x, ((0,), (0,))),
        xp.tensordot(x, x[0], 0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_computes_what_numpy_computes(name: str) -> None:
    x = numbers(3, 4)
    check_beside_numpy(partial(FUNCTIONS[name], rl), [x], FUNCTIONS[name](np, x))


EINSUMS = [
    ("ij,jk->ik", (3, 4), (4, 2)),
    ("ij,jk", (3, 4), (4, 2)),
    ("ij,kj->ki", (3, 4), (2, 4)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("i,j->ji", (3,), (2,)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("ijk->kj", (2, 3, 4)),
    ("ijk,ijk->", (2, 3, 4), (2, 3, 4)),
    ("ijkl,klm->imj", (2, 3, 2, 2), (2, 2, 3)),
    ("ij,i,j->ij", (2, 3), (2,), (3,)),
    (",i->i", (), (3,)),
]


@pytest.mark.parametrize("case", EINSUMS, ids=lambda case: case[0])
def test_einsum_is_that_of_numpy(case: Any) -> None:
    subscripts, *shapes = case
    arrays = [numbers(*shape) for shape in shapes]
    expected = np.einsum(subscripts, *arrays)
    check_beside_numpy(partial(rl.einsum, subscripts), arrays, expected)


PRODUCTS: list[Callable[[Any, Any], Any]] = [
    lambda A, B: rl.einsum("nk,km->nm", A, B),
    lambda A, B: rl.tensordot(A, B, 1),
    rl.matmul,
    rl.dot,
]


@pytest.mark.parametrize("function", PRODUCTS)
def test_a_contraction_of_two_matrices_is_their_product(function: Any) -> None:
    arrays = [numbers(2, 3), numbers(3, 4)]
    kernels = [jitted(each, arrays) for each in (lambda A, B: A @ B, function)]
    first, second = (kernel.trace(*arrays).term for kernel in kernels)
    assert first == second


def test_any_number_of_arrays_is_zipped() -> None:
    def program(x: Any, y: Any, z: Any) -> Any:
        return rl.zip(x, y, z, x) | rl.map(lambda a, b, c, d: a * b + c * d)

    x, y, z = numbers(5), numbers(5) + 1, numbers(5) - 2
    check_beside_numpy(program, [x, y, z], x * y + z * x)


def test_an_array_is_indexed_along_an_axis() -> None:
    x = numbers(3, 4)
    for axis in (0, 1, -1):
        order = np.argsort(x, axis=axis)
        check_beside_numpy(
            lambda x, i, axis=axis: rl.take_along(x, i, axis=axis), [x, order],
            np.take_along_axis(x, order, axis),
        )  # fmt: skip


def test_dtypes_of_numpy_are_scalar_types() -> None:
    x = np.arange(4.0)
    convert = rl.jit(
        lambda x: (x.astype(np.float32), x.astype(int), x.astype("u1"), rl.ones(2, float))
    )
    assert [each.dtype.name for each in convert(x)] == ["float32", "int64", "uint8", "float64"]
    with pytest.raises(rl.UserError, match="but found list"):
        rl.jit(lambda x: x.astype(list))(x)


def test_a_number_is_converted_exactly() -> None:
    numbers = rl.jit(lambda x: x * rl.cast(0.1, rl.f64) + rl.cast(2, rl.f64))
    assert numbers(np.ones(1)).tolist() == [1.0 * 0.1 + 2]
    assert rl.jit(lambda x: x + rl.cast(300, rl.u8))(np.zeros(1, np.uint8)).tolist() == [44]


def test_a_missing_method_names_its_function() -> None:
    with pytest.raises(AttributeError, match=r"use rl.numpy.trunc\(x\)"):
        rl.jit(lambda x: x.trunc())(np.ones(3))
