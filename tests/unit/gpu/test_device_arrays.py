"""Arrays that stay in the memory of the GPU between calls."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

import riselang as rl
from riselang.api.kernel import TermKernel
from riselang.notation.program import parse_term
from riselang.support.config import Options
from support.emulated_gpu import Emulate, EmulatedGpu
from support.numpy_scalars import Array


def scaled_sum(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]) -> Any:
    return rl.zip(x, y) | rl.map(lambda pair: pair[0] * 2.0 + pair[1])


@rl.jit
def doubled(x: rl.Array["N", rl.f32]) -> Any:
    return x | rl.map(lambda e: e * 2.0)


X, Y = np.arange(40, dtype=np.float32), np.ones(40, np.float32)


@pytest.fixture
def scaled() -> rl.Jitted:
    return rl.jit(scaled_sum, loops="gpu")


@pytest.fixture
def gpu(emulate: Emulate, scaled: rl.Jitted) -> EmulatedGpu:
    return emulate(scaled.lower(X, Y))


def test_arrays_go_to_the_gpu_and_come_back(gpu: EmulatedGpu) -> None:
    array = rl.to_gpu(X)
    assert (array.shape, array.dtype, array.nbytes) == ((40,), np.float32, 160)
    assert repr(array) == "DeviceArray((40,), float32)"
    assert np.array_equal(array.numpy(), X)
    assert np.array_equal(np.asarray(array), X)
    assert np.asarray(array, np.float64).dtype == np.float64
    assert len(gpu.held) == 1
    del array
    gc.collect()
    assert not gpu.held


@pytest.mark.parametrize("second", [Y, None])
def test_results_are_where_arguments_are(
    gpu: EmulatedGpu, scaled: rl.Jitted, second: Array | None
) -> None:
    result = scaled(rl.to_gpu(X), rl.to_gpu(Y) if second is None else second)
    assert isinstance(result, rl.DeviceArray)
    assert np.array_equal(result.numpy(), X * 2 + 1)
    assert np.array_equal(scaled(result, rl.to_gpu(Y)).numpy(), (X * 2 + 1) * 2 + 1)


def test_arrays_of_numpy_give_arrays_of_numpy(gpu: EmulatedGpu, scaled: rl.Jitted) -> None:
    for _ in range(2):
        result = scaled(X, Y)
        assert type(result) is np.ndarray
        assert np.array_equal(result, X * 2 + 1)
    assert not gpu.held
    assert [grid for _, grid, _ in gpu.launched] == [(1, 1, 1)] * 2


class Foreign:
    """An array of another library, with its elements on the GPU."""

    def __init__(self, array: rl.DeviceArray, **changes: Any):
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}


def test_arrays_of_other_libraries_are_taken(gpu: EmulatedGpu, scaled: rl.Jitted) -> None:
    assert len(gpu.held) == 0
    result = scaled(Foreign(rl.to_gpu(X)), Foreign(rl.to_gpu(Y)))
    assert np.array_equal(result.numpy(), X * 2 + 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"strides": (8,), "shape": (20,)}, "expected a C-contiguous array"),
        ({"typestr": "<f8", "shape": (20,)}, "expected dtype float32"),
    ],
)
def test_what_does_not_fit_is_refused(
    gpu: EmulatedGpu, scaled: rl.Jitted, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(rl.UserError, match=message):
        scaled(Foreign(rl.to_gpu(X), **changes), Foreign(rl.to_gpu(Y), **changes))
    assert not gpu.launched


def test_a_processor_does_not_read_the_memory_of_a_gpu(gpu: EmulatedGpu) -> None:
    with pytest.raises(rl.UserError, match="expected an array, but found DeviceArray"):
        doubled(rl.to_gpu(X))
    with pytest.raises(ValueError, match="cannot be read without a copy"):
        np.asarray(rl.to_gpu(X), copy=False)


def test_indices_are_checked_so_they_are_on_the_host(emulate: Emulate) -> None:
    text = "fun((x : 40.f32, i : 2.idx[40]), i |> map(fun(at_, x |> at(at_))))"
    picked = TermKernel("picked", parse_term(text), options=Options("gpu"))
    places = np.asarray([3, 1], np.int64)
    emulate(picked.lower(X, places))
    assert picked(rl.to_gpu(X), places).numpy().tolist() == [3.0, 1.0]
    with pytest.raises(rl.UserError, match="indices are checked on the CPU before a program runs"):
        picked(rl.to_gpu(X), rl.to_gpu(places))


def test_numbers_that_numpy_has_no_name_for(emulate: Emulate) -> None:
    text = "fun((x : 40.bf16), x |> map(fun(e, e + e)))"
    doubled_here = TermKernel("f", parse_term(text), options=Options("gpu"))
    emulate(doubled_here.lower())
    x = X.astype(bfloat16)
    result = doubled_here(rl.to_gpu(x)).numpy()
    assert result.dtype == x.dtype
    assert np.array_equal(result.astype(np.float32), X * 2)


def test_a_check_of_the_host_regression(emulate: Emulate) -> None:
    """A check that stands in no kernel of its own was dropped, and its failure was not known."""
    text = (
        "fun((x : 3.6.f32, i : i32), "
        "x |> at(i |> checkIdx(3)) |> iterate(1, fun(r, x |> at(i |> checkIdx(3)))))"
    )
    picked = TermKernel("f", parse_term(text), options=Options("gpu"), strategy=None)
    emulate(picked.lower())
    x = np.arange(18, dtype=np.float32).reshape(3, 6)
    assert picked(x, 2).tolist() == x[2].tolist()
    with pytest.raises(rl.UserError, match="the index 3 is not in"):
        picked(x, 3)


def test_checks_that_fail_are_told_of(emulate: Emulate) -> None:
    @rl.jit(loops="gpu")
    def checked(x: rl.Array["N", rl.f32], i: rl.Array["M", rl.i32]) -> Any:
        return i | rl.map(lambda at: x | rl.at(at | rl.check_idx(40)))

    places: Sequence[int] = (3, 40)
    wrong = np.asarray(places, np.int32)
    emulate(checked.lower(X, wrong))
    assert checked(X, np.asarray([3, 1], np.int32)).tolist() == [3.0, 1.0]
    with pytest.raises(rl.UserError, match="the index 40 is not in"):
        checked(X, wrong)
