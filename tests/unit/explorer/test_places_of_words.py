"""Where the patterns and parts of a term stand in its text."""

from __future__ import annotations

import pytest

from riselang.notation.printer import show_term
from riselang.notation.program import parse_term
from riselang.notation.term_extents import format_with_extents
from riselang.rewrite.paths import path_of_trail, subterm_at, subterms_outside_in
from riselang.term.nodes import Literal, Pattern, Scalar, subterms

TEXTS = [
    "fun((A : N.K.f32, B : K.M.f32), A |> map(fun(row, B |> transpose |> map(fun(column, "
    "zip(row, column) |> map(mult) |> reduce(add, 0.0))))))",
    "fun((x : N.f32), let y = x |> map(sqrt); let z = y |> map(fun(a, a * 2.0)); zip(y, z))",
    "fun((x : i32), (x + 1) * 2 - x // (3 - x))",
    "fun((x : 8.f32), x |> split(4) |> mapSeq[affine](reduce(add, 0.0)) |> reverse)",
    "fun((x : f32, y : f32), if x < y then fma(x, y, 1.0) else -x)",
]


@pytest.mark.parametrize("text", TEXTS)
def test_words_stand_where_they_are_said_to_stand(text: str) -> None:
    term = parse_term(text)
    placed = format_with_extents(term)
    assert placed.text == show_term(term)
    lines = placed.text.split("\n")
    assert placed.words
    for word in placed.words:
        written = lines[word.line][word.column : word.column + word.length]
        assert isinstance(word.term, Pattern | Scalar | Literal)
        if isinstance(word.term, Pattern):
            assert written.partition("[")[0] == word.term.spec.name


@pytest.mark.parametrize("text", TEXTS)
def test_every_pattern_that_is_written_is_a_word(text: str) -> None:
    term = parse_term(text)
    placed = format_with_extents(term)
    shown = {id(word.term) for word in placed.words}
    missing = {
        part.spec.name
        for part in subterms(term)
        if isinstance(part, Pattern) and id(part) not in shown
    }
    # Written in another way: `let y = ...`, `(a, b)`, and pairs that an operator takes apart.
    assert missing <= {"let", "tuple", "fst", "snd"}


def test_a_part_of_a_pipe_ends_where_its_function_does() -> None:
    term = parse_term("fun((x : 8.f32), x |> reverse |> split(4) |> join)")
    placed = format_with_extents(term)
    line = placed.text.split("\n")[1]
    texts = []
    for trail, part in subterms_outside_in(term):
        path = path_of_trail(trail)
        extent = placed.extent(part)
        if extent is not None and extent[0][0] == 1:
            (_, first), (_, last) = extent
            assert subterm_at(term, path) is part
            texts.append(line[first:last])
    for wanted in ("x |> reverse", "x |> reverse |> split(4)", "x |> reverse |> split(4) |> join"):
        assert wanted in texts
