"""`rl.if_`, and `rl.where` on pairs, indices and arrays of pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl

X = np.array([0, 1, 2, 3], np.float32)
Program = Callable[[Any, Any], Any]


def position(x: Any) -> Any:
    return rl.cast(x, rl.i32)


def check_second(x: Any) -> Any:
    rl.check(x[1] > 5, "the second element is small")
    return x


PROGRAMS: dict[str, tuple[Program, Any]] = {
    "arrays": (lambda x, y: rl.if_(x[1] > 0, x, y), X),
    "tuple": (lambda x, y: rl.if_(x[0] > 0, (x, y[1], 1), (y, x[1], x[2])), (-X, 1, 2)),
    "functions": (
        lambda x, y: rl.if_(x[1] > 0, lambda: {"a": x.sum(), "b": y}, {"a": y[0], "b": x}),
        {"a": 6, "b": -X},
    ),
    "pairs": (
        lambda x, y: rl.zip(x, y) | rl.map(lambda a, b: rl.if_(a < b, (a, b), (b, a))),
        (-X, X),
    ),
    "arrays of pairs": (lambda x, y: rl.where(x > 1, rl.zip(x, y), (5, 6)), None),
    "indices": (lambda x, y: x[rl.where(x[0] > 0, rl.clamp_idx(4, 1), rl.clamp_idx(4, 2))], 2),
    "known": (lambda x, y: rl.if_(len(x) == 4, x, lambda: 1 // 0), X),
    "index of the other branch": (
        lambda x, y: rl.if_(x[1] > 0, lambda: x[position(x[1])], lambda: x[position(x[1] + 9)]),
        1,
    ),
    "check of the other branch": (
        lambda x, y: rl.if_(x[1] > 0, y, lambda: check_second(x)),
        -X,
    ),
}


@pytest.mark.parametrize("backend", ["compile", "interpret"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_condition_selects_a_branch(name: str, backend: str) -> None:
    program, expected = PROGRAMS[name]
    result = rl.jit(program, backend=backend)(X, -X)
    if expected is None:
        expected = (np.where(X > 1, X, 5), np.where(X > 1, -X, 6))
    np.testing.assert_equal(_as_lists(result), _as_lists(expected))


def _as_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_lists(part) for name, part in value.items()}
    return tuple(map(_as_lists, value)) if isinstance(value, tuple) else np.asarray(value).tolist()


def test_checks_of_the_branch_are_performed() -> None:
    with pytest.raises(rl.CheckError, match="the second element is small"):
        rl.jit(lambda x, y: rl.if_(x[1] < 0, y, lambda: check_second(x)))(X, -X)
    with pytest.raises(IndexError):
        rl.jit(lambda x: rl.if_(x[1] > 0, lambda: x[position(x[1] + 9)], x[0]))(X)


WRONG: dict[str, tuple[Program, str]] = {
    "condition": (lambda x, y: rl.if_(x > 0, x, y), "rl.where.mask, a, b. chooses by element"),
    "types": (lambda x, y: rl.if_(x[0] > 0, x, 1), "different types, 4.f32 and a number"),
    "lengths": (lambda x, y: rl.if_(x[0] > 0, x, y[:2]), "expected 4.f32, but found 2.f32"),
    "structures": (lambda x, y: rl.if_(x[0] > 0, x, (x, y)), "structures, 4.f32 and a tuple"),
    "one pair": (lambda x, y: rl.where(x[0] > 0, x, (x, y)), "only one of them is a pair"),
}


@pytest.mark.parametrize("name", WRONG)
def test_different_branches_are_explained(name: str) -> None:
    program, message = WRONG[name]
    with pytest.raises(rl.UserError, match=message):
        rl.jit(program)(X, -X)
