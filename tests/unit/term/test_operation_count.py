"""Operations counted once for each distinct subterm are those of the work measure."""

from __future__ import annotations

import pytest

from riselang.nat import as_nat
from riselang.notation.program import parse_term
from riselang.term.operation_count import count_operations
from riselang.term.work import source_work

PROGRAMS = {
    "nested maps": ("fun((x : 4.6.f32) => x |> map(map(fun(a => a * a + 1.0))))", 48),
    "a partial application": ("fun((x : 4.6.f32) => x |> map(reduce(add, 0.0)))", 24),
    "a let that binds data": (
        "fun((x : 8.f32) => let y = x |> reduce(add, 0.0); x |> map(fun(a => a * y)))",
        16,
    ),
    "a let that binds a function": (
        "fun((x : 4.6.f32) => let f = fun((a : f32) => a * a + a);"
        " x |> map(fun(row => row |> map(fun(a => f(f(a)))))))",
        96,
    ),
    "functions that call functions": (
        "fun((x : 8.f32) => let f = fun((a : f32) => a + 1.0);"
        " let g = fun((a : f32) => f(a) * f(a)); x |> map(fun(a => g(a))))",
        24,
    ),
    "a function applied to a function": (
        "fun((x : 8.f32) => (fun((f : f32 -> f32, y : 8.f32) => y |> map(f)))"
        "(fun((a : f32) => a * a), x))",
        8,
    ),
    "a symbolic size": ("fun((x : n.f32) => x |> map(fun(a => a * a + 1.0)))", as_nat("2 * n")),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_operations_are_those_of_the_work_measure(name: str) -> None:
    text, count = PROGRAMS[name]
    term = parse_term(text)
    assert count_operations(term) == source_work(term).operations == count


def test_a_pair_with_a_computed_array_is_stored_whole() -> None:
    text = """fun((x : 6.f32, y : 8.f32) => generate(fun((i : idx[3]) =>
      (x, y |> mapSeq(fun(a => a * a))))))"""
    # Each element copies x, and loads and stores each number of y.
    assert source_work(parse_term(text)).bytes == 3 * (2 * 6 + 2 * 8) * 4
