"""What is wrong with a text, and where: message, line, and the columns under the caret."""

from __future__ import annotations

import pytest

from riselang.notation.program import parse_program, parse_term
from riselang.support.errors import LimitationError, UserError, format_error

# Each text marks what the caret must stand under with guillemets.
ERRORS = {
    # The text is not in the language
    "fun(x : f32, «x»": (
        "expected ')', but found the end of the input; the '(' at 1:4 is not closed"
    ),
    "1 + «)»": "expected an expression, but found ')'",
    "1 «1»": "expected an operator or the end of the input, but found '1'",
    "fun «x»": (
        "expected '(', but found 'x'; a function is written fun(x, body), or fun((x, y), body)"
    ),
    "fun((x, y) «y»)": "expected ',' or '=>', but found 'y'",
    "fun(x : 4 «*» f32, x)": (
        "expected '.', but found '*'; write the length before the type of the elements: N.f32"
    ),
    "fun(x : «*», x)": "expected a type, but found '*'",
    "def «let» = 1": "expected a name, but found 'let'",
    "let x «1»; x": "expected '=', but found '1'",
    "if 1 < 2 then «3»": "expected 'else', but found the end of the input",
    "«1» @ 2": "expected a function of a size before '@', but found _",
    "fun((x : 8.f32, i : idx[8]), «x»[i])": (
        "'x' takes no types in brackets; an element is x |> at(i)"
    ),
    "1 «$» 2": "unexpected character '$'",
    "depFun(n : «f32», 1)": "expected nat or data, but found 'f32'",
    "depFun(n : nat, fun(x : n.f32, «n»))": "'n' is a size, but a value is expected here",
    "depFun(t : data, fun(x : t, «t»))": "'t' is a type, but a value is expected here",
    "depFun(t : data, fun((x : t, y : t), «x + y»))": "'+' works on scalars, but this is t",
    "depFun(n : nat, fun(x : n.f32, «x» |> split(4)))": "split, argument 1: expected (_ * 4)._, "
    "but found n.f32; n is not known to be a multiple of 4",
    "fun(x : 8.f32, «x»@4)": "expected a function of a size before '@', but found 8.f32",
    "«depFun»(n : nat, fun(x : n.f32, x))@[f32]": "expected a function of a type before '@', but "
    "found (n : nat) -> n.f32 -> n.f32",
    "fun(«x» : N.t, x)": (
        "unknown type 't'; write the length before the type of the elements: N.f32"
    ),
    "«»": "expected an expression or 'def', but found the end of the input",
    "1 + «/*» 2": "this comment does not end; expected '*/'",
    "«neg»()": "expected an argument between the parentheses",
    # Numbers
    "1 + «1e999»": "the number 1e999 is too large; write inf for infinity",
    "«1_i7»": (
        "'i7' is not a scalar type; expected f8e4m3fn, f8e5m2, f16, bf16, f32, f64, i1, i8, "
        "i16, i32, i64, u8, u16, u32, u64, index, complex64, complex128"
    ),
    "«300_i8»": "300 cannot be a literal of type i8: it does not fit into 8 bits",
    "«-1_u8»": (
        "-1 cannot be a literal of type u8: it does not fit into an unsigned integer of 8 bits"
    ),
    "fun((x : f32), «x << 2.0»)": (
        "'<<' is not defined on f32: it takes integers; multiply by a power of two"
    ),
    "fun((x : f32), «~x»)": "'~' is not defined on f32: it takes integers",
    "fun((x : u8), «abs»(x))": (
        "'abs' is not defined on u8: it takes floats and signed integers; "
        "an unsigned integer is its own absolute value"
    ),
    "fun((x : f32), «bitcast»[u64](x))": (
        "'bitcast' is not defined on f32: the types have different numbers of bits; use cast"
    ),
    "«4000000000000»": (
        "4000000000000 cannot be a literal of type i32: it does not fit into 32 bits"
    ),
    "fun(x : «1234567890123456789».f32, x)": "this size has 19 digits; the limit is 18",
    # Names
    "fun(xs : 4.f32, xs |> «mapp»(neg))": "unknown name 'mapp'; did you mean 'map'?",
    "fun(xs : 4.f32, xs |> «mpa»(neg))": "unknown name 'mpa'; did you mean 'map'?",
    "fun(value : f32, «valeu» + 1.0)": "unknown name 'valeu'; did you mean 'value'?",
    "«qqq»": "unknown name 'qqq'",
    "fun((x, «x»), x)": "the parameter 'x' occurs twice",
    "def a = 1\ndef «a» = 2": "'a' is defined twice",
    "«mapSeq»[gpu](neg)": "'mapSeq[gpu]': 'mapSeq' takes affine or scf",
    "«zip»[affine]": "'zip[affine]': 'zip' takes no brackets",
    "«cast»(1.0)": "'cast' needs a scalar type in brackets: cast[...]",
    "«cmpf»[lt](1.0, 2.0)": "'cmpf[lt]': expected a predicate in brackets",
    # How many arguments
    "fun(x : 4.f32, x |> «map»(neg, 1, 2))": "map takes 2 arguments, but got 4",
    "fun(x : 4.f32, x |> «split»(2, 2))": (
        "split takes 1 argument after the size m, but got 2"
    ),
    "«add»(1, 2, 3)": "'add' takes 2 operands, but got 3",
    "«split»": "split needs m first: split(m)",
    "fun(x : f32, «x»(3))": "'x' has the type f32 and is not a function",
    "fun((f : f32 -> f32, x : f32), «f»(x, x))": "'f' takes 1 argument, but got 2",
    "fun(x : 4.f32, x |> map(«fun»((a, b), a)))": (
        "map, argument 1: the function takes 2 arguments, but is passed 1, of type f32"
    ),
    # Types
    "fun((x : 4.f32, y : 5.f32), zip(x, «y»))": (
        "zip, argument 2: expected 4._, but found 5.f32; the lengths 4 and 5 differ"
    ),
    "fun((x : N.f32, y : M.f32), zip(x, «y»))": (
        "zip, argument 2: expected N._, but found M.f32; the lengths N and M differ"
    ),
    "fun(x : f32, map(neg, «x»))": "map, argument 2: expected _._, but found f32",
    "fun(x : 4.f32, «x + 1»)": (
        "'+' works on scalars, but this is 4.f32; use map to apply it to every element, and "
        "zip(x, y) |> map(...) for two arrays"
    ),
    "fun(x : f32, «x + 1_i32»)": (
        "operands of '+': expected f32, but found i32; use cast[f32](...) to convert it"
    ),
    "fun(x : 4.f32, x |> map(fun(«a» : f64, a)))": (
        "parameter 'a': expected f64, but found f32; use cast[f64](...) to convert it"
    ),
    "fun(x : «4.(f32 -> f32»), x)": (
        "an array element must be a data type, but f32 -> f32 is a function type"
    ),
    "fun(x : 4.f32, x |> map(«fun»(a, fun(b, b))))": (
        "map, argument 1: the function takes 2 arguments, but is passed 1, of type f32"
    ),
    "fun(x : 4.f32, tuple(x, «neg»))": None,
    "fun(«x», x)": "the type of 'x' cannot be inferred; annotate it, as in x : N.f32",
    "fun(«f», f(1.0))": (
        "the type of 'f' cannot be inferred beyond f32 -> _; annotate it, as in f : f32 -> f32"
    ),
    "fun(«x», x |> split(4) |> map(reduce(add, 0.0)))": (
        "the type of 'x' cannot be inferred beyond (_ * 4).f32; annotate it, as in "
        "x : (N * 4).f32"
    ),
    "def w = fun(«f», f(f))": "'f' is applied to itself, so it has no type",
    "fun((f, x : N.f32), zip(f, x) |> map(«f»))": (
        "map, argument 1: expected (_ x f32) -> _, but found N._"
    ),
    "fun(x : N.f32, zip(x, «1.0»))": (
        "zip, argument 2: expected N._, but found the number 1.0"
    ),
    "(«1.5_f64» : f32)": (
        "type annotation: expected f32, but found f64; use cast[f32](...) to convert it"
    ),
    "fun(x : i32, «x / 2»)": (
        "'/' is not defined on i32: it takes floats; use //, or cast the operands"
    ),
    "«addf»(1, 2)": "'addf' is not defined on i32: it takes floats",
    "«extf»[f16](1.0)": "'extf' is not defined on f32: the types do not allow it; use cast",
    # Sizes
    "fun(x : 4.f32, x |> «split»(0))": "split: m must be at least 1, but is 0",
    "fun(x : 5.f32, «x» |> split(3))": (
        "split, argument 1: expected (_ * 3)._, but found 5.f32; the lengths _ * 3 and 5 differ"
    ),
    "fun(x : 4.f32, x |> split(«1.5»))": (
        "split, m: this is not a size: a size consists of numbers, names and "
        "+ - * floordiv mod min max"
    ),
    "fun((x : 4.f32, n : i32), x |> split(«n»))": (
        "split, m: this is not a size: 'n' is a run-time value"
    ),
    "fun(x : 4.f32, x |> toMem(«disk»))": (
        "toMem, space: expected one of heap, stack, register, shared, but found 'disk'"
    ),
}  # fmt: skip


