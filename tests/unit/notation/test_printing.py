"""Terms as text: what is written, what is left out, and how lines break."""

from __future__ import annotations

import textwrap

import pytest

from riselang.notation.formatting import format_program
from riselang.notation.printer import show_term
from riselang.notation.program import parse_term

# Printed exactly like this, and read back as the same term
STABLE = [
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
        fun((a, total),
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
