"""Foreign ops in notation: their region is a text that is read back."""

from __future__ import annotations

import numpy as np
import pytest

import riselang as rl
from riselang.notation.formatting import format_program
from riselang.notation.printer import show_term
from riselang.notation.program import parse_program, parse_term
from riselang.term.nodes import Embed, Term

CHOICE = """\
^bb0(%a: f32, %b: f32):
  %less = arith.cmpf olt, %a, %b : f32
  %chosen = scf.if %less -> (f32) {
    scf.yield %b : f32
  } else {
    %negated = arith.negf %a : f32
    scf.yield %negated : f32
  }
  rise.return %chosen : f32"""
QUOTES = """\
^bb0(%a: f32):
  // a comment of \\"MLIR\\", and /* of ours
  %b = \\"scf.execute_region\\"() ({
    %c = arith.negf %a {note = \\"a \\\\\\"quoted\\\\\\" // text\\"} : f32
    \\"scf.yield\\"(%c) : (f32) -> ()
  }) : () -> f32
  rise.return %b : f32"""
PROGRAMS = {
    "of values": f'fun((x : f32, y : f32), embed[f32]("{CHOICE}", x, y + 1.0))',
    "in a function": f'fun(x : N.f32, x |> map(fun(e, embed[f32]("{CHOICE}", e, 0.0) * 2.0)))',
    "with quotes": f'fun(x : f32, embed[f32]("{QUOTES}", x))',
    "without operands": 'embed[i32]("%a = arith.constant 1 : i32\nrise.return %a : i32")',
    "in an embed": f'fun(x : f32, embed[f32]("{CHOICE}", x, embed[f32]("{CHOICE}", x, x)))',
}


def embeds(term: Term) -> list[Embed]:
    found = [embed for child in term.children for embed in embeds(child)]
    return [*found, term] if isinstance(term, Embed) else found


@pytest.mark.parametrize("name", PROGRAMS)
def test_embeds_are_printed_and_read_back(name: str) -> None:
    term = parse_term(PROGRAMS[name])
    assert embeds(term)
    shown = show_term(term)
    assert parse_term(shown) == term
    assert show_term(parse_term(shown)) == shown
    formatted = format_program(PROGRAMS[name])
    assert parse_term(formatted) == term
    assert format_program(formatted) == formatted


def test_a_region_is_shown_as_it_is_written() -> None:
    assert CHOICE in show_term(parse_term(PROGRAMS["of values"]))


def test_a_division_and_a_comment_may_follow_a_text() -> None:
    text = 'embed[i32]("%a = arith.constant 7 : i32\nrise.return %a : i32") // 2 /* three */'
    assert format_program(text).endswith('") // 2 /* three */\n')


def test_embeds_are_compiled() -> None:
    program = rl.loads(PROGRAMS["in a function"], name="choice.rise")
    x = np.array([1, -2, 0], np.float32)
    assert np.array_equal(program(x), [-2, 0, 0])  # type: ignore[operator]


# Each text marks where the caret must stand with a guillemet.
ERRORS = {
    'embed[f32]("rise.return »%a : f32")': "embed: %a is used, but not defined",
    'embed[f32]("^bb0(%a : f32):\n  »arith.nonsense", 1.0)': ("embed: unknown op 'arith.nonsense'"),
    '»embed[f32]("^bb0(%a : f32):\n  rise.return %a : f32", 1.0, 2.0)': (
        "embed: the region takes 1 value, but got 2"
    ),
    'embed[f64](»"^bb0(%a : f32):\n  rise.return %a : f32", 1.0)': (
        "embed: expected a region that returns f64, but found one that returns f32"
    ),
    'embed[f32]("^bb0(%a : f32):\n  rise.return %a : f32", »1_i32)': (
        "embed, operand 1: expected f32, but found i32; use cast[f32](...) to convert it"
    ),
    "»embed[f32](1.0)": 'embed: expected a string first, as in embed[f32]("...", a)',
    '»embed[4.f32]("")': "'embed[4.f32]': expected a scalar type",
    'embed[f32](»"")': "embed: expected one block in the region of the embed, but found 0",
    '1 + »"a"': 'a string is not a value; it is the first argument of embed[f32]("...", a)',
    '»embed("a")': (
        "unknown name 'embed'; use embed[f32](\"...\", a), with the result type in brackets"
    ),
    'embed[f32](»"abc': (
        "unexpected character '\"'; a string ends with \" and is the region of an embed: "
        'embed[f32]("...", a)'
    ),
}


@pytest.mark.parametrize("marked", ERRORS)
def test_bad_regions_are_located(marked: str) -> None:
    with pytest.raises(rl.UserError) as raised:
        parse_program(marked.replace("»", ""), "file.rise")
    error = raised.value
    assert error.message == ERRORS[marked]
    before = marked[: marked.index("»")]
    place = (before.count("\n") + 1, len(before) - before.rfind("\n"))
    assert error.location is not None
    assert (error.location.line, error.location.column) == place
