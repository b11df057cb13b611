"""Native calls do what any call does, and leave calls that they do not support to Python."""

from __future__ import annotations

import ctypes
import gc
import itertools
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.runtime.array_calls import native_call
from riselang.runtime.arrays import CACHE_LINE, LARGE_ARRAY, has_object_layout, new_array

pytestmark = pytest.mark.skipif(not has_object_layout, reason="needs the C API of CPython")
ROW = ((3,), np.dtype(np.float32))
SCALAR = ((), np.dtype(np.float32))
Row = ctypes.c_float * 3
_CALLBACKS: list[Any] = []


def entry_point(function: Callable[[Any], int]) -> int:
    """Return the address of code that takes the address of an array."""
    _CALLBACKS.append(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))(function))
    address = ctypes.cast(_CALLBACKS[-1], ctypes.c_void_p).value
    assert address is not None
    return address


def added(count: int) -> int:
    """Code that stores the sum of its inputs, of three numbers each."""

    def function(slots: Any) -> int:
        output, *inputs = [Row.from_address(slots[number]) for number in range(count + 1)]
        for position in range(3):
            output[position] = sum(each[position] for each in inputs)
        return 0

    return entry_point(function)


def doubled_scalar(type: Any) -> int:
    """Code that stores twice a number, as an f64."""

    def function(slots: Any) -> int:
        number = type.from_address(slots[1]).value
        ctypes.c_double.from_address(slots[0]).value = 2 * number
        return 0

    return entry_point(function)


@pytest.mark.parametrize("count", range(4))
def test_each_argument_is_passed_to_its_parameter(count: int) -> None:
    inputs = tuple(np.arange(3, dtype=np.float32) * 10**position for position in range(count))
    call = native_call(added(count), [ROW], [ROW] * count)
    assert call is not None
    result = call(inputs, None)
    assert np.array_equal(result, sum(inputs, np.zeros(3, np.float32)))
    assert call(inputs, None) is not result
    assert call((*inputs, inputs), None) is None


@pytest.mark.parametrize("given", list(itertools.product((False, True), repeat=3)))
@pytest.mark.sampled(1)
def test_fixed_arrays_are_passed_to_their_parameters(given: tuple[bool, ...]) -> None:
    inputs = [np.full(3, 10**position, np.float32) for position in range(3)]
    weighted = [each * factor for each, factor in zip(inputs, (1, 2, 3), strict=True)]
    parameters = list(zip(given, weighted, strict=True))
    fixed: list[Any] = [ROW if is_given else each.copy() for is_given, each in parameters]
    call = native_call(added(3), [ROW], fixed)
    del fixed
    gc.collect()
    assert call is not None
    result = call(tuple(each for is_given, each in parameters if is_given), None)
    assert np.array_equal(result, sum(weighted))


def test_several_results_are_packed() -> None:
    def function(slots: Any) -> int:
        for number in range(2):
            Row.from_address(slots[number])[:] = [slots[2 + number]] * 3
        return 0

    code = entry_point(function)
    for pack, kind in ((None, tuple), (list, list)):
        call = native_call(code, [ROW, ROW], [], (4, 5), pack)
        assert call is not None
        results = call((), None)
        assert type(results) is kind
        assert [each.tolist() for each in results] == [[4, 4, 4], [5, 5, 5]]
        assert call((), np.zeros(3, np.float32)) is None


def test_other_types_shapes_and_layouts_are_declined() -> None:
    call = native_call(added(2), [ROW], [ROW, ROW])
    row = np.ones(3, np.float32)
    assert call is not None
    unaligned = np.zeros(13, np.uint8)[1:].view(np.float32)
    masked = np.ma.masked_array(row)
    for other in (
        row[::-1], row[:2], row[None], row.astype(np.float64), row.astype(">f4"), unaligned,
        masked, [1.0, 1.0, 1.0], 1.0, None,
    ):  # fmt: skip
        assert call((row, other), None) is None
        assert call((other, row), None) is None
    read_only = row.copy()
    read_only.flags.writeable = False
    pickled = pickle.loads(pickle.dumps(row))
    assert np.array_equal(call((read_only, pickled), None), row + row)


def test_results_are_written_to_disjoint_arrays() -> None:
    call = native_call(added(2), [ROW], [ROW, ROW])
    both, row = np.ones(4, np.float32), np.ones(3, np.float32)
    assert call is not None
    out = np.zeros(3, np.float32)
    count = sys.getrefcount(out)
    assert call((row, both[:3]), out) is out
    assert out.tolist() == [2, 2, 2]
    assert sys.getrefcount(out) == count
    for other in (row, both[1:], out[:2], out.astype(np.float64), [out]):
        assert call((row, both[:3]), other) is None
    out.flags.writeable = False
    assert call((row, both[:3]), out) is None


