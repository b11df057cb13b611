"""Terms as text: what is written, what is left out, and how lines break."""

from __future__ import annotations

import textwrap

import pytest

from making.pattern_reference import REFERENCE
from riselang.dialects.rise.pattern_registry import PATTERNS
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
    fun((x : N.f32),
      let y = x |> map(neg);
      fun((w : 2.f32), (y, y)))
    """,
    """
    fun((x : f32),
      let y = x;
      (map(fun(a, a + y)) : 3.f32 -> 3.f32))
    """,
    """
    fun((x : N.f32),
      ((fun((y, w), y))(x) : 2.f32 -> N.f32))
    """,
    """
    fun((f : f32 -> f32 -> f32, x : f32),
      let y = x;
      f(y))
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


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_reads_back(name: str) -> None:
    """In its laws, whose sizes and functions are parameters, and in its example."""
    reference = REFERENCE[name]
    sides = [(law.parameters, side) for law in reference.laws for side in (law.left, law.right)]
    example = reference.example
    for parameters, expression in (*sides, (example.parameters, example.expression)):
        term = parse_term(f"fun(({parameters}), {expression})")
        assert parse_term(show_term(term)) == term
    shown = show_term(parse_term(f"fun(({example.parameters}), {example.expression})"))
    assert name in shown or name == "tuple"


@pytest.mark.parametrize(
    "text",
    [
        "fun(x : N.f32, x |> mapSeq[scf](neg))",
        "fun(x : N.f32, x |> reduceSeq[affine](fun((t, a), t), true))",
        "fun(x : 2.f32, x |> reduceSeqUnroll(max, -inf))",
        "fun(x : (N * M).f32, x |> split(N))",
        "fun(x : 8.vec[N, f32], x |> asScalar)",
        "generate(fun(i : idx[4], fromIdx(i)))",
        "snd((1, 2))",
    ],
)
def test_loop_dialects_types_and_literals_read_back(text: str) -> None:
    term = parse_term(text)
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
