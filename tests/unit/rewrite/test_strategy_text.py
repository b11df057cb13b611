"""Strategies as text: they are read back as they were, and mistakes are shown where they are."""

from __future__ import annotations

import pytest

from riselang.rewrite.combinators import choice, fail, id_, not_, repeat, seq, try_
from riselang.rewrite.core import Strategy
from riselang.rewrite.normal_forms import beta_eta_normal_form, data_flow_normal_form
from riselang.rewrite.registry import ENTRIES, vocabulary
from riselang.rewrite.rule import RULES
from riselang.rewrite.rules.algorithmic import map_fusion, peel_map, split_join
from riselang.rewrite.rules.functions import beta
from riselang.rewrite.selectors import innermost, nth, outermost
from riselang.rewrite.strategies.schedules import reorder, split, store_in_memory, tile
from riselang.rewrite.strategy_text import MAX_CHARACTERS, MAX_DEPTH, parse_strategy
from riselang.rewrite.traversals import (
    all_,
    argument,
    body,
    bottom_up,
    everywhere,
    function,
    inside,
    normalize,
    one,
    some,
    top_down,
)
from riselang.support.errors import UserError

WRITTEN: dict[str, Strategy] = {
    "id": id_,
    "fail": fail,
    "map_fusion": map_fusion,
    "split_join(m=4)": split_join(4),
    "peel_map(k='n + 1')": peel_map("n + 1"),
    "beta >> map_fusion >> id": seq(beta, map_fusion, id_),
    "beta | map_fusion": choice(beta, map_fusion),
    "(beta | map_fusion) >> id": choice(beta, map_fusion) >> id_,
    "(beta >> map_fusion) | id": seq(beta, map_fusion) | id_,
    "try(beta)": try_(beta),
    "not(beta)": not_(beta),
    "repeat(beta)": repeat(beta),
    "repeat(beta, 3)": repeat(beta, 3),
    "top_down(beta)": top_down(beta),
    "bottom_up(beta)": bottom_up(beta),
    "everywhere(beta)": everywhere(beta),
    "normalize(beta >> id)": normalize(beta >> id_),
    "all(beta)": all_(beta),
    "some(beta)": some(beta),
    "one(beta)": one(beta),
    "body(beta)": body(beta),
    "function(beta)": function(beta),
    "argument(beta)": argument(beta),
    "inside(beta)": inside(beta),
    "data_flow_normal_form": data_flow_normal_form,
    "beta_eta_normal_form": beta_eta_normal_form,
    "tile(4, 2)": tile(4, 2),
    "reorder(2, 1)": reorder(2, 1),
    "store_in_memory(space='stack')": store_in_memory(space="stack"),
    "beta @ outermost('map')": beta @ outermost("map"),
    "split(4) @ innermost('any map', over='row', length=8, nest=2)":
        split(4) @ innermost("any map", over="row", length=8, nest=2),
    "beta @ nth(2, 'let') >> id": beta @ nth(2, "let") >> id_,
    "(beta >> id) @ outermost('map') @ outermost('let')":
        (beta >> id_) @ outermost("map") @ outermost("let"),
}  # fmt: skip


@pytest.mark.parametrize("text", WRITTEN)
def test_a_strategy_is_written_and_read_back(text: str) -> None:
    assert str(WRITTEN[text]) == text
    assert parse_strategy(text) == WRITTEN[text]


@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_read_by_its_name(name: str) -> None:
    assert parse_strategy(name) == RULES[name]


def test_all_words_mean_something() -> None:
    words = vocabulary()
    assert RULES.keys() <= words.keys()
    assert ENTRIES.keys() <= words.keys()


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("fusions = normalize(map_fusion)\nfusions >> beta", "normalize(map_fusion) >> beta"),
        ("a = beta\nb = a | id\nb", "beta | id"),
        ("(\n  beta\n  >> id\n)", "beta >> id"),
        ("beta  # what for", "beta"),
        ("beta >> (id >> fail)", "beta >> id >> fail"),
        ("beta | (id | fail)", "beta | id | fail"),
        ("split_join(4)(8)", "split_join(m=8)"),
        ("split_join(m='2*n')", "split_join(m='n * 2')"),
        ("not (beta)", "not(beta)"),
        ("seq()", "id"),
        ("choice()", "fail"),
        ("seq(beta)", "beta"),
    ],
)
def test_what_else_may_be_written(text: str, meaning: str) -> None:
    assert str(parse_strategy(text)) == meaning
    assert parse_strategy(meaning) == parse_strategy(text)


