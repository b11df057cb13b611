"""Lets in normal form are those that a module of the dialect reads back as."""

from __future__ import annotations

from pathlib import Path

import pytest

from riselang.api.kernel import TermKernel
from riselang.dialects.module import functions, module_text, parse_module
from riselang.notation.program import parse_program, parse_term
from riselang.term.contraction import contract
from riselang.term.from_dialect import read_units
from riselang.term.lets import normalize_lets
from riselang.term.nodes import Term
from riselang.term.to_dialect import program_module
from support.programs import seeded_program

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("**/*.rise"))
SEEDS = 60


def read_back(term: Term, results: int = 1) -> Term:
    (function,) = functions(program_module(term, "f", results))
    ((_, unit),) = read_units(function)
    return unit.term


def check(term: Term, results: int = 1) -> None:
    settled = normalize_lets(term, results)
    assert settled == read_back(settled, results)
    assert normalize_lets(settled, results) == settled


@pytest.mark.sampled(8)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    for definition in parse_program(path.read_text(), str(path)):
        kernel = TermKernel(definition.name, definition.term, refined=definition.size_refinements)
        term, results = kernel.source(kernel.types, {})
        check(term, results)
        check(contract(term), results)


@pytest.mark.rotating(3)
def test_random_programs() -> None:
    for seed in range(SEEDS):
        program = seeded_program(seed)
        check(program.term, program.results)
        check(contract(program.term), program.results)


def test_what_is_used_once_has_no_let() -> None:
    term = parse_term("fun((x : 4.f32), let y = x |> map(fun(a, a + 1.0)); y |> map(neg))")
    assert "let" not in str(normalize_lets(term))


def test_names_stay() -> None:
    source = """fun((x : 4.f32),
      zip(let rows = x |> map(fun(a, a + 1.0)); zip(rows, rows |> map(neg)), x))"""
    settled = normalize_lets(parse_term(source))
    assert str(settled).partition("let rows = ")[1]
    text = module_text(program_module(settled, "f"))
    assert "%rows = rise.apply" in text
    (function,) = functions(parse_module(text))
    ((_, unit),) = read_units(function)
    assert unit.term == settled
    assert str(unit.term) == str(settled)


def test_a_tuple_is_stored_once_if_the_results_are_its_components() -> None:
    term = parse_term(
        "fun((x : 4.(i32 x (f32 x u8))), x |> map(fun(e, (fst(e), snd(e)))) |> unzip)"
    )
    settled = normalize_lets(term, 2)
    assert "let" not in str(settled)
    check(term, 2)
    program = seeded_program(61000609, compiled=True)
    check(program.term, program.results)
