"""`prefetch` changes no value, and asks for what comes later where that is a place in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
import riselang.strategy as st
from riselang.lowering.buffer_access import NEAR_BYTES
from riselang.tools import rise_opt
from support.tool_runs import called


def loaded(text: str) -> Any:
    module: Any = rl.loads(text, name="program.rise", strategy="none")
    return module.main


def fetches(program: Any) -> list[str]:
    text = program.trace().lower().as_text("affine")
    return [line.strip() for line in text.splitlines() if "memref.prefetch" in line]


ROWS = "fun((x : 8.64.f32), x |> prefetch({}) |> mapSeq(fun(row, row |> mapSeq(fun(e, e + e)))))"


@pytest.mark.parametrize("distance", [0, 1, 7, 8, 1000])
def test_near_elements_are_fetched_into_the_first_cache(distance: int) -> None:
    """What is fetched may be behind the end: a prefetch never fails."""
    x = np.random.default_rng(0).random((8, 64), np.float32)
    program = loaded(ROWS.format(distance))
    assert np.array_equal(program(x), x + x)
    (found,) = fetches(program)
    locality = 3 if distance * 64 * 4 <= NEAR_BYTES else 2
    assert f"read, locality<{locality}>, data : memref<8x64xf32>" in found


def test_machine_code_has_it() -> None:
    code = loaded(ROWS.format(2)).trace().lower().as_text("asm")
    assert "prfm" in code or "prefetch" in code


def test_a_line_is_fetched_once() -> None:
    text = (
        "fun((x : 8.64.f32), x |> prefetch(2) |> mapSeq(fun(row, row |> split(32)"
        " |> mapSeq(fun(part, part |> asVector(4) |> mapSeqUnroll(fun(v, v + v)) |> asScalar))"
        " |> join)))"
    )
    program = loaded(text)
    assert len(fetches(program)) == 2  # of 32 floats
    x = np.random.default_rng(0).random((8, 64), np.float32)
    assert np.array_equal(program(x), x + x)


def test_an_array_that_other_loops_share_is_fetched() -> None:
    """`generate` repeats the array for each of them."""
    text = """fun((x : 4.64.f32), generate(fun((i : idx[3]), x)) |> mapSeq(fun(y,
      y |> mapSeq(fun(row, row |> prefetch(16) |> mapSeq(fun(e, e + e)))))))"""
    program = loaded(text)
    assert len(fetches(program)) == 1
    x = np.random.default_rng(0).random((4, 64), np.float32)
    assert np.array_equal(program(x), np.stack([x + x] * 3))


def test_indices_are_not_fetched() -> None:
    """They are in no memory."""
    text = """fun((x : 4.f32), generate(fun((i : idx[4]), i)) |> prefetch(2)
      |> mapSeq(fun(i, fromIdx(i))))"""
    program = loaded(text)
    assert not fetches(program)
    assert np.array_equal(program(np.ones(4, np.float32)), np.arange(4))


def test_vectors_of_pairs_are_fetched() -> None:
    text = """fun((x : 64.f32, y : 64.f32), zip(x |> asVector(4), y |> asVector(4))
      |> prefetch(16) |> mapSeq(fun(p, fst(p) + snd(p))) |> asScalar)"""
    program = loaded(text)
    assert [line.split("[")[0] for line in fetches(program)] == [
        "memref.prefetch %x", "memref.prefetch %y",
    ]  # fmt: skip
    x = np.arange(64, dtype=np.float32)
    assert np.array_equal(program(x, x), x + x)


def test_what_is_computed_is_not_fetched() -> None:
    text = "fun((x : 8.f32), x |> map(fun(e, e * e)) |> prefetch(2) |> mapSeq(fun(e, e + e)))"
    program = loaded(text)
    assert not fetches(program)
    assert np.array_equal(program(np.ones(8, np.float32)), np.full(8, 2, np.float32))


def test_a_result_is_stored_as_if_it_were_not_there() -> None:
    program = loaded("fun((x : 8.f32), x |> mapSeq(fun(e, e + e)) |> prefetch(2))")
    assert not fetches(program)
    assert np.array_equal(program(np.ones(8, np.float32)), np.full(8, 2, np.float32))


def test_parts_and_open_sizes() -> None:
    @rl.jit(strategy="none", sizes="symbolic")
    def main(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]):
        pairs = rl.zip(x, y) | rl.prefetch(4)
        return pairs | rl.reduce_seq(lambda acc, p: acc + p[0] * p[1], 0.0)

    for count in (0, 1, 3, 100):
        x = np.arange(count, dtype=np.float32)
        assert main(x, x) == (x * x).sum()


def test_a_strategy_asks_for_it() -> None:
    @rl.jit(strategy=st.prefetch(4) @ st.outermost("map"))
    def rows(x: rl.Array[16, 64, rl.f32]):
        return x | rl.map(lambda row: row | rl.reduce(rl.add, 0.0))

    assert "prefetch(4) |> map" in str(rows.trace().lower().as_text("notation"))
    x = np.ones((16, 64), np.float32)
    assert np.array_equal(rows(x), x.sum(1))


def test_a_scalar_in_a_register_is_not_fetched() -> None:
    program = loaded(
        "fun((x : 8.f32, y : 4.f32), y |> mapSeq(fun(e, (fun(s,"
        " x |> map(fun(a, s)) |> prefetch(1) |> reduceSeq(add, 0.0)))(e * e))))"
    )
    assert not fetches(program)
    y = np.arange(4, dtype=np.float32)
    assert np.array_equal(program(np.ones(8, np.float32), y), 8 * y * y)


def test_a_distance_of_an_unknown_size_has_a_message(tmp_path: Path) -> None:
    path = tmp_path / "fetched.mlir"
    path.write_text("""
