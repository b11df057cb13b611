"""Terms as text: what is written, what is left out, and how lines break."""

from __future__ import annotations

import textwrap

import pytest

from riselang.dialects.rise.schemes import PATTERNS
from riselang.notation.formatting import format_program
from riselang.notation.printer import show_term
from riselang.notation.program import parse_term
from riselang.term.nodes import Lambda

# Printed exactly like this, and read back as the same term
STABLE = [
    """
    fun((x : 8.f32, y : 8.f32),
      let twice = fun((z : 8.f32), z |> map(fun(a, a * 2.0)));
      (twice(x), twice(y)))
    """,
    """
    let last = fun((count : i32),
        generate(fun((k : idx[4]),
          count - cast[i32](k |> fromIdx))));
    (last(3), last(7))
    """,
    """
    fun((A : N.K.f32, B : K.M.f32),
      A |> map(fun(arow,
        B |> transpose |> map(fun(bcol,
          zip(arow, bcol) |> map(mult) |> reduce(add, 0.0))))))
    """,
    """
    fun((x : 8.f32),
      x |> map(fun(a, a * 2.0)) |> slide(3, 1) |> map(fun(window, window |> reduce(add, 0.0))))
    """,
    """
    fun((x : N.f32),
      let y = x |> map(sqrt);
      let z = y |> mapSeq[affine](fun(a, a * 2.0));
      zip(y, z))
    """,
    """
    fun((x : i32),
      (x + 1) * 2 - x // (3 - x))
    """,
    """
    fun((x : f32, y : f32),
      select((x < y) | (y != 1.0), -1.0, x / y))
    """,
    """
    fun((x : f64),
      (true, 1, 1.5, 1_i64, x, inf_f16, cast[f32](x), 0.1_f64))
    """,
    """
    fun((x : f16),
      cast[bf16](cast[f32](x)))
    """,
    """
    fun((x : i8),
      (extui[i32](x), cast[i32](x), cmpi[ult](x, 1_i8), divui(x, x)))
    """,
    """
    fun((f : f32 -> f32, x : f32),
      (fun((g : f32 -> f32 -> f32, y), g(f(y), y)))(add, x))
    """,
    """
    fun((x : N.f32),
      generate(fun((i : idx[N]), x |> at(i))))
    """,
    """
    generate((fromIdx : idx[4] -> index))
    """,
    """
    (map(neg) : 4.f32 -> 4.f32)
    """,
    """
    fun((x : 4.f32),
      let(x, reverse))
    """,
    """
    fun((x : 4.f32),
      x |> map(
        let y = 1.0;
        fun(a, a + y)))
    """,
    """
    fun((x : N.f32),
      x |> reduce(
        fun((total, a),
          a * 2.0 + total * 3.0 + a * 4.0 + total * 5.0),
        0.0))
    """,
]  # fmt: skip


@pytest.mark.parametrize("text", STABLE)
def test_printed_text_reads_back(text: str) -> None:
    text = textwrap.dedent(text).strip()
    term = parse_term(text)
    assert show_term(term) == text
    assert format_program(text) == f"{text}\n"


