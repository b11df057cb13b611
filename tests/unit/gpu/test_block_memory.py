"""The memory of a block: what its threads share, what each has alone, and when they wait."""

from __future__ import annotations

import numpy as np
import pytest

import riselang as rl
from riselang.native import cuda
from riselang.native.gpu_targets import gpu_target, target_of_capability
from riselang.support.errors import UserError
from support.emulated_gpu import Emulate
from support.gpu_kernels import kernel, values
from support.numpy_scalars import Array

ZEROS = (
    "generate(fun((i : idx[2]), generate(fun((j : idx[32]), generate(fun((k : idx[2]), 0.0)))))) "
    "|> mapWarp(mapLane(mapSeqUnroll(fun(e, e))))"
)
SUMS = (
    "fun((x : 3.4.2.32.2.f32), x |> mapBlock(0, fun(parts, parts |> reduceSeq(fun((sums, part), "
    "let t = part |> mapWarp(mapLane(mapSeqUnroll(fun(e, e * 2.0)))); "
    "zip(t |> map(reverse), sums) |> mapWarp(fun(p, zip(fst(p), snd(p)) |> mapLane(fun(q, "
    f"zip(fst(q), snd(q)) |> mapSeqUnroll(fun(r, fst(r) + snd(r)))))))), {ZEROS}) "
    "|> mapWarp(mapLane(mapSeqUnroll(fun(e, e)))))))"
)
"""Sums that each lane has alone, of what other lanes have stored."""

TRANSPOSED = (
    "fun((x : 64.32.f32), x |> split(32) |> mapBlock(0, fun(tile, "
    "let t = tile |> mapThread(1, mapThread(0, fun(e, e))); "
    "t |> transpose |> mapThread(1, mapThread(0, fun(e, e))))))"
)
LARGE = (
    "fun((x : 2.15000.f32), x |> mapBlock(0, fun(r, "
    "let t = r |> split(1500) |> mapThread(0, mapSeq(fun(e, e * 2.0))) |> join; "
    "t |> reverse |> split(1500) |> mapThread(0, mapSeq(fun(e, e + 1.0))) |> join)))"
)
EMPTY = (
    "fun((x : 5.i64, y : 0.0.i64, z : 0.0.i16), x |> mapBlock(0, fun(e, "
    "zip(y, z) |> mapWarp(fun(p, zip(fst(p), snd(p)) |> mapSeq(fun(q, q)))) "
    "|> sort(fun((a, b), false)) |> reduceSeq(fun((a, p), a + 1_i64), e))))"
)
"""Shared memory of no bytes."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", [SUMS, LARGE, EMPTY])
def test_results_are_those_of_the_interpreter(text: str, emulate: Emulate) -> None:
    program = kernel(text)
    emulate(program.lower())
    arguments = values(program)
    assert np.array_equal(program(*arguments), kernel(text, "interpret")(*arguments))


def test_what_one_thread_accesses_is_its_own() -> None:
    kernels = kernel(SUMS).lower().as_text("kernels")
    assert "memref.alloca() {alignment = 64 : i64} : memref<2xf32>" in kernels
    assert kernels.count("memref.global") == 1


def test_threads_wait_only_for_what_others_access() -> None:
    kernels = kernel(SUMS).lower().as_text("kernels")
    assert kernels.count("gpu.barrier") == 2, "before a part is stored, and before it is read"
    assert "gpu.barrier" not in kernel(
        "fun((x : 4.32.f32), x |> mapBlock(0, fun(r, let t = r |> mapThread(0, fun(e, e * 2.0)); "
        "t |> mapThread(0, fun(e, e + 1.0)))))"
    ).lower().as_text("kernels")


def test_rows_that_lanes_access_lie_in_different_banks() -> None:
    assert "memref<32x33xf32, 3 : i64>" in kernel(TRANSPOSED).lower().as_text("kernels")


def test_much_shared_memory_is_asked_for_at_launch() -> None:
    lowered = kernel(LARGE).lower()
    (plan,) = lowered.compilation.gpu.kernels.plans
    assert [getattr(step, "shared_bytes", None) for step in plan.steps] == [60032]
    assert ".extern .shared .align 64 .b8 dynamic_shared_memory[]" in lowered.as_text("ptx")


def test_code_is_for_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "compute_capability", lambda: (8, 6))
    assert gpu_target().chip == "sm_86"
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    ptx = kernel("fun((x : 64.f32), x |> mapPar(fun(e, -e)))").lower().as_text("ptx")
    assert ".target sm_90a" in ptx
    assert ".version 8.0" in ptx
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_1")
    with pytest.raises(UserError, match=r"RISE_GPU_TARGET must be one of sm_70, .*, but is 'sm_1'"):
        gpu_target()


@pytest.mark.parametrize(
    ("capability", "chip"),
    [
        ((6, 0), "sm_70"),
        ((7, 5), "sm_75"),
        ((8, 7), "sm_86"),
        ((9, 0), "sm_90a"),
        ((12, 0), "sm_90"),
    ],
)
def test_a_gpu_runs_the_code_of_its_target(capability: tuple[int, int], chip: str) -> None:
    assert target_of_capability(*capability).chip == chip


def test_vectors_are_loaded_at_once() -> None:
    text = "fun((x : 1024.f32), x |> asVector(4) |> mapPar(fun(v, v + v)) |> asScalar)"
    ptx = kernel(text).lower().as_text("ptx")
    assert "ld.global.nc.v4.b32" in ptx, "what a kernel only reads overlaps nothing that it writes"
    assert "st.global.v4.b32" in ptx


def test_arrays_that_are_not_aligned_are_copied(emulate: Emulate) -> None:
    program = kernel("fun((x : 39.f32), x |> mapPar(fun(e, e * 2.0)))")
    gpu = emulate(program.lower())
    source = np.arange(40, dtype=np.float32)
    array = rl.to_gpu(source)

    class Part:
        """All elements but the first."""

        def __init__(self, array: rl.DeviceArray):
            interface = dict(array.__cuda_array_interface__)
            interface["shape"], interface["data"] = (39,), (array.address + 4, False)
            self.__cuda_array_interface__ = interface

    result = program(Part(array))
    assert isinstance(result, rl.DeviceArray)
    expected: Array = source[1:] * 2
    assert np.array_equal(result.numpy(), expected)
    assert len(gpu.held) == 2
