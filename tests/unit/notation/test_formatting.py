"""`format_program`: one layout for each program, comments kept."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riselang.notation.formatting import format_program
from riselang.notation.printer import show_term
from riselang.notation.program import parse_term

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


COMMENTS = {
    "1 + /* one */ 1": "1 + /* one */ 1",
    "def a = neg(\n  // here\n  1)": "def a = neg(\n  // here\n  1)",
    "def a = 1 /* one */\ndef b = 2 /* two */": "def a = 1 /* one */\n\ndef b = 2 /* two */",
    "fun(x : f32, // the input\n x |> // then\n neg /* last */)": (
        "fun((x : f32),\n  // the input\n  x |>\n    // then\n    neg) /* last */"
    ),
    "def f = fun(x, x\n// the end\n)\ndef g = 1": (
        "def f = fun(x,\n  x)\n\n// the end\n\ndef g = 1"
    ),
    "// a header\n\n\n// of f\ndef f = 1\n// one\n\n// two": (
        "// a header\n\n// of f\ndef f = 1\n\n// one\n\n// two"
    ),
    "def /* a */ f /* b */ = /* c */ - /* d */ 1": "def /* a */ f /* b */ = /* c */ - /* d */ 1",
    "f( /* a */ x , /* b */ (y), /* c */ ((x + y) * x))": (
        "f(/* a */ x, /* b */ y, /* c */ (x + y) * x)"
    ),
    "x /* a */ // /* b */ y": "x /* a */ // /* b */ y",
    "fun((x : /* rows */ N . f32 , /* a row */ y : f32) /* gives */ => x)": (
        "fun((x : /* rows */ N.f32, /* a row */ y : f32),\n  /* gives */\n  x)"
    ),
    "(x\n// why\n)// y": "x //\n  // why\n  y",
    "def a = 1 /* one\n or two */ /* three */": "def a = 1 /* one\n or two */ /* three */",
    "if a then /* yes\n or no */ b else c": "if a then /* yes\n or no */ b else c",
}


@pytest.mark.parametrize("text", COMMENTS)
def test_comments_stay_before_what_follows_them(text: str) -> None:
    assert format_program(text) == COMMENTS[text] + "\n"
    assert format_program(COMMENTS[text]) == COMMENTS[text] + "\n"


PROGRAM = (
    "def main = fun((x : (2*N) . f32, y: K.(f32 x idx[N]) , f : (f32->f32) -> f32 ), "
    "let z = ( x |> split ( N*2 ) |> map "
    "( reduceSeq[affine](fun(a=>fun((b),( (a//2)+b*- 1.5e-3 )%2)), 0_i64)));"
    "if (z<=(1)) then cast [ f64 ] ((z : 4.f32)) else (x, -(y), let(z, f))(inf) )"
)
TOKENS: Sequence[str] = (
    PROGRAM.replace("(", " ( ").replace(")", " ) ").replace(" )  //", ")//").split()
)
INSERTED = ["/* b */", "// l\n", "/* 2\n */", "\n", "\n\n"]


@pytest.mark.rotating(3)
@given(st.lists(st.tuples(st.integers(0, len(TOKENS)), st.sampled_from(INSERTED))))
def test_every_comment_is_kept_and_formatting_ends(inserted: list[tuple[int, str]]) -> None:
    tokens = list(TOKENS)
    for place, text in sorted(inserted, reverse=True):
        tokens.insert(place, f"\n{text}" if text.startswith("//") else text)
    text = " ".join(tokens)
    formatted = format_program(text)
    assert format_program(formatted) == formatted
    for comment in ("/* b */", "// l\n", "/* 2\n */"):
        assert formatted.count(comment) == text.count(comment)
    bare = re.sub(r"/\*.*?\*/|^\s*// l$", "", formatted, flags=re.DOTALL | re.MULTILINE)
    assert re.sub(r"[\s(),]|=>", "", bare) == re.sub(r"[\s(),]|=>", "", " ".join(TOKENS))


def test_sizes_stay_as_they_are_written() -> None:
    text = "fun((x : (2 * N).f32, y : (N + N).(1 + 0).idx[4 * 2]),\n  (x : (N * 2).f32))\n"
    assert format_program(text) == text
    assert show_term(parse_term(text)) != text.rstrip()


def test_long_parameter_lists_have_lines_of_their_own() -> None:
    names = [f"parameter{number}" for number in range(5)]
    text = f"def main = fun(({', '.join(f'{name} : N.f32' for name in names)}), {names[0]})"
    assert format_program(text) == (
        "def main = fun(\n"
        "  (parameter0 : N.f32,\n"
        "   parameter1 : N.f32,\n"
        "   parameter2 : N.f32,\n"
        "   parameter3 : N.f32,\n"
        "   parameter4 : N.f32),\n"
        "  parameter0)\n"
    )


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
