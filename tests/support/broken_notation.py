"""Broken `.rise` files."""

from __future__ import annotations

import re
from pathlib import Path

from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.notation.operators import FUNCTIONS
from riselang.notation.printer import show_term
from support.mutation import Language
from support.programs import seeded_program

PROGRAMS = Path(__file__).parents[2] / "examples" / "programs"
TEXTS = [
    """fun((A : N.K.f32, B : K.M.f32), A |> map(fun(arow => B |> transpose |> map(fun(bcol,
    zip(arow, bcol) |> map(mult) |> reduce(add, 0.0))))))""",
    """def sq = fun(x, x * x)
    def twice = fun((f, x), f(f(x)))
    // the program
    def main = fun(x : 4.5.(f32 x i32), let g = map(sq); x |> map(map(fst)) |> map(g)
    |> map(map(fun(a, twice(sq, a + 1.0_f32)))) |> join |> split(4) |> slide(3, 1))""",
    """fun((f : f32 -> f32, x : N.f32, i : idx[N], v : 3.vec[4, f32]), /* c */
    if x |> at(i) < 1e-3 then cast[f64](f(1.0)) else inf_f64)""",
    """fun(x : 8.f32, generate(fun(i : idx[4], x |> at(clampIdx(8, fromIdx(i) * 2 // 3 % 4))))
    |> toMem(heap) |> mapSeq[affine](neg) |> padConst(1, N floordiv 2, -0.5)
    |> iterate(3, fun(a, a)))""",
    "let a = 1; let b = (a, 2.0, true); let(b, fst) + a & 3 | 4 ^ 5 - -a",
]
WORDS = [
    "fun", "let", "def", "if", "then", "else", "1", "0", "4.5", "N", "f32", "x", "inf", "cast",
    "idx", "vec", "99999999999999999999", "1e999", "é", *PATTERNS, *FUNCTIONS,
]  # fmt: skip
SIGNS = [
    "(", ")", ",", "|>", "=", ";", "->", "=>", "[", "]", "//", "/*", "*/", "-", "+", "<", ":", ".",
    "@", "\n", "\0", "\ud800",
]  # fmt: skip
NOTATION = Language(
    # The programs by hand have more of the syntax, so they are chosen more often.
    lambda: [
        *TEXTS * 8,
        *(path.read_text() for path in sorted(PROGRAMS.glob("*.rise"))),
        *(show_term(seeded_program(seed).term) for seed in range(30)),
    ],
    re.compile(r"\s+|\w+|\|>|=>|->|//|.", re.DOTALL),
    WORDS,
    SIGNS,
)