def test_a_long_sequence_is_read() -> None:
    text = " >> ".join(["beta", "id"] * 1000)
    assert str(parse_strategy(text)) == text


MISTAKES = {
    "": (1, 1, "expected a strategy"),
    "# nothing": (1, 1, "expected a strategy"),
    "map_fusio": (1, 1, "there is no rule or strategy map_fusio; did you mean map_fusion?"),
    "beta >> map_fusio": (1, 9, "did you mean map_fusion?"),
    "try(map_fusio)": (1, 5, "did you mean map_fusion?"),
    "not(try(map_fusio))": (1, 9, "did you mean map_fusion?"),
    "beta >> (\n  try(map_fusio))": (2, 7, "did you mean map_fusion?"),
    "'é' >> beta": (1, 1, "expected a strategy, but found 'é'"),
    "beta >> é >> 3": (1, 9, "there is no rule or strategy é"),
    "é >> beta >> 3": (1, 1, "there is no rule or strategy é"),
    "beta @ outermost('map', over='é') >> 3": (1, 38, "expected a strategy, but found 3"),
    "top_down": (1, 1, "top_down needs its arguments in parentheses"),
    "beta >> try_": (1, 9, "needs its arguments in parentheses"),
    "top_down()": (1, 1, "missing a required argument: 'strategy'"),
    "top_down(3)": (1, 1, "top_down: expected a strategy, but found 3"),
    "top_down('beta')": (1, 1, "top_down: expected a strategy, but found 'beta'"),
    "top_down(beta, beta)": (1, 1, "too many positional arguments"),
    "top_down(beta, deep=1)": (1, 1, "unexpected keyword argument 'deep'"),
    "top_down(outermost('map'))": (1, 1, "expected a strategy, but found outermost('map')"),
    "split_join(": (1, 11, "'(' was never closed"),
    "not(beta": (1, 4, "'(' was never closed"),
    "split_join)": (1, 11, "unmatched ')'"),
    "split_join(-1)": (1, 12, "-1 is not a strategy"),
    "split_join(1.5)": (1, 12, "1.5 is not a strategy"),
    "split_join('n +')": (1, 1, "m must be a size, but is 'n +'"),
    "split_join('')": (1, 1, "m must be a size, but is ''"),
    "split_join('?m')": (1, 1, "m must be a size, but is ?m"),
    "split_join(1, 2)": (1, 1, "split_join takes 1 parameter (m), but got 2"),
    "split_join(n=4)": (1, 1, "split_join has no parameter n; it has: m"),
    "split_join(m=4, m=5)": (1, 17, "m is given twice"),
    "split_join(None)": (1, 12, "None is not a strategy"),
    "split_join(True)": (1, 1, "expected a size, but found True"),
    "split_join([4])": (1, 1, "expected a size, but found [4]"),
    "split_join(beta)": (1, 1, "expected a size, but found beta"),
    "map_fusion(4)": (1, 1, "map_fusion takes no parameters, but got 1"),
    "beta >>": (1, 8, "this is not a strategy: invalid syntax"),
    ">> beta": (1, 1, "this is not a strategy: invalid syntax"),
    "3": (1, 1, "expected a strategy, but found 3"),
    "[beta]": (1, 1, "expected a strategy, but found [beta]"),
    "beta, id": (1, 1, "expected a strategy, but found beta, id"),
    "beta + id": (1, 1, "beta + id is not a strategy"),
    "~beta": (1, 1, "~beta is not a strategy"),
    "not beta": (1, 1, "not beta is not a strategy"),
    "try": (1, 4, "this is not a strategy"),
    "beta @ 3": (1, 8, "expected an address such as outermost(\"map\")"),
    "beta @ id": (1, 8, "expected an address"),
    "beta @ outermost": (1, 8, "expected an address"),
    "beta @ outermost('mop')": (1, 8, "'mop' is not a pattern"),
    "beta @ outermost()": (1, 8, "missing a required argument: 'pattern'"),
    "beta @ outermost('map', over=3)": (1, 8, "expected a text, but found 3"),
    "beta @ outermost('map', length='n')": (1, 8, "expected a number, but found 'n'"),
    "beta @ outermost('map', nest=0)": (1, 8, "counted from 1, but found nest=0"),
    "beta @ nth(0, 'map')": (1, 8, "applications are counted from 1, but found 0"),
    "beta @ nth('map', 1)": (1, 8, "nth: expected a number, but found 'map'"),
    "outermost('map')": (1, 1, "expected a strategy, but found outermost('map')"),
    "tile()": (1, 1, "tile needs the size of a tile in each dimension"),
    "tile(4, 0)": (1, 1, "at least 1"),
    "tile('4')": (1, 1, "tile: expected a number, but found '4'"),
    "tile(True)": (1, 1, "tile: expected a number, but found True"),
    "reorder()": (1, 1, "reorder needs"),
    "reorder(1, 1)": (1, 1, "reorder needs each number from 1 to 2 once"),
    "store_in_memory('moon')": (1, 1, "expected heap, stack, register, but found moon"),
    "simplify": (1, 1, "simplify needs its arguments in parentheses"),
    "fuse()()": (1, 1, "fuse() takes no arguments"),
    "id(3)": (1, 1, "id takes no arguments"),
    "repeat(beta, 'often')": (1, 1, "repeat: expected a number, but found 'often'"),
    "x = beta": (1, 1, "expected a strategy"),
    "x = 3\nx": (1, 5, "expected a strategy, but found 3"),
    "x = y = beta\nx": (1, 1, "expected name = strategy"),
    "a.b = beta\nbeta": (1, 1, "expected name = strategy"),
    "import os\nbeta": (1, 1, "expected name = strategy"),
    "beta\nbeta": (1, 1, "expected name = strategy"),
    "lambda x: x": (1, 1, "lambda x: x is not a strategy"),
    "beta if id else fail": (1, 1, "is not a strategy"),
    "seq(*[beta])": (1, 5, "*[beta] is not a strategy"),
    "seq(**{})": (1, 1, "** has no meaning here"),
    "beta.name": (1, 1, "there is no rule or strategy beta.name"),
    "__import__('os')": (1, 1, "there is no rule or strategy __import__"),
    "f'{beta}'": (1, 1, "is not a strategy"),
    "\0": (1, 1, "cannot contain null bytes"),
    "'": (1, 1, "unterminated string literal"),
    " beta": (1, 1, "unexpected indent"),
    "0777": (1, 1, "leading zeros"),
    "9" * 5000: (1, 1, "digits"),
    "(" * 300: (1, 201, "too many nested parentheses"),
    "-" * (MAX_DEPTH + 50) + "3": (1, 200, f"nested at most {MAX_DEPTH} deep"),
    "id" + " + id" * 900: (1, 1, f"nested at most {MAX_DEPTH} deep"),
    "(" + "beta >> " * 900 + "id) + id": (1, 1, "... is not a strategy"),
    "b" * (MAX_CHARACTERS + 1): (1, 1, f"at most {MAX_CHARACTERS} characters"),
}  # fmt: skip


@pytest.mark.parametrize("text", MISTAKES, ids=lambda text: text[:30])
def test_an_error_is_located(text: str) -> None:
    line, column, message = MISTAKES[text]
    with pytest.raises(UserError) as caught:
        parse_strategy(text, "some.strategy")
    location = caught.value.location
    assert location is not None
    assert message in caught.value.message
    assert (location.file, location.line) == ("some.strategy", line)
    if "deep" not in message:
        # Of something nested too deep, any place will do.
        assert location.column == column
    assert len(caught.value.message) < 250


def test_there_are_many_kinds_of_errors() -> None:
    assert len(MISTAKES) >= 60


def test_the_line_is_shown_as_it_was_written() -> None:
    with pytest.raises(UserError) as caught:
        parse_strategy("beta >> try(map_fusio)")
    assert str(caught.value) == (
        "<strategy>:1:13: error: there is no rule or strategy map_fusio; did you mean map_fusion?\n"
        "  beta >> try(map_fusio)\n"
        "              ^"
    )
