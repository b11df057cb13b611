"""Functions of sizes and data types in notation: read, printed, formatted, and run."""

import numpy as np
import pytest

from riselang.api.kernel import TermKernel
from riselang.interpreter.evaluate import run_term
from riselang.notation.formatting import format_program
from riselang.notation.program import parse_program, parse_term

HALVES = "depFun(n : nat, fun(y : (2 * n).f32, y |> take(n)))"
ANY = "depFun(t : data, depFun(n : nat, (reverse : n.t -> n.t)))"
PROGRAMS = {
    "applied": f"fun(x : 8.f32, {HALVES}@4(x))",
    "named": f"let half = {HALVES}; fun(x : 8.f32, x |> half@4 |> half@2)",
    "of a type and a size": f"let back = {ANY}; fun(x : 8.f32, x |> split(2) |> back@[2.f32]@4)",
    "a parameter": "fun((f : (n : nat) -> n.f32 -> n.f32, x : 8.f32), f@8(x))",
    "one inside another": "depFun(n : nat, depFun(n : nat, fun(y : n.f32, y |> take(n))))",
    "a variable of the same name": "depFun(n : nat, fun(n : n.f32, n |> reverse))",
    "sizes that are computed": f"fun(x : (4 * N).f32, {HALVES}@(2 * N)(x))",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_parse_and_print(text: str) -> None:
    term = parse_term(text)
    assert parse_term(repr(term)) == term
    formatted = format_program(text)
    assert format_program(formatted) == formatted
    assert parse_term(formatted) == term


def test_the_name_of_the_variable_does_not_count() -> None:
    other = HALVES.replace("n :", "size :").replace("* n", "* size").replace("(n)", "(size)")
    assert parse_term(other) == parse_term(HALVES)


def test_definitions_work_at_several_sizes() -> None:
    program = parse_program(
        f"def half = {HALVES}\ndef main = fun(x : 8.f32, x |> half@4 |> half@2 |> half@1)"
    )
    assert run_term(program["main"], [list(range(8))]) == [0]


def test_a_program_with_dependent_functions_compiles() -> None:
    x = np.arange(8, dtype=np.float32)
    for name, expected in (("named", x[:2]), ("of a type and a size", x.reshape(4, 2)[::-1])):
        kernel = TermKernel("f", parse_term(PROGRAMS[name]))
        assert np.array_equal(kernel(x), expected)
        assert np.array_equal(TermKernel("f", kernel.term, "interpret")(x), expected)


def test_a_program_of_a_size_is_a_program_for_all_sizes() -> None:
    kernel = TermKernel("f", parse_term(HALVES))
    for length in (2, 8):
        x = np.arange(length, dtype=np.float32)
        assert np.array_equal(kernel(x), x[: length // 2])
