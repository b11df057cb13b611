"""What each pattern means, against plain numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.interpreter import evaluate
from riselang.interpreter.pattern_semantics import MEANINGS
from riselang.lowering.imperative import compiled_patterns

X = np.array([3, 1, 4, 1, 5, 9], np.int64)
Y = np.array([2, 7, 1, 8, 2, 8], np.int64)
M = np.arange(12, dtype=np.int64).reshape(3, 4)


def idx(x: Any, bound: int) -> Any:
    return x | rl.map(rl.clamp_idx(bound))


def reflect(x: np.ndarray[Any, Any], left: int, right: int) -> np.ndarray[Any, Any]:
    return np.pad(x, (left, right), mode="reflect")


def stable_by_parity(x: np.ndarray[Any, Any]) -> list[int]:
    return sorted(x.tolist(), key=lambda v: v % 2)


# name -> (program over x : 6.i64, y : 6.i64, m : 3.4.i64, expected)
CASES: dict[str, tuple[Callable[[Any, Any, Any], Any], Any]] = {
    "scan": (lambda x, y, m: x | rl.scan(rl.add, 0), np.cumsum(X)),
    "scan keeps the order of its arguments": (
        lambda x, y, m: x | rl.scan(lambda acc, e: acc * 10 + e, 0),
        [3, 31, 314, 3141, 31415, 314159],
    ),
    "reverse": (lambda x, y, m: x | rl.reverse, X[::-1]),
    "padConst": (lambda x, y, m: x | rl.pad_const(2, 1, 7), np.pad(X, (2, 1), constant_values=7)),
    "padWrap": (lambda x, y, m: x | rl.pad_wrap(2, 3), np.pad(X, (2, 3), mode="wrap")),
    "padWrap of everything": (lambda x, y, m: x | rl.pad_wrap(6, 6), np.tile(X, 3)),
    "padReflect": (lambda x, y, m: x | rl.pad_reflect(2, 3), reflect(X, 2, 3)),
    "padReflect as far as it goes": (lambda x, y, m: x | rl.pad_reflect(5, 5), reflect(X, 5, 5)),
    "concat of computed arrays, read": (
        lambda x, y, m: rl.concat(x | rl.map(lambda v: v * 2), y | rl.map(lambda v: v + 1))
        | rl.slide(2, 1) | rl.map(lambda w: w | rl.reduce(rl.add, 0)),
        np.convolve(np.concatenate([X * 2, Y + 1]), [1, 1], "valid"),
    ),
    "padConst of rows": (
        lambda x, y, m: m | rl.pad_const(1, 1, x | rl.take(4)) | rl.map(rl.pad_const(1, 0, 9)),
        np.pad(np.vstack([X[:4], M, X[:4]]), ((0, 0), (1, 0)), constant_values=9),
    ),
    "padConst under a stencil": (
        lambda x, y, m: x | rl.map(lambda v: v * v) | rl.pad_const(1, 1, 0) | rl.slide(3, 1)
        | rl.map(lambda w: w | rl.reduce(rl.add, 0)),
        np.convolve(X * X, [1, 1, 1], "same"),
    ),
    "generate that is read": (
        lambda x, y, m: rl.zip(x, rl.generate(lambda i: rl.at(i, y)) | rl.reverse)
        | rl.map(rl.sub),
        X - Y[::-1],
    ),
    "gather of a computed array": (
        lambda x, y, m: rl.gather(idx(y, 6) | rl.reverse, x | rl.map(lambda v: v * 3)),
        (X * 3)[np.minimum(Y, 5)][::-1],
    ),
    "padReflect of padWrap": (
        lambda x, y, m: x | rl.pad_wrap(1, 1) | rl.pad_reflect(2, 2) | rl.drop(1) | rl.take(9),
        np.pad(np.pad(X, 1, mode="wrap"), 2, mode="reflect")[1:10],
    ),
    "take": (lambda x, y, m: x | rl.take(2), X[:2]),
    "take nothing": (lambda x, y, m: x | rl.take(0), X[:0]),
    "drop": (lambda x, y, m: x | rl.drop(2), X[2:]),
    "drop everything": (lambda x, y, m: x | rl.drop(6), X[6:]),
    "concat": (lambda x, y, m: rl.concat(x, y), np.concatenate([X, Y])),
    "at": (lambda x, y, m: rl.at(rl.clamp_idx(6, rl.cast(4, rl.i64)), x), X[4]),
    "sliceAt": (lambda x, y, m: rl.slice_at(2, rl.clamp_idx(5, 3), x), X[3:5]),
    "updateAt": (
        lambda x, y, m: rl.update_at(rl.clamp_idx(5, 3), y | rl.take(2), x),
        [3, 1, 4, 2, 7, 9],
    ),
    "gather": (lambda x, y, m: rl.gather(idx(y, 6), x), X[np.minimum(Y, 5)]),
    "reorder": (
        lambda x, y, m: x | rl.reorder(lambda i: rl.clamp_idx(6, 5 - rl.from_idx(i))),
        X[::-1],
    ),
    "scatter: the last write wins": (
        lambda x, y, m: rl.scatter(idx(y, 6), x, y),
        [3, 1, 2, 1, 5, 8],
    ),
    "scatterWith: a histogram": (
        lambda x, y, m: rl.scatter_with(rl.add, idx(y, 6), x | rl.map(lambda v: v * 0), y),
        np.bincount(np.minimum(Y, 5), weights=Y, minlength=6),
    ),
    "scatterWith takes (old, new)": (
        lambda x, y, m: rl.scatter_with(rl.sub, idx(x, 6), y, x),
        [2, 7 - 1 - 1, 1, 8 - 3, 2 - 4, 8 - 5 - 9],
    ),
    "scatterWith of rows": (
        lambda x, y, m: rl.scatter_with(
            lambda old, new: rl.zip(new, old | rl.reverse) | rl.map(rl.add),
            m | rl.join | rl.take(3) | rl.map(rl.clamp_idx(2)),
            m | rl.take(2),
            m,
        ),
        [M[0] + M[0][::-1], M[2] + (M[1] + M[1][::-1])[::-1]],
    ),
    "updateAt with what it replaces": (
        lambda x, y, m: rl.update_at(rl.clamp_idx(4, 2), x | rl.take(3) | rl.reverse, x),
        [3, 1, 4, 1, 3, 9],
    ),
    "generate": (
        lambda x, y, m: rl.zip(
            rl.generate(lambda i: rl.cast(rl.from_idx(i), rl.i64) * 2), x
        ) | rl.map(rl.add),
        X + 2 * np.arange(6),
    ),
    "iterate": (lambda x, y, m: x | rl.map(rl.iterate(3, lambda v: v * 2)), X * 8),
    "iterate zero times": (lambda x, y, m: x | rl.iterate(0, lambda v: v | rl.reverse), X),
    "while": (
        lambda x, y, m: x | rl.map(rl.while_(lambda v: v < 100, lambda v: v * v + 1)),
        [101, 677, 290, 677, 677, 6725],
    ),
    "sort": (lambda x, y, m: x | rl.sort(lambda a, b: a < b), np.sort(X)),
    "sort is stable": (
        lambda x, y, m: x | rl.sort(lambda a, b: a % 2 < b % 2),
        stable_by_parity(X),
    ),
    "clampIdx": (
        lambda x, y, m: x | rl.map(lambda v: rl.cast(rl.from_idx(rl.clamp_idx(4, v - 2)), rl.i64)),
        np.clip(X - 2, 0, 3),
    ),
    "checkIdx": (
        lambda x, y, m: x | rl.map(lambda v: rl.cast(rl.from_idx(rl.check_idx(10, v)), rl.i64)),
        X,
    ),
    "sizeOf": (
        lambda x, y, m: x | rl.map(lambda v: v * rl.cast(rl.size_of(m) + rl.size_of(x), rl.i64)),
        X * 9,
    ),
    "ifAtLeast": (lambda x, y, m: rl.if_at_least(6, 7, lambda n: y, lambda n: x), X),
    "mapSeqUnroll": (lambda x, y, m: x | rl.map_seq_unroll(lambda v: v + 1), X + 1),
    "reduceSeqUnroll": (lambda x, y, m: x | rl.reduce_seq_unroll(rl.add, 0), X.sum()),
    "scanSeq": (lambda x, y, m: x | rl.scan_seq(rl.max, 0), np.maximum.accumulate(X)),
    "iterateSeq": (lambda x, y, m: x | rl.map(rl.iterate_seq(2, lambda v: v + 1)), X + 2),
    "reducePar": (lambda x, y, m: x | rl.reduce_par(rl.add, 0), X.sum()),
    "toMem": (lambda x, y, m: x | rl.map(lambda v: v + 1) | rl.to_mem("stack"), X + 1),
    "asVector and asScalar": (lambda x, y, m: x | rl.as_vector(2) | rl.reverse | rl.as_scalar,
                              [5, 9, 4, 1, 3, 1]),
    "vectorFromScalar": (
        lambda x, y, m: x | rl.map(rl.vector_from_scalar(2)) | rl.as_scalar,
        np.repeat(X, 2),
    ),
    "circularBuffer": (
        lambda x, y, m: x | rl.circular_buffer(4, 3, lambda v: v * 2),
        2 * np.lib.stride_tricks.sliding_window_view(X, 3),
    ),
    "mma": (
        lambda x, y, m: rl.mma(
            2, 1, lambda a, p: a + rl.fst(p) * rl.snd(p), 1,
            m | rl.map(rl.split(2)) | rl.transpose, m | rl.take(2)
        ),
        1 + M @ np.array([[0, 2], [1, 3], [4, 6], [5, 7]]),
    ),
    "rotateValues": (
        lambda x, y, m: x | rl.rotate_values(3, lambda v: v),
        np.lib.stride_tricks.sliding_window_view(X, 3),
    ),
    "mapBlock and mapThread": (
        lambda x, y, m: m | rl.map_block(0, rl.map_thread(0, lambda v: v + 1)),
        M + 1,
    ),
    "mapRank and shard": (
        lambda x, y, m: m | rl.shard(0) | rl.map_rank(0, rl.map_rank(1, lambda v: v + 1)),
        M + 1,
    ),
    "mapWarp and mapLane": (lambda x, y, m: m | rl.map_warp(rl.map_lane(lambda v: -v)), -M),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_meaning(name: str) -> None:
    program, expected = CASES[name]

    def function(x: rl.Array[6, rl.i64], y: rl.Array[6, rl.i64], m: rl.Array[3, 4, rl.i64]):
        return program(x, y, m)

    found = rl.jit(function, backend="interpret")(X, Y, M)
    assert np.array_equal(found, np.asarray(expected))


COMPILED = [name for name in CASES if name.split(" ")[0].rstrip(":") in compiled_patterns()]


@pytest.mark.sampled(26)
@pytest.mark.parametrize("loops", ["affine", "scf"])
@pytest.mark.parametrize("name", COMPILED)
def test_compiled(name: str, loops: str) -> None:
    program, expected = CASES[name]

    def function(x: rl.Array[6, rl.i64], y: rl.Array[6, rl.i64], m: rl.Array[3, 4, rl.i64]):
        return program(x, y, m)

    text = rl.jit(function).lower().as_text("rise")
    out = np.full(np.shape(expected), -77, np.int64)
    rl.loads(text, loops=loops).function(out, X, Y, M)
    assert np.array_equal(out, np.asarray(expected))


def test_an_index_out_of_range_is_an_error_at_run_time() -> None:
    @rl.jit(backend="interpret")
    def pick(x: rl.Array["N", rl.i64]):
        return x | rl.map(lambda v: rl.at(rl.check_idx(6, v), x))

    with pytest.raises(rl.UserError, match=r"checkIdx: the index 9 is not in \[0, 6\)"):
        pick(X)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda x: x | rl.pad_wrap(7, 0), "padWrap: l must be at most 6, but is 7"),
        (lambda x: x | rl.pad_reflect(0, 6), "padReflect: r must be at most 5, but is 6"),
        (lambda x: x | rl.take(7), "take, argument 1"),
        (lambda x: x | rl.to_mem("attic"), "expected one of heap, stack, register, shared"),
        (lambda x: x | rl.map(lambda v: rl.clamp_idx(4, rl.cast(v, rl.f32))), "but found f32"),
        (lambda x: rl.at(x | rl.reduce(rl.add, 0), x), "at, argument 1: expected idx[6]"),
    ],
)
def test_mistakes_are_explained(program: Callable[[Any], Any], message: str) -> None:
    def function(x: rl.Array[6, rl.i64]):
        return program(x)

    with pytest.raises(rl.UserError) as caught:
        rl.jit(function).lower()
    assert message in str(caught.value)


def test_the_compiler_refuses_by_name_what_only_a_gpu_does() -> None:
    @rl.jit
    def turn(x: rl.Array["N", rl.f32]):
        return x | rl.map_block(0, lambda a: a)

    with pytest.raises(rl.LimitationError, match='mapBlock compiles only with loops="gpu"'):
        turn(np.ones(3, np.float32))


def test_a_pattern_without_a_meaning_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {name: meaning for name, meaning in MEANINGS.items() if name != "reverse"}
    monkeypatch.setattr(evaluate, "MEANINGS", known)

    @rl.jit(backend="interpret")
    def turned(x: rl.Array[6, rl.i64]) -> Any:
        return x | rl.reverse

    with pytest.raises(rl.InternalError, match="does not know the pattern reverse; add") as caught:
        turned(X)
    assert "src/riselang/interpreter/pattern_semantics.py" in caught.value.message
    assert caught.value.location is not None
