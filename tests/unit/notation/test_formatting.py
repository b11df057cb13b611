"""`format_program`: one layout for each program, comments kept."""

from __future__ import annotations

import pytest

from riselang.errors import LimitationError
from riselang.notation.formatting import format_program

MESSY = """
// Squares,
//   in two lines.
def square=fun( x ,x*x )
/* the
   program */ def   main = fun((x:N.f32,y : (N*2) .f32), let f=fun(a =>a+1.0);
     x|>map( square )  |> map(f)|> zip(x)|>map(fun((a,b),if a<b then a else (b*(2.0+a)))))
// the end
"""
NEAT = """\
// Squares,
//   in two lines.
def square = fun(x,
  x * x)

/* the
   program */
def main = fun((x : N.f32, y : (N * 2).f32),
  let f = fun(a, a + 1.0);
  x |> map(square) |> map(f) |> zip(x)
  |> map(fun((a, b), if a < b then a else b * (2.0 + a))))

// the end
"""


def test_a_file_is_laid_out_anew() -> None:
    assert format_program(MESSY) == NEAT
    assert format_program(NEAT) == NEAT


def test_an_expression_stays_one() -> None:
    assert format_program("/* a */ ( 1+ 2 )*3 // b") == "/* a */\n(1 + 2) * 3 // b\n"


@pytest.mark.parametrize("text", ["1 + /* one */ 1", "def a = neg(\n  // here\n  1)"])
def test_a_comment_that_cannot_be_kept_is_not_lost(text: str) -> None:
    with pytest.raises(LimitationError, match="comment inside an expression"):
        format_program(text)


LINES = [
    "x" * 60 + "(" + ", ".join(["argument" * 3] * 4) + ")",
    " + ".join(["operand" * 3] * 9),
    " |> ".join(["value", *["function" * 2] * 9]),
    "if " + "c" * 40 + " then " + "a" * 30 + " else " + "b" * 30,
    "fun((" + ", ".join(f"parameter{i} : N.f32" for i in range(9)) + "), 1)",
]


@pytest.mark.parametrize("text", LINES)
def test_long_lines_are_broken(text: str) -> None:
    formatted = format_program(text)
    assert max(len(line) for line in formatted.splitlines()) <= 92
    assert format_program(formatted) == formatted
