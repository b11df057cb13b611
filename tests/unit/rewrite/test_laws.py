"""Laws as text, and what is read off the text before it is parsed."""

from __future__ import annotations

import pytest

from riselang.rewrite.laws import Law
from riselang.rewrite.registry import load_all
from riselang.rewrite.rule import RULES
from riselang.support.errors import UserError
from riselang.term.nodes import Pattern, Term, spine

load_all()


def patterns(term: Term) -> list[str]:
    """The patterns that a term ends with, the last one first."""
    found: list[str] = []
    while True:
        head, arguments = spine(term)
        if not isinstance(head, Pattern) or not arguments:
            return found
        found.append(head.spec.name)
        term = arguments[-1]


@pytest.mark.parametrize("name", RULES)
def test_the_outline_of_a_law_is_that_of_its_left_side(name: str) -> None:
    law = RULES[name].law
    found = patterns(law.sides[0])
    assert tuple(found[: len(law.outline)]) == law.outline
    assert law.outline or not found or found[0] == "tuple"


def test_the_outline_ends_at_what_is_no_pattern() -> None:
    assert Law.parse("x : n.t, f : t -> t", "f(x) |> map(g) |> join ~> x").outline == (
        "join",
        "map",
    )
    assert Law.parse("x : n.t", "x |> fun(y, y |> map(f)) ~> x").outline == ()
    assert Law.parse("x : n.t", "zip(x |> map(f), y) |> reverse ~> x").outline == ("reverse", "zip")


@pytest.mark.parametrize(
    ("parameters", "text", "line", "marked"),
    [
        ("x : n.m.t", "x |> transpos ~> x", "x |> transpos ~> x", "transpos"),
        ("x : n.t, f : t -> s", "x |> map(f) ~> x |> map(g)", "x |> map(f) ~> x |> map(g)", "g"),
        ("x : n.t", "x |> map ~> x |> (", "x |> map ~> x |> (", ""),
        ("x : n.q", "x ~> x", "x : n.q", "x"),
    ],
)
def test_an_error_in_a_law_is_located_in_its_text(
    parameters: str, text: str, line: str, marked: str
) -> None:
    with pytest.raises(UserError) as caught:
        _ = Law.parse(parameters, text).sides
    location = caught.value.location
    assert location is not None
    assert location.source_line == line or not marked
    if marked:
        assert line[location.column - 1 :].startswith(marked)
        assert "depFun" not in str(caught.value)
