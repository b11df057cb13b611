"""Sizes that users give in Python: whatever they are, they are taken, or refused as theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.support.errors import UserError

WRONG = [
    -1, -(2**40), np.int64(-2), "-3", True, 2.5, np.float32(2), float("nan"), None, (1,), "N +", "",
    10**30, -(10**30),
]  # fmt: skip
RIGHT = [0, 1, 4, np.int64(4), np.uint8(4), "4", 10**17]
WITH_SIZES = [spec for spec in PATTERNS.values() if spec.explicit]


def traced(spec: PatternSpec, size: Any) -> None:
    def program(x: rl.Array[16, rl.f32]) -> Any:
        return x | getattr(rl, spec.python_name)(*[size] * len(spec.explicit))

    rl.jit(program).trace()


def assert_located(error: UserError) -> None:
    assert error.location is not None
    assert error.location.file == __file__
    assert "\n" not in error.message


@pytest.mark.parametrize("spec", WITH_SIZES, ids=lambda spec: spec.name)
def test_no_pattern_takes_what_is_no_size(spec: PatternSpec) -> None:
    for size in WRONG:
        with pytest.raises(UserError) as caught:
            traced(spec, size)
        assert_located(caught.value)


@pytest.mark.parametrize("spec", WITH_SIZES, ids=lambda spec: spec.name)
def test_every_size_is_accepted_or_rejected_with_a_user_error(spec: PatternSpec) -> None:
    for size in RIGHT:
        problem = refusal(spec, size)
        if problem is not None:
            assert_located(problem)
            assert "is not a size" not in problem.message


def refusal(spec: PatternSpec, size: Any) -> UserError | None:
    try:
        traced(spec, size)
    except UserError as error:
        return error
    return None


@pytest.mark.parametrize("size", WRONG, ids=repr)
def test_no_array_type_or_inferred_size_takes_what_is_no_size(size: Any) -> None:
    with pytest.raises(UserError, match="is not a size") as caught:
        rl.Array[size, rl.f32]
    assert_located(caught.value)

    def program(x: rl.Array["N", rl.f32]) -> Any:
        return rl.generate(lambda i: 1.0, n=size)

    with pytest.raises(UserError, match="is not a size") as caught:
        rl.jit(program).trace(N=4)
    assert_located(caught.value)


def test_a_negative_size_of_a_kernel_is_refused() -> None:
    def program(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.map(lambda e: e + 1.0)

    with pytest.raises(UserError, match="-4 is not a size: it is negative") as caught:
        rl.jit(program).lower(N=-4)
    assert_located(caught.value)


def test_integers_of_numpy_are_sizes() -> None:
    @rl.jit
    def first(x: rl.Array[np.int64(8), rl.f32]) -> Any:
        return x | rl.take(np.int32(2))

    np.testing.assert_array_equal(first(np.arange(8, dtype=np.float32)), [0, 1])


def test_a_negative_size_of_a_program_in_notation_is_refused() -> None:
    program: Any = rl.loads("def main = fun((x : N.f32), x |> map(neg))", name="sizes.rise")
    with pytest.raises(UserError, match="-4 is not a size: it is negative"):
        program.main.lower(N=-4)
    assert program.main.lower(N=4).parameter_types