@pytest.mark.parametrize(
    ("dtype", "type", "accepted", "declined"),
    [
        (np.float32, ctypes.c_float, (0.5, -3, float("inf"), 1 << 24), (1e39, 1 << 54, True, None)),
        (np.float64, ctypes.c_double, (0.1, 7), (1 << 54, "1", True)),
        (np.int8, ctypes.c_int8, (-128, 127), (128, 1.0, True)),
        (np.uint64, ctypes.c_uint64, (0, 5), (-1, 1 << 63)),
    ],
)
def test_python_numbers_are_passed_as_scalars(
    dtype: Any, type: Any, accepted: tuple[Any, ...], declined: tuple[Any, ...]
) -> None:
    result = ((), np.dtype(np.float64))
    call = native_call(doubled_scalar(type), [result], [((), np.dtype(dtype))])
    assert call is not None
    for value in accepted:
        assert call((value,), None) == 2 * dtype(value).item()
        assert call((np.array(value, dtype),), None) == 2 * dtype(value).item()
    for value in declined:
        assert call((value,), None) is None


def test_calls_keep_no_references() -> None:
    call = native_call(added(1), [ROW], [ROW])
    assert call is not None
    row = np.ones(3, np.float32)
    counts = [sys.getrefcount(each) for each in (row, ROW[1], np.ndarray)]
    for _ in range(50):
        call((row,), None)
        call((row[:2],), None)
    assert [sys.getrefcount(each) for each in (row, ROW[1], np.ndarray)] == counts


def test_an_early_end_raises() -> None:
    call = native_call(entry_point(lambda slots: 1 << 50), [ROW], [])
    assert call is not None
    with pytest.raises(rl.LimitationError, match="not enough memory for a temporary"):
        call((), None)


def test_a_failed_check_raises_an_error_in_every_call() -> None:
    @rl.jit
    def selected(x: rl.Array["N", rl.f32], indices: rl.Array["M", rl.i32]) -> Any:
        return x[indices]

    x, inside = np.arange(8, dtype=np.float32), np.array([1, -1, 0], np.int32)
    for _ in range(3):
        assert selected(x, inside).tolist() == [1, 7, 0]
        with pytest.raises(rl.RiseError, match="the index 30 is not in") as error:
            selected(x, np.array([1, 30, 40], np.int32))
        assert "return x[indices]" in str(error.value)
    result = np.zeros(3, np.float32)
    assert selected(x, inside, out=result) is result
    assert result.tolist() == [1, 7, 0]


def test_the_failure_buffer_follows_the_inputs() -> None:
    def function(slots: Any) -> int:
        failure = (ctypes.c_int64 * 4).from_address(slots[2])
        assert list(failure) == [0, 0, 0, 0]
        if Row.from_address(slots[1])[0] > 0:
            failure[:] = [2, 1, slots[3], 5]
        return 0

    def fail(reported: tuple[int, int, int]) -> Any:
        raise IndexError(reported)

    call = native_call(entry_point(function), [ROW], [ROW], (7,), fail=fail)
    assert call is not None
    for _ in range(2):
        with pytest.raises(IndexError, match=r"\(1, 7, 5\)"):
            call((np.ones(3, np.float32),), None)
        assert call((np.zeros(3, np.float32),), None) is not None


def test_kernels_take_numbers_and_outputs_in_every_call() -> None:
    @rl.jit
    def scaled(factor, x):
        return factor * x

    compiled = scaled.lower(rl.f32, rl.Array[3, rl.f32]).compile()
    x, out = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)
    for call in (scaled, compiled):
        for factor in (2.0, 0.5, 3.0):
            assert np.array_equal(call(factor, x), np.float32(factor) * x)
            assert call(factor, x, out=out) is out
            assert np.array_equal(out, np.float32(factor) * x)
        for _ in range(2):
            with pytest.raises(rl.UserError, match="share memory"):
                call(2.0, x, out=x)


def test_complex_arrays_and_structures_are_returned_in_every_call() -> None:
    @rl.jit
    def parts(z):
        return {"sum": z + z, "square": z * z}

    z = np.array([1 + 2j, 3 - 1j], np.complex64)
    for _ in range(3):
        results = parts(z)
        assert results["sum"].dtype == np.complex64
        assert np.array_equal(results["sum"], z + z)
        assert np.array_equal(results["square"], z * z)


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
