"""Programs for a GPU, and what they are called with."""

from __future__ import annotations

import numpy as np

from riselang.api.kernel import TermKernel
from riselang.dialects.rise.types import leaves
from riselang.interpreter.scalar_semantics import numpy_dtype
from riselang.notation.program import parse_term
from riselang.support.config import Options
from support.numpy_scalars import Array

Launched = list[tuple[tuple[int, ...], tuple[int, ...]]]
ONE = (1, 1, 1)

SUMS = (
    "fun((sums, p), zip(fst(p), sums) |> map(fun(q, "
    "zip(snd(p), snd(q)) |> map(fun(s, fma(fst(q), fst(s), snd(s)))))))"
)
ZERO = "generate(fun((i : idx[2]), generate(fun((j : idx[2]), 0.0))))"
TILE = f"zip(r |> transpose, c |> transpose) |> reduceSeq({SUMS}, {ZERO})"
COLUMNS = (
    f"columns |> split(4) |> transpose |> mapThread(0, fun(c, {TILE})) "
    "|> transpose |> map(fun(x, x |> transpose |> join))"
)
ROWS = f"rows |> split(2) |> transpose |> mapThread(1, fun(r, {COLUMNS})) |> transpose |> join"
BLOCKS = (
    f"b |> transpose |> split(8) |> mapBlock(0, fun(columns, {ROWS})) |> transpose |> map(join)"
)
TILED = (
    f"fun((a : 8.6.f32, b : 6.16.f32), a |> split(4) |> mapBlock(1, fun(rows, {BLOCKS})) |> join)"
)
"""A product of matrices with four sums for each thread, of rows and columns that lie apart."""

ADDED = "fun((sums, r), zip(r, sums) |> map(fun(p, fst(p) + snd(p))))"
ZEROS = "generate(fun((i : idx[70]), 0.0))"
UNEVEN = (
    "fun((x : 2.3.4.f32, y : 2.4.5.70.f32), zip(x, y) |> mapBlock(0, fun(both, "
    "let(fst(both) |> mapThread(1, mapThread(0, fun(e, e * 2.0))), fun(t, "
    "zip(t |> transpose, snd(both)) |> mapThread(0, fun(p, snd(p) |> "
    f"reduceSeq({ADDED}, generate(fun((i : idx[70]), fst(p) |> reduceSeq(add, 0.0)))))))))))"
)
"""Loops over both dimensions of a block, and one over the first that folds in memory."""

