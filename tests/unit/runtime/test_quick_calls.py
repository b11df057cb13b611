"""Calls that are written out for their number of arguments do what any call does."""

from __future__ import annotations

import ctypes
import gc
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.runtime.arrays import CACHE_LINE, LARGE_ARRAY, new_array
from riselang.runtime.executable import Executable
from riselang.runtime.fast_calls import specialize_call

ROW = ((3,), np.dtype(np.float32))


def added(count: int) -> Any:
    """A function of addresses that stores the sum of its inputs, of three numbers each."""
    row = ctypes.POINTER(ctypes.c_float * 3)

    def function(*addresses: int) -> None:
        output, *inputs = [ctypes.cast(each, row).contents for each in addresses]
        for position in range(3):
            output[position] = sum(each[position] for each in inputs)

    return function


def refused(arrays: Sequence[Any]) -> Any:
    raise AssertionError("all of them lie row by row")


@pytest.mark.parametrize("count", range(6))
def test_every_argument_comes_to_its_place(count: int) -> None:
    inputs = [np.arange(3, dtype=np.float32) * 10**position for position in range(count)]
    call = specialize_call(added(count), [ROW], [None] * count, refused, tuple)
    result = call(inputs)
    assert np.array_equal(result, sum(inputs, np.zeros(3, np.float32)))
    assert call(inputs) is not result


@pytest.mark.parametrize("given", list(itertools.product((False, True), repeat=3)))
@pytest.mark.sampled(3)
def test_arrays_given_for_good_come_to_their_places(given: tuple[bool, ...]) -> None:
    inputs = [np.full(3, 10**position, np.float32) for position in range(3)]
    weighted = [each * factor for each, factor in zip(inputs, (1, 2, 3), strict=True)]
    places = list(zip(given, weighted, strict=True))
    fixed = [None if is_given else each.copy() for is_given, each in places]
    call = specialize_call(added(3), [ROW], fixed, refused, tuple)
    del fixed
    gc.collect()
    result = call([each for is_given, each in places if is_given])
    assert np.array_equal(result, sum(weighted))


def test_several_results_are_packed() -> None:
    def function(*addresses: int) -> None:
        for position, each in enumerate(addresses):
            ctypes.cast(each, ctypes.POINTER(ctypes.c_float * 3)).contents[:] = [position] * 3

    call = specialize_call(function, [ROW, ROW], [], refused, list)
    assert [each.tolist() for each in call([])] == [[0, 0, 0], [1, 1, 1]]


def test_arrays_that_lie_otherwise_go_elsewhere() -> None:
    call = specialize_call(added(2), [ROW], [None] * 2, lambda arrays: "elsewhere", tuple)
    straight, backwards = np.ones(3, np.float32), np.ones(3, np.float32)[::-1]
    assert call([straight, backwards]) == "elsewhere"
    assert call([backwards, straight]) == "elsewhere"
    assert call([straight, straight]) is not None


def test_a_kernel_takes_other_layouts_after_a_quick_call() -> None:
    @rl.jit
    def doubled(x: rl.Array["N", "M", rl.f32]):
        return x | rl.map(rl.map(lambda a: a * 2.0))

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for _ in range(3):
        assert np.array_equal(doubled(x), 2 * x)
    across = np.asfortranarray(x)
    frozen = x.copy()
    frozen.flags.writeable = False
    with pytest.warns(rl.CopyWarning, match="x"):
        assert np.array_equal(doubled(across), 2 * x)
    assert np.array_equal(doubled(frozen), 2 * x)


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
def test_large_results_start_with_a_line_of_the_cache(dtype: Any) -> None:
    for count in (1, 1000, 1 << 20, (1 << 20) + 1):
        made = new_array((count, 2), np.dtype(dtype))
        assert made.shape == (count, 2)
        assert made.flags.carray
        assert made.nbytes < LARGE_ARRAY or made.ctypes.data % CACHE_LINE == 0
        made[:] = 1


def test_a_captured_array_and_a_check_need_no_slow_call(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.arange(5000, dtype=np.float32)

    @rl.jit
    def look_up(x: Any, positions: Any) -> Any:
        return (x + table)[positions]

    arguments = table * 2, np.array([3, -1])
    assert look_up(*arguments).tolist() == [9, 14997]
    with monkeypatch.context() as patch:
        patch.setattr(Executable, "__call__", None)
        assert look_up(*arguments).tolist() == [9, 14997]
    with pytest.raises(rl.UserError, match="5000") as failure:
        look_up(table, np.array([3, 5000]))
    assert "test_quick_calls.py" in str(failure.value)