# Every pattern, applied
APPLIED = {
    "map": "fun(x : N.f32, x |> map(neg))",
    "mapSeq": "fun(x : N.f32, x |> mapSeq[scf](neg))",
    "mapPar": "fun(x : N.f32, x |> mapPar(fun(a, a)))",
    "reduce": "fun(x : N.f32, x |> reduce(add, 0.0))",
    "reduceSeq": "fun(x : N.f32, x |> reduceSeq[affine](fun((t, a), t), true))",
    "zip": "fun(x : N.f32, zip(x, x) |> map(mult))",
    "unzip": "fun(x : N.(f32 x i8), x |> unzip)",
    "tuple": "(1, 2.0)",
    "fst": "fun(x : N.(f32 x i8), x |> map(fst))",
    "snd": "snd((1, 2))",
    "split": "fun(x : (N * M).f32, x |> split(N))",
    "join": "fun(x : N.M.f32, x |> join)",
    "transpose": "fun(x : N.M.f32, x |> transpose)",
    "slide": "fun(x : 9.f32, x |> slide(3, 2))",
    "pad": "fun(x : 9.f32, x |> pad(N + 1, M floordiv 2))",
    "let": "fun(x : f32, let y = x + 1.0; y * y)",
    "scan": "fun(x : N.f32, x |> scan(fun((t, a), t + a), 0.0))",
    "reverse": "fun(x : N.f32, x |> reverse)",
    "prefetch": "fun(x : N.f32, x |> prefetch(2))",
    "padConst": "fun(x : N.f64, x |> padConst(1, 2, 0.0))",
    "padWrap": "fun(x : 4.f32, x |> padWrap(1, 2))",
    "padReflect": "fun(x : 4.f32, x |> padReflect(1, 2))",
    "take": "fun(x : 4.f32, x |> take(1))",
    "drop": "fun(x : (N + 4).f32, x |> drop(N))",
    "concat": "fun((x : N.f32, y : M.f32), x |> concat(y))",
    "at": "fun((x : N.f32, i : idx[N]), x |> at(i))",
    "sliceAt": "fun((x : (N + 2).f32, i : idx[N + 1]), x |> sliceAt(2, i))",
    "updateAt": "fun((x : 8.f32, y : 3.f32, i : idx[6]), x |> updateAt(i, y))",
    "gather": "fun((x : N.f32, i : M.idx[N]), x |> gather(i))",
    "reorder": "fun(x : N.f32, x |> reorder(fun(i, i)))",
    "scatter": "fun((x : N.f32, i : M.idx[N], y : M.f32), scatter(i, x, y))",
    "scatterWith": "fun((x : N.f32, i : M.idx[N], y : M.f32), scatterWith(add, i, x, y))",
    "generate": "generate(fun(i : idx[4], fromIdx(i)))",
    "iterate": "fun(x : f32, x |> iterate(3, fun(a, a * 2.0)))",
    "while": "fun(x : f32, x |> while(fun(a, a < 9.0), fun(a, a * 2.0)))",
    "sort": "fun(x : N.(f32 x i8), x |> sort(fun((a, b), fst(a) < fst(b))))",
    "clampIdx": "fun(x : i8, x |> clampIdx(4))",
    "checkIdx": "fun(x : i64, x |> checkIdx(N))",
    "fromIdx": "fun(i : idx[N], fromIdx(i) + 1)",
    "sizeOf": "fun(x : N.f32, x |> map(fun(a, a / cast[f32](sizeOf(x)))))",
    "mapSeqUnroll": "fun(x : 2.f32, x |> mapSeqUnroll(neg))",
    "reduceSeqUnroll": "fun(x : 2.f32, x |> reduceSeqUnroll(max, -inf))",
    "scanSeq": "fun(x : 2.f32, x |> scanSeq(add, 0.0))",
    "iterateSeq": "fun(x : 2.f32, x |> iterateSeq(2, map(neg)))",
    "reducePar": "fun(x : 2.f32, x |> reducePar(add, 0.0))",
    "toMem": "fun(x : 2.f32, x |> toMem(stack))",
    "asVector": "fun(x : 8.f32, x |> asVector(4))",
    "asScalar": "fun(x : 8.vec[N, f32], x |> asScalar)",
    "vectorFromScalar": "fun(x : f32, x |> vectorFromScalar(4))",
    "circularBuffer": "fun(x : 8.f32, x |> circularBuffer(4, 3, neg))",
    "rotateValues": "fun(x : 8.f32, x |> rotateValues(3, fun(a, a)))",
    "mapBlock": "fun(x : 8.f32, x |> mapBlock(0, neg))",
    "mapThread": "fun(x : 8.f32, x |> mapThread(1, neg))",
    "mapWarp": "fun(x : 8.f32, x |> mapWarp(neg))",
    "mapLane": "fun(x : 8.f32, x |> mapLane(neg))",
}


@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_reads_back(name: str) -> None:
    term = parse_term(APPLIED[name])
    assert name in show_term(term) or name == "tuple"
    assert parse_term(show_term(term)) == term


def test_a_variable_never_has_the_name_of_a_size_that_is_written() -> None:
    text = "let f = fun(grid, grid |> reverse); fun(x : (2 * grid).f32, f(x |> split(grid)))"
    term = parse_term(text)
    assert parse_term(show_term(term)) == term
    inner = parse_term("fun(x : (2 * a).f32, x |> split(a) |> map(fun(b, b)))")
    assert isinstance(inner, Lambda)
    named = Lambda("a", inner.parameter, inner.body)
    assert show_term(named).startswith("fun((a1 : (a * 2).f32)")
    assert parse_term(show_term(named)) == named
