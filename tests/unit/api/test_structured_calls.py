"""Calls with structures take the prepared call of an earlier one, and only of the same form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import riselang as rl
from riselang.api.structured_calls import StructuredCall
from support.numpy_scalars import Array


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass
class Layer:
    weight: Any
    bias: Any
    scale: float = field(default=1.0, metadata={"static": True})


def ones(*shape: int, dtype: str = "f4") -> Array:
    return np.ones(shape, dtype)


def is_prepared(kernel: Any) -> bool:
    """Whether the latest call of a kernel was prepared for its form."""
    return isinstance(kernel._latest_call, StructuredCall)


def total(parts: Any, x: Any) -> Any:
    if isinstance(parts, dict):
        parts = [parts[name] for name in sorted(parts)]
    if isinstance(parts, Layer):
        return (parts.weight * parts.scale).sum() + parts.bias.sum() + x.sum()
    return sum(part.sum() for part in parts if part is not None) + x.sum()


FORMS: dict[str, Callable[[Array, Array], Any]] = {
    "list": lambda a, b: [a, b],
    "tuple": lambda a, b: (a, b),
    "dictionary": lambda a, b: {"v": a, "w": b},
    "other keys": lambda a, b: {"w": a, "x": b},
    "more keys": lambda a, b: {"v": a, "w": b, "z": b},
    "named tuple": Pair,
    "dataclass": Layer,
    "static field": lambda a, b: Layer(a, b, 2.0),
    "none": lambda a, b: [a, None, b],
    "longer": lambda a, b: [a, b, b],
}


@pytest.mark.parametrize("name", FORMS)
def test_a_second_call_is_prepared(name: str) -> None:
    kernel = rl.jit(total)
    for scale in (1, 2, 3):
        parts = FORMS[name](ones(3) * scale, ones(2, 2))
        assert kernel(parts, ones(4)) == total(parts, ones(4))
    assert is_prepared(kernel)


@pytest.mark.rotating(3)
def test_calls_of_several_forms_do_not_mix() -> None:
    kernel = rl.jit(total)
    for _ in range(3):
        for form in FORMS.values():
            for length in (3, 5):
                parts = form(ones(length), 2 * ones(2, 2))
                assert kernel(parts, ones(4)) == total(parts, ones(4))
                assert kernel(x=ones(4), parts=parts) == total(parts, ones(4))


def test_dtypes_and_ranks_select_the_kernel() -> None:
    kernel = rl.jit(lambda parts: parts[0] + parts[1])
    for _ in range(3):
        for dtype in ("f4", "f8", "i4"):
            assert kernel([ones(3, dtype=dtype), ones(3, dtype=dtype)]).dtype == dtype
            assert kernel([ones(2, 3, dtype=dtype), ones(2, 3, dtype=dtype)]).shape == (2, 3)


def test_classes_of_numbers_select_the_kernel() -> None:
    kernel = rl.jit(lambda pair: pair[0] * pair[1])
    for _ in range(3):
        for number, expected in ((2, np.int64), (2.5, np.float64), (True, np.int64)):
            result = kernel((number, ones(2, dtype=np.dtype(expected).name)))
            assert (result == number).all()


def test_a_list_of_numbers_is_one_array() -> None:
    kernel = rl.jit(lambda pair: pair[0].sum() + pair[1])
    for _ in range(3):
        assert kernel(([1.0, 2.0], 3.0)) == 6.0
        assert kernel((np.array([1.0, 2.0]), 3.0)) == 6.0


def test_static_values_select_the_kernel() -> None:
    @rl.jit(static=["power", "mode"])
    def power_sum(parts: Any, power: Any, mode: Any = None) -> Any:
        return sum((part**power).sum() for part in parts) * (2.0 if mode else 1.0)

    parts = [2 * ones(2), ones(3)]
    for _ in range(3):
        assert power_sum(parts, 2) == 11
        assert power_sum(parts, 3) == 19
        assert power_sum(parts, 3, True) == 38
        assert power_sum(parts, 2.0) == 11
        assert power_sum(parts, power=3, mode=FORMS.values) == 38
    assert power_sum(parts, 2) == 11


def test_results_go_into_an_array() -> None:
    kernel = rl.jit(lambda parts: parts["a"] + parts["b"])
    out = np.zeros(3, np.float32)
    for scale in (1, 2, 3):
        kernel({"a": scale * ones(3), "b": ones(3)}, out=out)
        assert (out == scale + 1).all()
    assert is_prepared(kernel)


def test_the_interpreter_is_called_with_structures() -> None:
    compiled = rl.jit(total)
    compiled([ones(2)], ones(3))
    compiled([ones(2)], ones(3))
    interpreted = rl.jit(compiled, backend="interpret")
    for _ in range(2):
        assert interpreted([ones(2)], ones(3)) == 5
    assert not is_prepared(interpreted)
