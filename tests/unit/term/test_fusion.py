"""Inlining of element functions."""

from __future__ import annotations

from riselang.notation.program import parse_term
from riselang.term.fusion import inline_element_functions


def test_inlined_functions_of_pairs_read_the_components() -> None:
    """Strategies recognize the operands of a kernel only without a pair around them."""
    program = parse_term(
        "fun((a : 4.8.16.f32, b : 4.16.8.f32), zip(a, b |> map(transpose)) |> map(fun(p, "
        "fst(p) |> map(fun(row, snd(p) |> map(fun(column, "
        "zip(row, column) |> map(mult) |> reduce(add, 0.0))))))))"
    )
    inlined = str(inline_element_functions(program))
    assert "fst(p) |> map(fun(row" in inlined
    assert "snd(p) |> transpose |> map(fun(column" in inlined
    assert "fst((" not in inlined
    assert "snd((" not in inlined
