"""Causes of work that loops repeated, each as the smallest program that shows it.

The loops of each program perform no more work than the program as written, and compute what the
interpreter computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.dialects.rise.types import RiseType, i1, is_float, leaves, uncurry
from support.work import check_lowered_work

PROGRAMS: Mapping[str, str] = {
    "the start of a partially applied reduction": """
        fun((x : 4.6.f32, y : 7.f32) => x |> map(reduce(add, y |> reduce(max, 0.0))))""",
    "a partially applied function inside another one": """
        fun((x : 5.4.6.f32, y : 9.f32) => x |> map(map(reduce(add, y |> reduce(max, 0.0)))))""",
    "an array that a let binds to a reduction": """
        fun((x : 3.8.f32, y : 8.f32) =>
          let sums = x |> reduce(
            fun(a => fun(b => zip(a, b) |> map(fun(p => fst(p) + snd(p))) |> reverse)), y);
          (sums, sums |> map(fun(a => a * 2.0))))""",
    "a pair that a let binds": """
        fun((x : 16.f32, a : f32) => let p = (x, a + 1.0); (fst(p), snd(p)))""",
    "the result of a let": """
        fun((x : 8.8.f32) => let y = x |> map(map(fun(a => a * 2.0))) |> transpose; y)""",
    "a function that is applied directly": """
        fun((x : 7.8.f32, y : 3.f32) =>
          (fun(z => z))(x |> map(fun(row => y |> concat(row |> scan(add, 0.0))))))""",
    "a part at a computed index that a let binds": """
        fun((x : 5.18.f32, i : 4.i32) =>
          let row = x |> at(i |> reduce(add, 0) |> clampIdx(5));
          (row, row |> map(fun(a => a + 1.0))))""",
    "one element of a map": """
        fun((x : 3.40.f32, y : 9.f32, i : i32) =>
          x |> map(fun(row => row |> map(fun(a => a * (y |> reduce(add, 0.0))))))
          |> at(i |> clampIdx(3)))""",
    "updateAt": "fun((x : 40.f32, y : 9.f32, i : idx[32]) => x |> updateAt(i, y))",
    "a scalar in memory as an index": """
        fun((x : 11.4.f16) =>
          x |> reorder(fun(i => fromIdx(i) |> toMem(register) |> clampIdx(11))))""",
    "rows that are computed for each of their elements": """
        fun((x : 3.2.4.f32) =>
          x |> map(fun(rows => rows |> map(mapSeq(fun(a => a + 1.0))))) |> pad(1, 1))""",
    "sums of rows that a reduction reads by element": """
        fun((x : 11.4.2.f32, y : 2.f32) =>
          x |> map(reduce(
            fun(a => fun(b => zip(a, b) |> map(fun(p => fst(p) + snd(p))) |> reverse)), y))
          |> map(reduce(add, 0.0)))""",
    "windows in a circular buffer that a let binds": """
        fun((x : 15.f32) =>
          let w = x |> circularBuffer(5, 3, fun(a => a * 2.0));
          (w |> map(reduce(add, 0.0)), w |> map(reduce(max, 0.0))))""",
    "windows of a computed array that a let binds": """
        fun((x : 16.f32) =>
          let w = x |> scan(add, 0.0) |> slide(7, 3);
          (w |> map(reduce(add, 0.0)), w |> map(reduce(max, 0.0))))""",
    "the function of an iteration, which has a computed argument": """
        fun((x : 2.7.f32, y : 3.5.f32, z : 7.f32) => x |> iterate(2, reduce(
          fun(a => fun(b => a)), y |> map(fun(row => z |> scan(add, 0.0))) |> take(2))))""",
    "a part of a pair that is known": """
        fun((x : 64.f32, y : f32) => let p = fst(((x, y + 1.0), y)); (fst(p), snd(p)))""",
    "a view at computed indices that a let binds": """
        fun((x : 9.f32, i : idx[9]) =>
          let y = x |> reorder(fun(j => clampIdx(9, fromIdx(i) + fromIdx(j)))) |> reverse;
          zip(y, y |> reverse) |> map(fun(p => fst(p) * snd(p))))""",
    "the index of a row in vectors": """
        fun((x : 8.6.f32, i : 5.idx[8]) =>
          x |> gather(i) |> map(fun(row => row |> asVector(2))))""",
    "rows that are all the same and that a let binds": """
        fun((x : 13.f32, y : 2.f32) =>
          let rows = generate(fun((i : idx[3]) => x));
          y |> map(fun(a => a * (rows |> map(reduce(add, 0.0)) |> reduce(max, 0.0)))))""",
    "an empty array": """
        fun((x : 13.f32, y : 0.f32) => x |> map(fun(a => y |> map(fun(b => a + b)))))""",
    "a branch that the sizes decide": """
        fun((x : 8.f32) => x |> map(fun(a =>
          a * ifAtLeast(2, 3, fun(n => cast[f32](cast[i64](n))), fun(n => a)))))""",
    "vectors of one of two arrays": """
        fun((x : 14.4.f32, y : 4.4.f32, z : 4.f32) =>
          x |> map(asVector(4)) |> join
          |> concat(y |> map(asVector(4)) |> join
            |> map(fun(v => v * (z |> asVector(4) |> at(clampIdx(1, 0))))))
          |> drop(1) |> asScalar)""",
    "one of two zipped arrays": """
        fun((x : 13.f32, y : 3.f32, z : 4.f16) =>
          fst(zip(
            generate(fun((i : idx[13]) => y |> map(fun(a =>
              z |> mapSeq(fun(b => b)) |> split(4) |> at(clampIdx(1, 0)))))), x)
          |> unzip))""",
    "a gather that a nested function reads": """
        fun((x : 32.f32, y : 4.2.f16, i : 26.idx[4]) =>
          let rows = y |> gather(i);
          x |> map(fun(a => a * cast[f32](rows |> map(reduce(add, 0.0)) |> reduce(max, 0.0)))))""",
    "an element of an array that is updated, which a let binds": """
        fun((x : 1.12.f64, y : 4.12.f64, i : 1.idx[4], k : idx[4]) =>
          let row = x |> scatter(i, y) |> at(k);
          (row, row |> map(fun(a => a + 1.0))))""",
    "loops in an array that is read by element": """
        fun((x : 5.2.i32, y : 8.2.i32) =>
          x |> map(fun(row =>
            y |> map(mapSeqUnroll(fun(a => a ^ (row |> reduce(bitor, 3)))))))
          |> transpose |> reduce(fun((s, rows) => rows |> reduce(reduce(add), s)), 0))""",
    "the start of a parallel reduction at computed indices": """
        fun((x : 2.11.6.f16, y : 6.11.f16, i : 6.idx[6]) =>
          x |> reducePar(fun(a => reverse), y |> gather(i) |> transpose))""",
    "the start of a partially applied reduction, which is copied": """
        fun((x : 13.2.i32, y : 40.i32, z : i32) =>
          x |> map(reduce(add, snd((y, z) |> toMem(heap)))))""",
    "a pair of a variable and a loop, generated at one index": """
        fun((x : 16.f32, y : 5.f32, k : i32) =>
          generate(fun((i : idx[3]) =>
            (x, y |> mapPar(fun(a => a * cast[f32](cast[i32](fromIdx(i))))))))
          |> at(k |> clampIdx(3)) |> toMem(register))""",
    "an element of one of two arrays, one of which is stored": """
        fun((x : 0.8.f32, y : 8.f32, k : i32) =>
          let row = x |> concat(generate(fun((i : idx[1]) => y |> mapPar(fun(a => a * 2.0)))))
            |> at(k |> clampIdx(1));
          (row, row |> map(fun(a => a + 1.0))))""",
    "tiles of products without instructions": """
        fun((a : 2.3.4.f64, b : 4.10.f64) =>
          mma(2, 2, fun(s => fun(p => s + fst(p) * snd(p))), 0.0, a, b))""",
}


def random(type: RiseType) -> Any:
    ((lengths, leaf),) = leaves(type)
    generator = np.random.default_rng(7)
    shape = [length.constant for length in lengths]
    if leaf.element == i1:
        return generator.integers(0, 2, shape).astype(bool)
    numbers = generator.integers(0, 4, shape)
    names = {"index": "int64", "i32": "int32"}
    name = names.get(str(leaf.element), str(leaf.element).replace("f", "float"))
    return numbers.astype(name if is_float(leaf) or name in names.values() else "int32")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("cause", PROGRAMS)
def test_work_is_not_repeated(cause: str) -> None:
    text = f"def main = {PROGRAMS[cause].strip()}"
    program: Any = rl.loads(text, name="program.rise", strategy="none", float="strict")
    lowered = program.main.lower()
    check_lowered_work(lowered)
    arguments = [random(type) for type in uncurry(program.main.trace().term.type)[0]]
    expected: Any = rl.loads(
        text, name="program.rise", strategy="none", float="strict", backend="interpret"
    )
    results, references = program.main(*arguments), expected.main(*arguments)
    for result, reference in zip(as_list(results), as_list(references), strict=True):
        np.testing.assert_array_equal(result, reference)


def as_list(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple) else [results]