func.func @fetched(%out: memref<8xf32>, %x: memref<8xf32>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<8, scalar<f32>>
    %prefetch = rise.prefetch #rise.nat<w> #rise.nat<8> #rise.scalar<f32>
    %1 = rise.apply %prefetch, %0
    %fun = rise.lambda (%e : !rise.scalar<f32>) -> !rise.scalar<f32> {
      rise.return %e : !rise.scalar<f32>
    }
    %map = rise.mapSeq #rise.nat<8> #rise.scalar<f32> #rise.scalar<f32>
    %2 = rise.apply %map, %fun, %1
    rise.out %out <- %2
    rise.return
  }
  func.return
}
""")
    passes = "convert-rise-to-imperative,resolve-rise-access"
    outcome = called(rise_opt.main, [str(path), "-p", passes])
    assert outcome.code == 1
    assert "fetched.mlir:5:5" in outcome.errors
    assert "the size w is not determined by the shapes of the arrays" in outcome.errors


PADDED = """fun((x : 4.30.f32), x |> {} |> split(8) |> mapSeq(fun(rows,
  rows |> prefetch(2) |> mapSeq(fun(row, row |> mapSeq(fun(e, e + e)))))))"""


@pytest.mark.parametrize(
    ("padding", "count"),
    [("padConst(0, 4, generate(fun((i : idx[30]), 0.0)))", 1),
     ("padConst(4, 0, generate(fun((i : idx[30]), 0.0)))", 0)],
)  # fmt: skip
def test_an_array_with_padding_at_its_end_is_fetched(padding: str, count: int) -> None:
    """An address after the array fails no prefetch; those before it would need a condition."""
    program = loaded(PADDED.format(padding))
    assert len(fetches(program)) == count
    x = np.random.default_rng(0).random((4, 30), np.float32)
    zeros = np.zeros_like(x)
    parts = (x, zeros) if count else (zeros, x)
    expected = 2 * np.concatenate(parts)
    assert np.array_equal(program(x).reshape(8, 30), expected)
