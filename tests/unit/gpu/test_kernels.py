"""Programs for a GPU: which kernels they become, and what these compute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from riselang.api.kernel import TermKernel
from riselang.notation.program import parse_term
from riselang.support.errors import LimitationError, RiseError, UserError
from support.emulated_gpu import Emulate
from support.gpu_kernels import PROGRAMS, TILED, UNEVEN, kernel, values


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.sampled(4)
def test_kernels_compute_what_the_interpreter_does(name: str, emulate: Emulate) -> None:
    text, launched = PROGRAMS[name]
    program = kernel(text)
    gpu = emulate(program.lower())
    arguments = values(program)
    result = program(*arguments)
    expected = kernel(text, "interpret")(*arguments)
    assert np.array_equal(np.asarray(result), np.asarray(expected))
    assert [(grid, block) for _, grid, block in gpu.launched] == launched
    assert not gpu.held, "memory of the GPU was not given back"


REFUSED: dict[str, tuple[str, type[RiseError], str]] = {
    "threads in threads": (
        "fun((x : 4.5.f32), x |> mapThread(0, mapThread(0, fun(e, e))))",
        UserError,
        "mapThread(0) inside mapThread(0): blocks have threads or warps, warps have lanes, and "
        "each of them is used once",
    ),
    "blocks in threads": (
        "fun((x : 4.5.f32), x |> mapThread(0, mapBlock(0, fun(e, e))))",
        UserError,
        "mapBlock(0) inside mapThread(0)",
    ),
    "lanes beside threads": (
        "fun((x : 4.5.f32), x |> mapThread(0, mapLane(fun(e, e))))",
        UserError,
        "mapLane inside mapThread(0)",
    ),
    "something beside blocks": (
        "fun((x : 4.5.f32), x |> mapBlock(0, fun(r, let(r |> mapSeq(fun(e, e * 2.0)), "
        "fun(t, t |> mapBlock(1, fun(e, e + 1.0)))))))",
        LimitationError,
        "next to mapBlock(1), a value is computed for which other blocks cannot wait",
    ),
    "something stored between threads": (
        "fun((x : 4.5.f32), x |> mapThread(1, fun(r, let(r |> mapThread(0, fun(e, e * 2.0)), "
        "fun(t, t |> reverse |> mapThread(0, fun(e, e + 1.0)))))))",
        LimitationError,
        "where threads cannot wait for it",
    ),
    "more memory than a block has": (
        "fun((x : 2.40000.f32), x |> mapBlock(0, fun(r, let(r |> mapThread(0, fun(e, e * 2.0)), "
        "fun(t, t |> reverse |> mapThread(0, fun(e, e + 1.0)))))))",
        LimitationError,
        "the threads of a block share take 160000 bytes, more than the limit of 98304",
    ),
    "a condition that kernels compute": (
        "fun((x : 8.f32), snd((0_index, x) |> while(fun(s, fst(s) < 3_index), "
        "fun(s, (fst(s) + 1_index, snd(s) |> mapThread(0, fun(e, e * 2.0)))))))",
        LimitationError,
        "mapThread(0) is not supported in this loop",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_gpu_can_do_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_70")
    text, kind, message = REFUSED[name]
    with pytest.raises(kind) as caught:
        kernel(text).lower().as_text("ptx")
    assert message in caught.value.message
    assert caught.value.location is not None


@pytest.mark.parametrize("map", ["mapPar", "mapSeq"])
def test_sizes_must_be_known(map: str) -> None:
    program = kernel(f"fun((x : N.f32), x |> {map}(fun(e, e * 2.0)))")
    with pytest.raises(LimitationError, match="sizes of a GPU program must be known"):
        program.lower().as_text("kernels")


def test_a_processor_does_not_take_the_patterns_of_a_gpu() -> None:
    text = "fun((x : 8.f32), x |> mapBlock(0, fun(e, e)))"
    with pytest.raises(LimitationError, match='mapBlock compiles only with loops="gpu"'):
        TermKernel("f", parse_term(text)).lower().as_text("llvm")


@pytest.mark.parametrize("stage", ["asm", "library"])
def test_stages_of_a_processor_are_none_of_a_gpu(stage: str) -> None:
    with pytest.raises(UserError, match=f"{stage} is not a stage of GPU programs"):
        kernel("fun((x : 8.f32), x |> mapPar(fun(e, e)))").lower().as_text(stage)


@pytest.mark.parametrize("stage", ["kernels", "ptx"])
def test_stages_of_a_gpu_are_none_of_a_processor(stage: str) -> None:
    program = TermKernel("f", parse_term("fun((x : 8.f32), x |> map(fun(e, e)))"))
    with pytest.raises(UserError, match=f"{stage} is a stage of GPU programs"):
        program.lower().as_text(stage)


@pytest.mark.parametrize("numbers", [(0.0, 0.5, 1.0, 1.5, 7.0, float("nan"), -3.0)])
def test_floats_as_bits_regression(numbers: Sequence[float], emulate: Emulate) -> None:
    """LLVM's code for GPUs asks whether a float is 0, where it is to become a bit."""
    text = "fun((x : 7.f32), x |> mapPar(fun(e, select(fptoui[i1](e), 1.0, 0.0))))"
    program = kernel(text)
    emulate(program.lower())
    assert "fptoui" not in program.lower().as_text("kernels")
    assert program(np.asarray(numbers, np.float32)).tolist() == [0, 0, 1, 1, 1, 0, 0]


def test_threads_that_a_loop_leaves_idle_store_nothing_regression() -> None:
    """They stored what others did, which is wrong where what was stored is read again."""
    kernels = kernel(UNEVEN).lower().as_text("kernels")
    _, guarded = kernels.split("scf.if")
    assert guarded.count("memref.store") == 2
    assert "memref.load %out" in guarded


def test_sums_of_a_thread_need_no_memory() -> None:
    kernels = kernel(TILED).lower().as_text("kernels")
    assert "memref.alloca" not in kernels
    assert "shared" not in kernels
    assert "iter_args" in kernels


def test_memory_is_freed_when_a_launch_fails(
    emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, _ = PROGRAMS["kernels after each other"]
    program = kernel(text)
    gpu = emulate(program.lower())

    def fail(*arguments: Any) -> None:
        raise RuntimeError("no launch")

    monkeypatch.setattr(gpu, "_launch", fail)
    with pytest.raises(RuntimeError, match="no launch"):
        program(*values(program))
    assert not gpu.held
