"""`reducePar` and parallel loops inside each other: the same bits on any number of threads."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from agreement import agree, text

import riselang as rl

CHUNK = 4096


@pytest.mark.sampled(2)
@pytest.mark.parametrize("length", [0, 1, CHUNK, CHUNK + 1, 5 * CHUNK + 7])
def test_the_order_of_a_sum_does_not_depend_on_the_threads(length: int) -> None:
    def total(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.reduce_par(rl.add, 0.5)

    x = np.random.default_rng(length).standard_normal(length).astype(np.float32)
    agree(total, x, threads=(1, 2, 3))


def test_a_sum_on_threads_is_a_parallel_loop() -> None:
    def total(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.reduce_par(rl.add, 0.0)

    assert text(total, np.zeros(3 * CHUNK, np.float32)).count("affine.parallel") == 1
    assert "parallel" not in text(total, np.zeros(CHUNK, np.float32))


@pytest.mark.rotating(3)
def test_a_function_that_does_not_commute() -> None:
    """Composition of x -> a x + b, with the start value in every chunk."""

    def compose(a: rl.Array["N", rl.i64], b: rl.Array["N", rl.i64]) -> Any:
        return rl.zip(a, b) | rl.reduce_par(
            lambda g, f: rl.tuple(rl.fst(f) * rl.fst(g), rl.fst(f) * rl.snd(g) + rl.snd(f)),
            rl.tuple(rl.cast(3, rl.i64), rl.cast(1, rl.i64)),
        )

    source = np.random.default_rng(1)
    a, b = (source.integers(-9, 9, 2 * CHUNK + 100) for _ in range(2))
    agree(compose, a, b, threads=(1, 2, 3))


@pytest.mark.rotating(3)
def test_rows_as_accumulators_of_a_computed_array() -> None:
    def sums(x: rl.Array["N", rl.f32]) -> Any:
        rows = x | rl.map(lambda v: v * 3) | rl.split(2)
        zero = rl.generate(lambda i: rl.cast(rl.from_idx(i), rl.f32))
        return rows | rl.reduce_par(lambda s, r: rl.zip(r, s) | rl.map(rl.add), zero)

    x = np.random.default_rng(2).standard_normal(2 * (CHUNK + 9)).astype(np.float32)
    agree(sums, x, threads=(1, 2))


def test_parallel_loops_inside_each_other() -> None:
    """The outermost runs on threads, the ones inside in the thread that reaches them."""

    def nested(m: rl.Array[5, 4, 6, rl.f32]) -> Any:
        return m | rl.map_par(
            rl.map_par(lambda row: row | rl.map_par(lambda v: v * v) | rl.scan(rl.add, 0.0))
        )

    m = np.random.default_rng(3).standard_normal((5, 4, 6)).astype(np.float32)
    agree(nested, m, threads=(1, 2, 3))
    assert text(nested, m).count("affine.parallel") == 1


def test_a_parallel_loop_of_one_iteration_leaves_the_threads_to_the_one_inside() -> None:
    def nested(m: rl.Array[1, 8, rl.f32]) -> Any:
        return m | rl.map_par(rl.map_par(lambda v: v + 1))

    m = np.arange(8, dtype=np.float32).reshape(1, 8)
    agree(nested, m, threads=(1, 2, 3))
    assert "affine.parallel (%i_1) = (0) to (8)" in text(nested, m)
    assert text(nested, m).count("affine.parallel") == 1


def test_a_parallel_loop_that_a_view_brings_into_another() -> None:
    """The inner loop stands in a map that is only read, so it gets inside while lowering."""

    def brought(m: rl.Array[6, 5, rl.f32]) -> Any:
        totals = m | rl.map(lambda row: row | rl.map_par(lambda v: v * 2) | rl.reduce(rl.add, 0.0))
        return totals | rl.reverse() | rl.map_par(lambda total: total + 1.0)

    m = np.random.default_rng(4).standard_normal((6, 5)).astype(np.float32)
    agree(brought, m, threads=(1, 2, 3))
    assert text(brought, m).count("affine.parallel") == 1


def test_a_reduction_on_threads_inside_a_parallel_map() -> None:
    def nested(m: rl.Array[3, "N", rl.f32]) -> Any:
        return m | rl.map_par(rl.reduce_par(rl.add, 0.0))

    m = np.random.default_rng(5).standard_normal((3, CHUNK + 50)).astype(np.float32)
    agree(nested, m, threads=(1, 2, 3))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("outer", ["affine", "scf"])
@pytest.mark.parametrize("inner", ["affine", "scf"])
def test_loop_dialects_mix(outer: str, inner: str) -> None:
    """Unmodified MLIR takes any mixture, also with parallel loops, whiles and sorts in it."""

    def mixed(m: rl.Array[4, 6, rl.i64]) -> Any:
        def row(xs: Any) -> Any:
            grown = xs | rl.map_seq(rl.while_(lambda v: v < 9, lambda v: v * 2 + 1), to=inner)
            ordered = grown | rl.pad(1, 1) | rl.sort(lambda a, b: a < b)
            return ordered | rl.slide(3, 1) | rl.map(rl.reduce_seq(rl.add, 0, to=outer))

        return (
            m
            | rl.map_par(row, to=outer)
            | rl.scan(
                lambda s, r: rl.zip(r, s) | rl.map_seq(rl.add, to=inner),
                rl.generate(lambda i: rl.cast(rl.from_idx(i), rl.i64)),
                to=outer,
            )
        )

    agree(mixed, np.random.default_rng(6).integers(0, 9, (4, 6)), threads=(1, 2))


FORKING = """
import os, signal, numpy as np, riselang as rl

@rl.jit
def plus_one(x: rl.Array["N", "M", rl.f32]):
    return x | rl.map_par(rl.map(lambda a: a + 1.0))

x = np.ones((64, 100), np.float32)
assert (plus_one(x) == 2).all()
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(0 if (plus_one(x) == 2).all() else 1)
assert os.waitpid(child, 0)[1] == 0
assert (plus_one(x) == 2).all()
"""


@pytest.mark.rotating(4)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_threads_in_a_process_that_was_forked() -> None:
    environment = {**os.environ, "RISE_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", FORKING], env=environment, check=True, timeout=120)
