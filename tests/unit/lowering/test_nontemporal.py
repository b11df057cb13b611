"""`nontemporal` changes no value; vectors bypass the caches where they are aligned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
import riselang.strategy as st
from riselang.rewrite.strategies.transposed_copies import tiled_transpose
from riselang.support.machine import Machine, assume_machine
from support.machines import MACHINES, assembly_for

VECTORS = """fun((x : {0}.64.f32), x |> {1}(fun(row,
  row |> asVector({2}) |> mapSeq(fun(v, v + v)) |> asScalar)) |> nontemporal)"""
TRANSPOSE = "fun((x : {0}.{0}.f32), x |> transpose)"


def loaded(text: str, strategy: Any = "none") -> Any:
    module: Any = rl.loads(text, name="program.rise", strategy=strategy)
    return module.main


def code_for(program: Any, target: str) -> str:
    return "\n".join(assembly_for(program.trace().lower().as_text("llvm"), target))


@pytest.mark.parametrize("offset", [0, 1, 3, 4, 8])
@pytest.mark.parametrize("loop", ["mapSeq", "mapPar"])
def test_results_are_the_same_at_every_address(loop: str, offset: int) -> None:
    program = loaded(VECTORS.format(4, loop, 16))
    x = np.random.default_rng(0).random((4, 64), np.float32)
    memory = np.zeros(4 * 64 + 32, np.float32)
    start = -(memory.ctypes.data // 4) % 16 + offset
    out = memory[start : start + 4 * 64].reshape(4, 64)
    program(x, out=out)
    assert np.array_equal(out, x + x)
    assert not memory[:start].any()
    assert not memory[start + 4 * 64 :].any()


@pytest.mark.parametrize(
    ("target", "lanes", "instructions"),
    [("Sapphire Rapids", 16, ("vmovntp", "lock")), ("AVX2", 8, ("vmovntp", "lock")),
     ("Neoverse N1", 8, ("stnp", "dmb"))],
)  # fmt: skip
def test_machine_code_has_such_stores_and_a_fence(
    target: str, lanes: int, instructions: tuple[str, ...]
) -> None:
    code = code_for(loaded(VECTORS.format(4, "mapSeq", lanes)), target)
    assert all(each in code or (each == "lock" and "mfence" in code) for each in instructions)


def test_a_fence_follows_parallel_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for all iterations: a thread that ends orders its stores by itself."""
    monkeypatch.setenv("RISE_NUM_THREADS", "2")
    with assume_machine(Machine(16, 32, cores=2)):
        text = loaded(VECTORS.format(4, "mapPar", 4)).trace().lower().as_text("llvm")
    assert text.count("fence seq_cst") == 1
    assert all("fence" not in part for part in text.split("define ") if "!nontemporal" in part)


@pytest.mark.parametrize("lanes", [2, 16])
def test_vectors_that_cannot_be_aligned_are_stored_as_usual(lanes: int) -> None:
    text = VECTORS.replace("f32", "i8").format(4, "mapSeq", lanes // 2)
    program = loaded(text)
    x = np.arange(256, dtype=np.int8).reshape(4, 64)
    assert np.array_equal(program(x), x + x)
    assert "!nontemporal" not in program.trace().lower().as_text("llvm")


def test_scalars_are_stored_as_usual() -> None:
    program = loaded("fun((x : 8.f32), x |> mapSeq(fun(e, e + e)) |> nontemporal)")
    assert np.array_equal(program(np.ones(8, np.float32)), np.full(8, 2, np.float32))
    assert "!nontemporal" not in program.trace().lower().as_text("llvm")


def test_what_is_read_is_read_as_usual() -> None:
    program = loaded("fun((x : 8.f32), x |> nontemporal |> reduceSeq(add, 0.0))")
    assert program(np.ones(8, np.float32)) == 8


def test_open_sizes() -> None:
    @rl.jit(strategy="none", sizes="symbolic")
    def double(x: rl.Array["N", "M", 4, rl.f32]):
        rows = x | rl.map_seq(
            rl.map_seq(
                lambda row: row | rl.as_vector(4) | rl.map_seq(lambda v: v + v) | rl.as_scalar
            )
        )
        return rows | rl.nontemporal

    for rows, columns in ((0, 3), (1, 1), (5, 3)):
        x = np.arange(rows * columns * 4, dtype=np.float32).reshape(rows, columns, 4)
        assert np.array_equal(double(x), x + x)


def test_a_strategy_asks_for_it() -> None:
    in_maps = [each @ st.outermost("map") for each in (st.nontemporal(), st.vectorize(4))]

    @rl.jit(strategy=st.seq(*in_maps))
    def double(x: rl.Array[64, rl.f32]):
        return x | rl.map(lambda e: e + e)

    assert "nontemporal" in str(double.trace().lower().as_text("notation"))
    x = np.arange(64, dtype=np.float32)
    assert np.array_equal(double(x), x + x)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("size", [64, 128])
def test_transposes_in_tiles(size: int) -> None:
    strategy = tiled_transpose(64, 32, 4, nontemporal=True) @ st.outermost("transpose")
    x = np.random.default_rng(0).random((size, size), np.float32)
    assert np.array_equal(loaded(TRANSPOSE.format(size), strategy)(x), x.T)


@pytest.mark.parametrize(
    ("machine", "size", "expected"),
    [("AVX-512", 4096, True), ("AVX2", 4096, True), ("Neoverse N1", 4096, False),
     ("AVX-512", 512, False), ("AVX2", 512, False)],
)  # fmt: skip
def test_large_transposes_bypass_caches_that_would_read_them(
    machine: str, size: int, expected: bool
) -> None:
    with assume_machine(MACHINES[machine]):
        program: Any = rl.loads(TRANSPOSE.format(size), name="program.rise")
        text = program.main.trace().lower().as_text("notation")
    assert ("nontemporal" in text) == expected
