"""Notation as terms: what each form of the language means."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import riselang as rl
from riselang.dialects.rise.pattern_registry import KEYWORD_PARAMETERS, PATTERNS
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.type_printer import format_type
from riselang.interpreter.evaluate import run_term
from riselang.notation.printer import show_term
from riselang.notation.program import parse_program, parse_term
from riselang.term.nodes import Term


def traced(function: Callable[..., Any]) -> Term:
    return rl.jit(function).trace().term


# The same programs in both languages


def matmul(A: rl.Array["N", "K", rl.f32], B: rl.Array["K", "M", rl.f32]):
    return A | rl.map(
        lambda arow: (
            B
            | rl.transpose
            | rl.map(lambda bcol: rl.zip(arow, bcol) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0))
        )
    )


def scaled(x: rl.Array["N", rl.f64]):
    return x | rl.map(lambda a: a * 2.0 + 1.0)


def paired(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]):
    return rl.zip(x, y) | rl.map(lambda a, b: a * b - a)


def dot(x: rl.Array["N", rl.i64], y: rl.Array["N", rl.i64]):
    return rl.zip(x, y) | rl.reduce(lambda total, a, b: a * b + total, 0)


def tiled(x: rl.Array["N * 4", rl.f32]):
    return x | rl.split(4) | rl.map(lambda chunk: rl.map(lambda a: a + 1.0, chunk)) | rl.join


def windows(x: rl.Array["N", rl.f32]):
    return x | rl.pad(1, 2) | rl.slide(3, 1) | rl.map(lambda w: rl.reduce(rl.max, 0.0, w))


def remainder(x: rl.Array["N", rl.i32]):
    return x | rl.map(lambda a: a % 3)


def squared(x: rl.Array["N", rl.f32]):
    def square(a: Any) -> Any:
        return a * a

    return x | rl.map(lambda a: square(square(a + 1.0)))


def chosen(x: rl.Array["N", rl.f32]):
    return x | rl.map(lambda a: rl.where(a < 0.0, -a, rl.cast(rl.cast(a, rl.i32), rl.f32)))


def results(x: rl.Array["N", rl.f32]):
    return x | rl.map(lambda a: a + 1.0), x, x | rl.map(rl.abs)


SAME: list[tuple[Callable[..., Any], str]] = [
    (
        matmul,
        """fun((A : N.K.f32, B : K.M.f32),
             A |> map(fun(arow,
               B |> transpose |> map(fun(bcol,
                 zip(arow, bcol) |> map(mult) |> reduce(add, 0.0))))))""",
    ),
    (scaled, "fun(x : N.f64, x |> map(fun(a, a * 2.0 + 1.0)))"),
    (scaled, "fun(x : N.f64 => map(fun(a => a * 2 + 1.0), x))"),
    (scaled, "fun((x : N.f64), map(fun(a, add(mult(a, 2.0))(1.0_f64)))(x))"),
    (paired, "fun((x : N.f32, y : N.f32), zip(x, y) |> map(fun((a, b), a * b - a)))"),
    (dot, "fun((x : N.i64, y : N.i64), zip(x)(y) |> reduce(fun((t, a, b), a * b + t), 0))"),
    (tiled, "fun(x : (N * 4).f32, x |> split(4) |> map(fun(c, map(fun(a, a + 1.0), c))) |> join)"),
    (windows, "fun(x : N.f32, x |> pad(1, 2) |> slide(3)(1) |> map(fun(w, reduce(max, 0.0)(w))))"),
    (remainder, "fun(x : N.i32, x |> map(fun(a, a % 3)))"),
    (remainder, "fun(x : N.i32, x |> map(fun(a, a - a // 3 * 3)))"),
    (squared, "fun(x : N.f32, let sq = fun(a, a * a); x |> map(fun(a, sq(sq(a + 1.0)))))"),
    (squared, "fun(x : N.f32, x |> map(fun(a, let b = a + 1.0; let c = b * b; c * c)))"),
    (chosen, "fun(x : N.f32, x |> map(fun(a, if a < 0.0 then -a else cast[f32](cast[i32](a)))))"),
    (chosen, "fun(x : N.f32, map(fun(a, select(a < 0, neg(a), sitofp[f32](fptosi[i32](a)))), x))"),
    (results, "fun(x : N.f32, (x |> map(fun(a, a + 1.0)), x, x |> map(abs)))"),
    (results, "fun(x : N.f32, tuple(map(add(1.0), x), tuple(x, map(abs, x))))"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "text"), SAME)
def test_notation_means_what_python_means(function: Callable[..., Any], text: str) -> None:
    if "add(1.0)" in text:  # the same but for the order of the operands
        assert show_term(parse_term(text)).count("1.0 + ") == 1
    else:
        assert parse_term(text) == traced(function)


# What is inferred

TYPES = [
    ("fun(x : 4.5.f32, x)", "4.5.f32 -> 4.5.f32"),
    ("fun(x : 4.(N*2).(M + 1).f32, x |> join)", "4.(N * 2).(M + 1).f32 -> (N * 8).(M + 1).f32"),
    ("fun(x : (f32 x i32 x i8), snd(x))", "(f32 x (i32 x i8)) -> (i32 x i8)"),
    ("fun((f : f32 -> f32 -> i8, x : f32), f(x)(x))", "(f32 -> f32 -> i8) -> f32 -> i8"),
    ("fun((f : (f32 -> f32) -> i8), f(neg))", "((f32 -> f32) -> i8) -> i8"),
    ("fun(x : 8.N.f32, x |> map(reduce(add, 0.0)))", "8.N.f32 -> 8.f32"),
    ("fun(x : N.f16, x |> map(fun(a, (a, 1, 1.5))))", "N.f16 -> N.(f16 x (i32 x f32))"),
    ("fun(x : (N * 4).f32, x |> split(N * 2))", "(N * 4).f32 -> 2.(N * 2).f32"),
    ("fun(x : 8.f32, x |> split(min(4, 9)))", "8.f32 -> 2.4.f32"),
    ("fun((x : 4.f32, i : idx[4]), x |> at(i))", "4.f32 -> idx[4] -> f32"),
    ("fun(x : 3.vec[4, f32], asScalar(x))", "3.vec[4, f32] -> 12.f32"),
    ("generate(fun(i : idx[5], fromIdx(i)))", "5.index"),
    ("fun(x : N.f32, x |> toMem(heap))", "N.f32 -> N.f32"),
    ("fun(x : N.f32, x |> mapSeq[affine](sqrt))", "N.f32 -> N.f32"),
    ("(1 : i8) + 2", "i8"),
    ("let f = (fun(x, x) : i8 -> i8); f(1)", "i8"),
    ("1 + 2 < 3 & 1", "i1"),
    ("(1_i64, 0.5_f16, -1_i8, inf, nan_f64, true, 1e-3)",
     "(i64 x (f16 x (i8 x (f32 x (f64 x (i1 x f32))))))"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "type"), TYPES)
def test_types_are_inferred(text: str, type: str) -> None:
    assert format_type(parse_term(text).type) == type


# Precedence, by what fully parenthesised text means

PRECEDENCE = [
    ("1 + 2 * 3 - 4", "(1 + (2 * 3)) - 4"),
    ("1 - 2 - 3", "(1 - 2) - 3"),
    ("8 // 2 // 2 % 3", "((8 // 2) // 2) % 3"),
    ("1 | 2 ^ 3 & 4 + 5", "1 | (2 ^ (3 & (4 + 5)))"),
    ("1 | 2 < 3 ^ 4", "(1 | 2) < (3 ^ 4)"),
    ("- 1.0_f64 * 2.0", "(-1.0_f64) * 2.0"),
    ("fun(x : i32, -x * 2)", "fun(x : i32, (-x) * 2)"),
    ("1 + 1 |> add(2) |> neg", "neg(add(2, 1 + 1))"),
    ("if 1 < 2 then 3 else 4 + 5", "if (1 < 2) then (3) else (4 + 5)"),
    ("let x = 1; x + 1", "let x = (1); (x + 1)"),
]


@pytest.mark.parametrize(("text", "parenthesised"), PRECEDENCE)
def test_precedence(text: str, parenthesised: str) -> None:
    assert parse_term(text) == parse_term(parenthesised)


def test_two_slashes_are_a_comment_unless_they_follow_an_operand() -> None:
    text = """// the quotient
    fun(x : i32, // of
      x // 2 /* and
      of */ + // something
      // else
      1)"""
    assert parse_term(text) == parse_term("fun(x : i32, (x // 2) + 1)")


# Definitions

LIBRARY = """
def tile = 4
def square = fun(x, x * x)
def twice = fun((f, x), f(f(x)))

