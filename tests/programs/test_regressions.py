"""Programs that random testing found to go wrong, each with what was wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.notation.program import parse_term
from riselang.term.from_dialect import read_units
from riselang.term.nodes import Term
from riselang.term.to_dialect import program_module


def test_a_chain_of_divisions_on_threads_compiles() -> None:
    """LLVM's vectoriser took minutes for the selects around eleven divisions."""

    @rl.jit
    def divide(v: rl.Array[5, rl.i32], x: rl.Array[11, rl.i32]):
        return v | rl.map_par(lambda e: x | rl.reduce(lambda b, a: a // b, -5))

    v, x = np.arange(5, dtype=np.int32), np.arange(11, dtype=np.int32)
    assert np.array_equal(divide(v, x), rl.jit(divide, backend="interpret")(v, x))
    assert "func.call @rise_floordivsi_i32" in divide.lower(v, x).as_text("affine")


def test_a_division_by_a_constant_stays_in_line() -> None:
    @rl.jit
    def halve(x: rl.Array[4, rl.i32]):
        return x | rl.map(lambda a: a // 2)

    assert "func.call" not in halve.lower().as_text("affine")


def reread(term: Term) -> Term:
    module = program_module(term, "f")
    function = module.body.block.first_op
    assert function is not None
    return read_units(function)[0][1].term


def test_projections_of_a_named_pair_are_not_named() -> None:
    """Reading back what was emitted named `fst(fst(s))`, and named more each time."""
    term = parse_term(
        "fun((v : 4.f32, w : 5.f32, p : (f32 x f32)), let s = (p, v |> map(fun(x, w)));"
        " min(fst(fst(s)), let y = fst(fst(s)); y))"
    )
    once = reread(term)
    assert reread(once) == once


def test_a_parallel_loop_with_calls_and_loops_in_it() -> None:
    """MLIR could not lower the scope for stack memory around a body with a call."""

    @rl.jit
    def soft(x: rl.Array["N", "M", rl.f32]):
        return x | rl.map_par(lambda row: row | rl.map(rl.math.exp) | rl.reduce(rl.add, 0.0))

    x = np.random.default_rng(0).random((5, 7), np.float32)
    assert np.array_equal(soft(x), rl.jit(soft, backend="interpret")(x))


def test_an_index_that_a_loop_carries_is_no_affine_dimension() -> None:
    @rl.jit
    def walk(a: rl.Array[2, rl.i16], b: rl.Array[5, rl.i32]):
        return b | rl.map(
            lambda start: (
                a
                | rl.reduce(lambda i, x: rl.clamp_idx(5, rl.at(i, b)), rl.clamp_idx(5, start))
                | rl.from_idx
            )
        )

    a, b = np.zeros(2, np.int16), np.array([3, 0, 4, 1, 2], np.int32)
    assert np.array_equal(walk(a, b), rl.jit(walk, backend="interpret")(a, b))


def test_a_truth_value_as_an_index() -> None:
    @rl.jit
    def pick(t: rl.Array[2, rl.i1]):
        return t | rl.map(lambda v: rl.from_idx(rl.clamp_idx(3, v)))

    t = np.array([False, True])
    assert pick(t).tolist() == rl.jit(pick, backend="interpret")(t).tolist() == [0, 1]


@pytest.mark.rotating(5)
@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.sampled(1)
def test_iterations_of_a_parallel_loop_give_back_their_stack(
    threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """50 MB of temporaries, one after the other, on a stack of 8."""
    monkeypatch.setenv("RISE_NUM_THREADS", threads)
    text = """fun((x : 4.50000.64.f32), x |> mapSeq(fun(rows, rows |> mapPar(fun(row,
      let y = row |> mapSeq(fun(e, e * e)) |> toMem(stack);
      y |> mapSeq(fun(e, e + (y |> reduceSeq(add, 0.0)))))))))"""
    kernel: Any = rl.loads(text, name="program.rise", strategy="none")
    x = np.random.default_rng(0).random((4, 50000, 64), np.float32)
    squares = x * x
    expected = squares + squares.sum(-1, keepdims=True)
    np.testing.assert_allclose(kernel.main(x), expected, rtol=1e-5)


KEPT_IN_REGISTERS = {
    "scatter": "scatter(i, y, reduce(fun((a : 2.f32, e : f32), a), p, z))",
    "gather": "gather(j, reduce(fun((a : 2.f32, e : f32), a), p, z))",
    "at": "y |> map(fun(e, e + (reduce(fun((a : 2.f32, e : f32), a), p, z) |> at(i |> at(k)))))",
}
VECTORS_KEPT_IN_REGISTERS = """fun(
  (rows : 2.f64, start : 12.i16, more : 3.f64, kept : 4.i16, given : 12.i16, places : 2.idx[6]),
  rows |> reduce(
    fun((old, row),
      more |> reduce(fun((acc, e), kept |> asVector(2)), kept |> asVector(2))
      |> scatter(places, given |> asVector(2))),
    start |> asVector(2)) |> asScalar)"""


@pytest.mark.parametrize("name", KEPT_IN_REGISTERS)
@pytest.mark.parametrize("strategy", ["none", None])
def test_a_run_time_index_reads_an_array_that_is_kept_in_registers(
    name: str, strategy: str | None
) -> None:
    """Only numbers were expected as indices of such an array: the compiler crashed."""
    bound = "3" if name == "scatter" else "2"
    text = (
        f"def main = fun((i : 2.idx[{bound}], j : 3.idx[2], k : idx[2], z : 8.f32, y : 3.f32, "
        "p : 2.f32), "
        f"reduce(fun((acc : 3.f32, e : f32), {KEPT_IN_REGISTERS[name]}), y, z))"
    )
    arguments = (
        np.array([1, 0]), np.array([1, 0, 1]), np.array(1), np.ones(8, np.float32),
        np.arange(3, dtype=np.float32), np.array([5, 6], np.float32),
    )  # fmt: skip
    compiled: Any = rl.loads(text, name="a.rise", strategy=strategy)
    interpreted: Any = rl.loads(text, name="a.rise", backend="interpret")
    assert np.array_equal(compiled.main(*arguments), interpreted.main(*arguments))


@pytest.mark.parametrize("strategy", ["none", None])
def test_a_run_time_index_reads_vectors_that_are_kept_in_registers(strategy: str | None) -> None:
    """Random program 8304 and following: vectors took the way of constant indices alone."""
    given, kept = np.arange(12, dtype=np.int16), np.arange(100, 104, dtype=np.int16)
    arguments = np.ones(2), np.zeros(12, np.int16), np.ones(3), kept, given, np.array([4, 1])
    compiled: Any = rl.loads(VECTORS_KEPT_IN_REGISTERS, name="a.rise", strategy=strategy)
    expected = given.reshape(6, 2).copy()
    expected[[4, 1]] = kept.reshape(2, 2)
    assert np.array_equal(compiled.main(*arguments), expected.reshape(12))


@pytest.mark.parametrize("loops", ["affine", "scf"])
def test_an_index_that_is_the_largest_of_three_numbers(loops: Any) -> None:
    text = "fun((x : 2.1.5.f32), x |> pad(0, 0) |> join |> padReflect(1, 0))"
    program: Any = rl.loads(text, name="p.rise", loops=loops)
    x = np.arange(10, dtype=np.float32).reshape(2, 1, 5)
    assert np.array_equal(program.main(x), x[[1, 0, 1], 0])


@pytest.mark.parametrize("loops", ["affine", "scf"])
def test_a_constant_array_is_read_in_a_part_of_a_concatenation(loops: Any) -> None:
    """A branch that was not a part of the module yet looked for the constant in it."""
    numbers = "[3_u32] |> map(fun(e, [[3_i64], [7_i64], [1_i64]]))"
    text = f"fun((x : 2.3.1.i64), {numbers} |> concat(x) |> map(mapSeqUnroll(map(fun(e, e)))))"
    program: Any = rl.loads(text, name="p.rise", loops=loops)
    x = np.arange(6).reshape(2, 3, 1)
    expected = np.concatenate([x, [[[3], [7], [1]]]])
    assert np.array_equal(program.main(x), expected)