@pytest.mark.parametrize("marked", ERRORS)
def test_errors_say_what_and_where(marked: str) -> None:
    text = marked.replace("«", "").replace("»", "")
    with pytest.raises(UserError) as raised:
        parse_program(text, "file.rise")
    error = raised.value
    expected = ERRORS[marked]
    assert expected is None or error.message == expected
    assert error.location is not None
    before = marked[: marked.index("«")]
    line = before.count("\n") + 1
    column = len(before) - before.rfind("\n")
    assert (error.location.line, error.location.column) == (line, column), str(error)
    width = marked.index("»") - marked.index("«") - 1
    assert width in (0, error.location.length)


def test_an_error_shows_its_line() -> None:
    with pytest.raises(UserError) as raised:
        parse_program("def a = 1\n\ndef b =\n  a + c * 2\n", "file.rise")
    assert str(raised.value) == (
        "file.rise:4:7: error: unknown name 'c'\n  " + "  a + c * 2\n  " + "      ^"
    )


def test_a_comment_that_looks_like_a_division_is_explained() -> None:
    with pytest.raises(UserError) as raised:
        parse_program("fun(x : 4.f32,\n  x // the input\n  |> map(neg))")
    assert raised.value.notes == (
        "after an operand '//' is integer division; put the comment on a separate line, "
        "or write /* ... */",
    )


