"""The patterns that front ends build programs of."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from riselang.dialects.rise.types import array, f32
from riselang.frontends.term_builder import Builder
from riselang.nat import Nat
from riselang.notation.program import parse_term
from riselang.support.errors import SourceLocation
from riselang.term.build import Node
from riselang.term.finish import finish
from riselang.term.nodes import Term, subterms

N = Nat.var("n")
MADE: dict[str, Callable[[Builder, Node], Node]] = {
    "xs |> mapSeq(fun(x, x))": lambda made, xs: made.map_seq(lambda x: x, xs),
    "xs |> mapSeqUnroll(fun(x, x))": lambda made, xs: made.map_seq_unroll(lambda x: x, xs),
    "xs": lambda made, xs: made.map(lambda x: x, xs),
    "xs |> drop(n + 1) |> take(2 * n)": lambda made, xs: made.take(2 * N, made.drop(N + 1, xs)),
    "xs |> drop(1) |> take(4 * n)": lambda made, xs: made.take(
        4 * N, made.drop(0, made.drop(1, xs))
    ),
    "xs |> drop(1)": lambda made, xs: made.take(4 * N + 1, made.drop(1, xs)),
    "xs |> slide(2, 4)": lambda made, xs: made.slide(N + 1, 2, 4, xs),
}


def built(make: Callable[[Builder, Node], Node]) -> Term:
    builder = Builder()
    xs = builder.parameter("xs", array(4 * N + 2, f32))
    return finish(builder.program([xs], make(builder, xs)))


@pytest.mark.parametrize("text", MADE)
def test_what_is_built_is_what_is_written(text: str) -> None:
    assert built(MADE[text]) == parse_term(f"fun((xs : (4 * n + 2).f32), {text})")


def test_a_program_without_parameters_is_a_value() -> None:
    builder = Builder()
    value = builder.literal(1.5, f32)
    assert builder.program([], value) is value


def test_parts_are_located_where_they_are_made() -> None:
    outer, inner = SourceLocation("a.c", 1), SourceLocation("a.c", 2)
    builder = Builder()
    with builder.at_location(outer):
        xs = builder.parameter("xs", array(N, f32))
        with builder.at_location(inner):
            body = builder.reverse(xs)
        root = builder.program([xs], body)
    assert builder.location is None
    assert {part.location for part in subterms(finish(root))} == {outer, inner}
