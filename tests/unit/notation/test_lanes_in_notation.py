"""Operators on vectors in notation: printed, read back, and typed where types come late."""

from __future__ import annotations

import pytest

from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import uncurry
from riselang.notation.printer import show_term
from riselang.notation.program import parse_term

STABLE = [
    "fun((v : vec[4, f32], w : vec[4, f32]),\n  v * w + v)",
    "fun((v : vec[4, i8]),\n  select(cmpi[ult](v, v), cast[i8](cast[f64](v)), v))",
    "fun((x : 8.f32),\n  x |> asVector(4) |> map(fun(v, v / (2.0 |> vectorFromScalar(4)))))",
    "fun((x : 8.f32),\n  x |> asVector(4) |> map(neg) |> reduce(add, 0.0 |> vectorFromScalar(4)))",
    "fun((v : vec[K, f32]),\n  max(sqrt(v), v))",
]
RESULTS = {
    "fun((v : vec[4, f32]), v < v)": "vec[4, i1]",
    "fun((v : vec[4, f32]), cast[f64](v))": "vec[4, f64]",
    "fun((v : vec[4, f64]), truncf[f32](v))": "vec[4, f32]",
    "fun((v : vec[4, i32]), cast[i1](v))": "vec[4, i1]",
    "fun((v : vec[4, i32]), if v < v then v else -v)": "vec[4, i32]",
    # The operand of the comparison is known only when the function is applied.
    "fun((v : vec[4, f32]), fun(f, f(v))(fun(a, a < a)))": "vec[4, i1]",
    "fun((v : vec[4, f32]), let less = fun((a, b), a < b); less(v, v))": "vec[4, i1]",
    "fun((v : vec[4, f32]), fun((a, b), select(a < b, cast[i8](a), cast[i8](b)))(v, v))": (
        "vec[4, i8]"
    ),
    # Only the result shows what the operand is.
    "fun((c : vec[4, i1], x : 2.vec[4, f32]), "
    "x |> map(fun(v, fun((f : vec[4, f32] -> vec[4, i1]), f(v))(fun(a, a < a)) & c)))": (
        "2.vec[4, i1]"
    ),
    "generate(fun((i : idx[2]), 1 < 2))": "2.i1",
}


@pytest.mark.parametrize("text", STABLE)
def test_printed_and_read_back(text: str) -> None:
    term = parse_term(text)
    assert show_term(term) == text
    assert parse_term(show_term(term)) == term


@pytest.mark.parametrize("text", RESULTS)
def test_the_types_of_operations_on_vectors(text: str) -> None:
    term = parse_term(text)
    assert format_type(uncurry(term.type)[1]) == RESULTS[text]
    assert parse_term(show_term(term)) == term


def test_foreign_ops_on_vectors_are_written_with_their_type() -> None:
    text = (
        "fun((v : vec[4, f32]),\n"
        '  embed[vec[4, f32]]("^bb0(%a: vector<4xf32>):\n'
        "  %b = vector.fma %a, %a, %a : vector<4xf32>\n"
        '  rise.return %b : vector<4xf32>", v))'
    )
    term = parse_term(text)
    assert parse_term(show_term(term)) == term