LIMITS = {
    "fun(x : f32, " + "-" * 40_000 + "x)": "nests deeper than the limit of 30000 levels",
    "fun(x : " + "2." * 200 + "f32, x)": "nests deeper than the limit of 100 levels",
    "def w = fun(f, f(f)) def main = w(w)": "named functions are inlined more than 10000 times",
}


@pytest.mark.parametrize("text", LIMITS, ids=["expression", "type", "inlining"])
def test_limits_have_names(text: str) -> None:
    with pytest.raises(LimitationError) as raised:
        parse_program(text)
    assert LIMITS[text] in raised.value.message
    assert raised.value.location is not None


def test_one_expression_is_asked_for() -> None:
    with pytest.raises(UserError, match="expected one expression"):
        parse_term("def a = 1\ndef b = 2")


def test_a_long_line_is_shown_around_the_caret() -> None:
    text = (
        "fun((x : 4.f32), x |> map(fun((e : f32), e"
        + " + 1.0" * 200
        + " + missing"
        + " + 1.0" * 200
    )
    with pytest.raises(UserError) as raised:
        parse_program(text + ")))", "long.rise")
    line, caret = format_error(raised.value).splitlines()[1:3]
    assert len(line) < 220
    assert line[caret.index("^") : caret.rindex("^") + 1] == "missing"