PROGRAMS: dict[str, tuple[str, Launched]] = {
    "threads of all blocks": (
        "fun((x : 700.f32), x |> mapPar(fun(e, e * 2.0)))",
        [((3, 1, 1), (256, 1, 1))],
    ),
    "blocks and threads": (
        "fun((x : 6.40.f32), x |> mapBlock(0, mapThread(0, fun(e, e + 1.0))))",
        [((6, 1, 1), (40, 1, 1))],
    ),
    "all dimensions": (
        "fun((x : 2.3.2.3.f64), x |> mapBlock(2, mapBlock(1, mapThread(2, mapThread(1, "
        "fun(e, e * e))))))",
        [((1, 3, 2), (1, 3, 2))],
    ),
    "more iterations than threads": (
        "fun((x : 2.1500.i32), x |> mapBlock(0, mapThread(0, fun(e, e + 1))))",
        [((2, 1, 1), (1024, 1, 1))],
    ),
    "loops of different lengths": (
        "fun((x : 3.40.f32), x |> mapBlock(0, fun(r, let(r |> mapThread(0, fun(e, e * 2.0)), "
        "fun(t, t |> take(7) |> mapThread(0, fun(e, e + 1.0)))))))",
        [((3, 1, 1), (40, 1, 1))],
    ),
    "memory of a block, read in another order": (
        "fun((x : 5.33.f32), x |> mapBlock(0, fun(r, let(r |> mapThread(0, fun(e, e * 2.0)), "
        "fun(t, t |> reverse |> mapThread(0, fun(e, e + 1.0)))))))",
        [((5, 1, 1), (33, 1, 1))],
    ),
    "memory of a block, used again in each round": (
        "fun((x : 4.9.8.f32), x |> mapBlock(0, fun(m, m |> mapSeq(fun(r, "
        "let(r |> mapThread(0, fun(e, e * 3.0)), "
        "fun(t, t |> reverse |> mapThread(0, fun(e, e - 1.0)))))))))",
        [((4, 1, 1), (8, 1, 1))],
    ),
    "a fold by each thread, of what all have stored": (
        "fun((x : 4.32.f32), x |> mapBlock(0, fun(r, let(r |> mapThread(0, fun(e, e * 2.0)), "
        "fun(t, r |> mapThread(0, fun(e, e + (t |> reduceSeq(add, 0.0)))))))))",
        [((4, 1, 1), (32, 1, 1))],
    ),
    "a fold of the block": (
        "fun((x : 4.32.f32), x |> mapBlock(0, fun(r, "
        "r |> mapThread(0, fun(e, e * 2.0)) |> reduceSeq(add, 0.0))))",
        [((4, 1, 1), (32, 1, 1))],
    ),
    "loops of the block beside those of threads": (
        "fun((x : 4.6.f32), x |> mapBlock(0, fun(r, let(r |> mapSeq(fun(e, e * 2.0)), "
        "fun(t, t |> reverse |> mapThread(0, fun(e, e + 1.0)))))))",
        [((4, 1, 1), (6, 1, 1))],
    ),
    "memory of a block without threads": (
        "fun((x : 4.6.f32), x |> mapBlock(0, fun(r, let(r |> mapSeq(fun(e, e * 2.0)), "
        "fun(t, t |> reverse |> mapSeq(fun(e, e + 1.0)))))))",
        [((4, 1, 1), ONE)],
    ),
    "warps and lanes": (
        "fun((x : 3.5.40.f32), x |> mapBlock(0, mapWarp(mapLane(fun(e, e * 2.0)))))",
        [((3, 1, 1), (160, 1, 1))],
    ),
    "kernels after each other": (
        "fun((x : 8.32.f32), x |> mapBlock(0, mapThread(0, fun(e, e * 2.0))) |> transpose "
        "|> mapBlock(0, mapThread(0, fun(e, e + 1.0))))",
        [((8, 1, 1), (32, 1, 1)), ((32, 1, 1), (8, 1, 1))],
    ),
    "sums of a thread in its registers, stored through views": (
        TILED,
        [((2, 2, 1), (4, 2, 1))],
    ),
    "sums in memory, by some of the threads": (UNEVEN, [((2, 1, 1), (4, 3, 1))]),
    "sums in memory, by a lane of each warp": (
        "fun((x : 2.3.5.70.f32), x |> mapBlock(0, mapWarp("
        f"fun(m, m |> reduceSeq({ADDED}, {ZEROS})))))",
        [((2, 1, 1), (96, 1, 1))],
    ),
    "a number from one kernel to the next": (
        "fun((x : 64.f32), let(x |> reduceSeq(add, 0.0), fun(s, x |> mapPar(fun(e, e / s)))))",
        [(ONE, ONE), (ONE, (64, 1, 1))],
    ),
    "kernels that the host repeats": (
        "fun((x : 64.f32), x |> iterateSeq(3, mapPar(fun(e, e * 2.0))))",
        [(ONE, (64, 1, 1))] * 5,
    ),
    "memory that depends on what was computed": (
        "fun((x : 8.f32), snd((0_index, x) |> while(fun(s, fst(s) < 3_index), "
        "fun(s, (fst(s) + 1_index, snd(s) |> mapSeq(fun(e, e * 2.0)))))))",
        [(ONE, (8, 1, 1)), (ONE, ONE), (ONE, (8, 1, 1))],
    ),
    "a map that says nothing": (
        "fun((x : 300.f32), x |> map(fun(e, e * 2.0)))",
        [((2, 1, 1), (256, 1, 1))],
    ),
    "copies": ("fun((x : 30.40.f32), x |> transpose)", [(ONE, (30, 1, 1))]),
    "what a GPU computes exactly": (
        "fun((x : 70.f32), x |> mapPar(fun(e, fma(sqrt(abs(e)), e, floor(e) / 3.0))))",
        [(ONE, (70, 1, 1))],
    ),
    "numbers of other types": (
        "fun((x : 70.bf16), x |> mapPar(fun(e, cast[i8](e) // 3_i8)))",
        [(ONE, (70, 1, 1))],
    ),
    "no element": (
        "fun((x : 0.f32, y : 3.f32), x |> concat(y) |> mapPar(fun(e, -e)))",
        [(ONE, (3, 1, 1))],
    ),
}


def kernel(text: str, backend: str = "compile") -> TermKernel:
    return TermKernel("f", parse_term(text), backend=backend, options=Options("gpu"), strategy=None)


def values(kernel: TermKernel) -> list[Array]:
    source = np.random.default_rng(7)
    found: list[Array] = []
    for type in kernel.lower().parameter_types:
        ((lengths, leaf),) = leaves(type)
        shape = tuple(length.constant for length in lengths)
        numbers = source.integers(-9, 9, shape).astype(np.float64) + 0.25
        found.append(numbers.astype(numpy_dtype(leaf)))
    return found
