"""What `rl.numpy` builds is printed as notation that reads back to the same term."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import riselang as rl
from riselang.notation.printer import show_term
from riselang.notation.program import parse_term

rnp: Any = rl.numpy
TYPES = (rl.f32, rl.f64, rl.f16, rl.i32, rl.i8, rl.u16, rl.i1, rl.complex64)
Call = Callable[[Any, Any], Any]
CALLS: dict[str, Call] = {
    "arange": lambda x, i: rnp.arange(2, 9, 3),
    "argsort": lambda x, i: rnp.argsort(x, axis=0),
    "asarray": lambda x, i: rnp.asarray(x),
    "astype": lambda x, i: rnp.astype(x, rl.f64),
    "broadcast_arrays": lambda x, i: tuple(rnp.broadcast_arrays(x, x[0])),
    "broadcast_to": lambda x, i: rnp.broadcast_to(x, (2, 3, 4)),
    "clip": lambda x, i: rnp.clip(x, 1, 2),
    "concat": lambda x, i: rnp.concat([x, x], axis=1),
    "concatenate": lambda x, i: rnp.concatenate([x, x]),
    "diagonal": lambda x, i: rnp.diagonal(x, 1),
    "dot": lambda x, i: rnp.dot(x, x[0]),
    "einsum": lambda x, i: rnp.einsum("ij,kj->ik", x, x),
    "empty": lambda x, i: rnp.empty((2,), rl.f32),
    "expand_dims": lambda x, i: rnp.expand_dims(x, 1),
    "eye": lambda x, i: rnp.eye(3, 4, k=1, dtype=rl.f32),
    "flip": lambda x, i: rnp.flip(x, 1),
    "full": lambda x, i: rnp.full((2, 3), 2, dtype=rl.f64),
    "full_like": lambda x, i: rnp.full_like(x, 1),
    "histogram": lambda x, i: rnp.histogram(i, 4, (0, 9)),
    "inner": lambda x, i: rnp.inner(x, x),
    "linspace": lambda x, i: rnp.linspace(0, 1, 5),
    "matmul": lambda x, i: rnp.matmul(x, x.T),
    "meshgrid": lambda x, i: tuple(rnp.meshgrid(x[0], i)),
    "moveaxis": lambda x, i: rnp.moveaxis(x[None], 0, 2),
    "ones": lambda x, i: rnp.ones((2,), rl.i32),
    "outer": lambda x, i: rnp.outer(x[0], x[1]),
    "pad": lambda x, i: (rnp.pad(x, 1), rnp.pad(x, 2, mode="reflect")),
    "permute_dims": lambda x, i: rnp.permute_dims(x[None], (2, 0, 1)),
    "repeat": lambda x, i: rnp.repeat(x, 2, axis=0),
    "reshape": lambda x, i: rnp.reshape(x, (2, -1)),
    "result_type": lambda x, i: rnp.astype(x, rnp.result_type(x, x)),
    "roll": lambda x, i: rnp.roll(x, 1, axis=1),
    "searchsorted": lambda x, i: rnp.searchsorted(x[0], x[1]),
    "squeeze": lambda x, i: rnp.squeeze(x[None], 0),
    "stack": lambda x, i: rnp.stack([x, x], axis=1),
    "take": lambda x, i: rnp.take(x, i, axis=1),
    "take_along_axis": lambda x, i: rnp.take_along_axis(x, rnp.stack([i, i, i]), axis=1),
    "tensordot": lambda x, i: rnp.tensordot(x, x, axes=((1,), (1,))),
    "tile": lambda x, i: rnp.tile(x, (2, 1)),
    "top_k": lambda x, i: rnp.top_k(x[0], 2),
    "unstack": lambda x, i: tuple(rnp.unstack(x)),
    "where": lambda x, i: rnp.where(rnp.equal(x, x), x, 0),
    "zeros": lambda x, i: rnp.zeros((2, 2), rl.f32),
}
"""Calls with arguments other than one or two arrays of equal shape."""
BINARY = {
    "add", "arctan2", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "copysign", "divide", "equal", "floor_divide", "greater",
    "greater_equal", "hypot", "isclose", "left_shift", "less", "less_equal", "logaddexp",
    "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "mod", "multiply",
    "not_equal", "pow", "power", "remainder", "right_shift", "subtract", "true_divide", "vecdot",
}  # fmt: skip
NAMES = [name for name in rnp.__all__ if callable(getattr(rnp, name)) and name != "newaxis"]


def call(name: str, x: Any, i: Any) -> Any:
    if name in CALLS:
        return CALLS[name](x, i)
    function = getattr(rnp, name)
    return function(x, x[0]) if name in BINARY else function(x)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", NAMES)
def test_functions_are_read_back_from_notation(name: str) -> None:
    read = 0
    for type in TYPES:
        kernel = rl.jit(lambda x, i: call(name, x, i))
        try:
            term = kernel.trace(rl.Array[3, 4, type], rl.Array[4, rl.i32]).term
        except rl.UserError:
            continue  # the function is not defined on this type
        assert parse_term(show_term(term)) == term
        read += 1
    assert read > 0
