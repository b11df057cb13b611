"""A program in each surface form and back: dialect text, notation and Python."""

from __future__ import annotations

from riselang.dialects.module import module_text, parse_module, verify_module
from riselang.notation.formatting import format_program
from riselang.notation.printer import show_term
from riselang.notation.program import parse_term
from riselang.term.to_dialect import program_module
from support.checking import inputs_of, interpreted, term_in
from support.normal_form import normal_form
from support.programs import Program
from support.python_replay import replayed
from support.values import same


def through_the_dialect(program: Program) -> None:
    """The text is read back as the same module."""
    text = module_text(program_module(program.term, "f", program.results))
    again = parse_module(text)
    verify_module(again)
    assert module_text(again) == text


def through_the_canonical_form(program: Program) -> None:
    """What reading a term gives means the same as the term, and is emitted and read unchanged."""
    canonical = term_in(program_module(program.term, "f", program.results))
    assert term_in(program_module(canonical, "f", program.results)) == canonical
    inputs = inputs_of(program, 0)
    meaning = interpreted(Program(canonical, program.results), inputs)
    assert same(meaning, interpreted(program, inputs))


def through_generic_text(program: Program) -> None:
    module = program_module(program.term, "f", program.results)
    again = parse_module(module_text(module, generic=True))
    assert module_text(again) == module_text(module)


def through_formatting(program: Program) -> None:
    """What is printed is in the usual layout."""
    text = show_term(program.term)
    assert format_program(text) == f"{text}\n"


def through_notation(program: Program) -> None:
    assert parse_term(show_term(program.term)) == program.term


def through_python(program: Program) -> None:
    """Python's names and calls take the place of lets and applied lambdas."""
    again = replayed(program)
    assert normal_form(again) == normal_form(program.term)


ROUND_TRIPS = (through_the_dialect, through_notation, through_python)
SAMPLED = (through_the_canonical_form, through_generic_text, through_formatting)
"""What a sample of the programs is enough for."""