/* the program */
def main = fun(x : (N * 4).f32, x |> split(tile) |> map(map(twice(square))))
def other = fun(x : N.i32, x |> map(fun(a, twice(square, a) + tile)))
"""


@pytest.mark.parametrize(
    ("operator", "expected"),
    [("<", [0, 1, 0, 0]), ("<=", [1, 1, 0, 1]), (">", [0, 0, 1, 0]), (">=", [1, 0, 1, 1])],
)
def test_false_is_less_than_true(operator: str, expected: list[int]) -> None:
    term = parse_term(f"fun((x : 4.i1, y : 4.i1), zip(x, y) |> map(fun((a, b), a {operator} b)))")
    x, y = [0, 0, -1, -1], [0, -1, 0, -1]
    assert [bool(each) for each in run_term(term, [x, y])] == expected


def test_definitions_use_earlier_ones_at_any_type() -> None:
    program = parse_program(LIBRARY, "library.rise")
    assert program.names == ("tile", "main", "other")
    assert tuple(program.helpers) == ("square", "twice")
    assert str(program.definitions[1].location) == "library.rise:7:5"
    assert run_term(program["other"], [[3]]) == [85]
    assert parse_term(show_term(program["main"])) == program["main"]


def test_a_single_expression_is_the_definition_of_main() -> None:
    assert parse_program("1 + 1").names == ("main",)


def test_a_local_function_sees_the_names_of_its_own_place() -> None:
    text = "let a = 1; let f = fun(x, x + a); let a = 10; f(a)"
    assert run_term(parse_term(text), []) == 11


def test_function_arguments_of_named_functions_are_inlined_too() -> None:
    text = """
    def compose = fun((f, g, x), g(f(x)))
    def main = fun(x : i32, compose(compose(fun(a, a + 1), fun(a, a * 2)), neg, x))"""
    assert run_term(parse_program(text)["main"], [4]) == -10


def test_a_helper_may_give_its_function_to_a_pattern() -> None:
    text = """
    def each = fun((f, xs), xs |> map(f))
    def main = fun(x : 3.i32, each(fun(a, a * 2), x))"""
    assert run_term(parse_program(text)["main"], [[1, 2, 3]]) == [2, 4, 6]


# Where a function from a pair is expected, one of two arguments is uncurried

UNCURRIED = [
    "def f = fun((s, a, b), s * a + b) def main = MAIN(f(2))",
    "def f = fun(s, fun((a, b), s * a + b)) def main = MAIN(f(2))",
    "def f = fun((t, s), fun((a, b), s * a + b)) def main = MAIN(f(0, 2))",
    "def f = fun((s, a), fun(b, s * a + b)) def main = MAIN(f(2))",
    "def f = fun((s, a, b), s * a + b) def g = f(2) def main = MAIN(g)",
    "def main = MAIN(fun((s, a, b), s * a + b)(2))",
    "def main = MAIN((fun((a, b), 2 * a + b) : i32 -> i32 -> i32))",
    "def main = MAIN(let s = 2; fun((a, b), s * a + b))",
    "def main = let f = fun((s, a, b), s * a + b); MAIN(f(2))",
    "def use = fun((f, x, y), zip(x, y) |> map(f)) "
    "def main = fun((x : 2.i32, y : 2.i32), use(fun((a, b), 2 * a + b), x, y))",
    "def main = fun((x : 2.i32, y : 2.i32), "
    "(fun((f : i32 -> i32 -> i32 -> i32), zip(x, y) |> map(f(2))))(fun((s, a, b), s * a + b)))",
]


@pytest.mark.parametrize("text", UNCURRIED)
def test_a_function_of_two_arguments_takes_a_pair(text: str) -> None:
    text = re.sub(r"MAIN\((.*)\)$", r"fun((x : 2.i32, y : 2.i32), zip(x, y) |> map(\1))", text)
    main = parse_program(text)["main"]
    assert run_term(main, [[1, 2], [3, 4]]) == [5, 8]
    assert parse_term(show_term(main)) == main


# Definitions that work for every type

GENERAL = {
    "fun((f, x), x |> map(f) |> map(f))": "(t -> t) -> n.t -> n.t",
    "fun((f, g, x), f(g(x)))": "(t -> s) -> (u -> t) -> u -> s",
    "fun((f, g, x), let h = f; h(g(x)))": "(t -> s) -> (u -> t) -> u -> s",
    "fun((x, y), zip(x, y) |> map(mult) |> reduce(add, 0.0))": "n.f32 -> n.f32 -> f32",
    "fun(x, x |> split(4) |> map(reduce(add, 0.0)))": "(n * 4).f32 -> n.f32",
    "fun((x : n.f32, y), zip(x, y))": "n.f32 -> n.t -> n.(f32 x t)",
    "fun((x : n.f32, y), concat(x, y))": "n.f32 -> m.f32 -> (m + n).f32",
    "map": "(t -> s) -> n.t -> n.s",
}


@pytest.mark.parametrize("text", GENERAL)
def test_a_definition_may_leave_its_types_open(text: str) -> None:
    program = parse_program(f"def helper = {text}")
    assert program.names == ()
    problem = program.helpers["helper"]
    assert "cannot be inferred" in problem.message
    assert problem.notes == (f"helper works for every {GENERAL[text]}",)


def test_a_function_parameter_whose_use_tells_its_type_needs_none() -> None:
    term = parse_program("def apply = fun((f, x : f32), f(x) + 1.0)")["apply"]
    assert format_type(term.type) == "(f32 -> f32) -> f32 -> f32"


def test_a_helper_may_be_right_at_each_use_and_have_no_type_of_its_own() -> None:
    text = """
    def both = fun((f, x, y), zip(x, y) |> map(f) |> map(fun(v, f(v, v))))
    def main = fun(x : 2.i32, both(add, x, x))"""
    program = parse_program(text)
    assert run_term(program["main"], [[1, 2]]) == [4, 8]
    assert "takes 1 argument, but got 2" in program.helpers["both"].message


@pytest.mark.parametrize("spec", PATTERNS.values(), ids=list(PATTERNS))
def test_every_pattern_goes_by_its_name(spec: PatternSpec) -> None:
    explicit = ["heap" if name in KEYWORD_PARAMETERS else "2" for name in spec.explicit]
    call = f"({', '.join(explicit)})" if explicit else ""
    with pytest.raises(rl.UserError, match=f"the type of '{spec.name}' cannot be inferred"):
        parse_term(f"{spec.name}{call}")
