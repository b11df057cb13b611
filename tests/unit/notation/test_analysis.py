"""Texts that are being written: everything that is wrong, and what is known of the rest."""

from __future__ import annotations

import random

import pytest

from riselang.dialects.rise.type_printer import format_type
from riselang.notation.analysis import Analysis, analyze
from riselang.notation.syntax import Name, Parameter
from riselang.term import build
from support.broken_notation import NOTATION


def messages(text: str) -> list[str]:
    return [str(problem).split("\n")[0] for problem in analyze(text, "a.rise").problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def a = fun(x : N.f32, x)", []),
        (
            "",
            ["a.rise:1:1: error: expected an expression or 'def', but found the end of the input"],
        ),
        (
            "def a = fun(x : N.f32, (x)\ndef b = fun(x : N.f32, x + y)",
            [
                "a.rise:2:1: error: expected ')', but found 'def'",
                "a.rise:2:28: error: unknown name 'y'",
            ],
        ),
        ("def a = (\ndef b = a", ["a.rise:2:1: error: expected an expression, but found 'def'"]),
        (
            "def a = fun(x : N.f32, x + 1.0)\ndef b = a\ndef c = fun(x : N.f32, x |> q |> r)",
            [
                "a.rise:1:24: error: '+' works on scalars, but this is N.f32; use map to apply it "
                "to every element, and zip(x, y) |> map(...) for two arrays",
                "a.rise:3:29: error: unknown name 'q'",
                "a.rise:3:34: error: unknown name 'r'",
            ],
        ),
        ("/* never", ["a.rise:1:1: error: this comment does not end; expected '*/'"]),
    ],
)
def test_everything_that_is_wrong_is_found(text: str, expected: list[str]) -> None:
    assert messages(text) == expected


def test_analysis_stops_after_many_errors() -> None:
    text = "\n".join(f"def f{number} = fun(" for number in range(300))
    assert 1 <= len(messages(text)) <= 20


def test_types_are_known_where_something_is_wrong() -> None:
    text = "def a = fun((x : N.f32, y : M.f32), x |> map(fun(e, e * 2.0)) |> zip(y))"
    analysis = analyze(text)
    assert len(analysis.problems) == 1
    name = analysis.name_at(text.index("e * 2.0"))
    assert isinstance(name, Name)
    binder = analysis.binder_of(name)
    assert isinstance(binder, Parameter)
    assert [format_type(type) for type in analysis.types_at(binder.span, build.Variable)] == ["f32"]


def known(analysis: Analysis) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """All that an editor shows of a text."""
    names = [(each.name, each.span) for each in analysis.names_in_scope(10**9)]
    types = [(name, [format_type(t) for t in analysis.types_at(span, build.Variable)])
             for name, span in names]  # fmt: skip
    return [str(problem) for problem in analysis.problems], types


@pytest.mark.rotating(5)
def test_what_stays_is_used_again_and_gives_the_same() -> None:
    choices = random.Random(3)
    definitions = [text for text in NOTATION.texts if text.lstrip().startswith("def")]
    reused = 0
    for _ in range(25):
        parts = [choices.choice(definitions) for _ in range(3)]
        text = "\n".join(f"def d{number} = fun(x : N.f32, x)\n{part}" for number, part in
                         enumerate(parts))  # fmt: skip
        place = choices.randrange(len(text))
        changed = text[:place] + choices.choice(["", "(", " q", "\n\n", "def "]) + text[place + 1 :]
        before = analyze(text)
        after = analyze(changed, previous=before)
        assert known(after) == known(analyze(changed))
        kept = {id(each.elaborator) for each in before.results if each.elaborator is not None}
        reused += sum(id(each.elaborator) in kept for each in after.results)
    assert reused > 10
