"""Random programs: their text, their terms, and what they mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from riselang.dialects.module import module_text, parse_module, verify_module
from riselang.term.to_dialect import program_module
from support import numpy_evaluation
from support.checking import inputs_of, interpreted, term_in
from support.fuzzing import fuzz
from support.programs import Program, programs
from support.shrinking import holds
from support.values import same

SEEDS = st.integers(0, 1000)


def read(text: str) -> ModuleOp:
    module = parse_module(text)
    verify_module(module)
    return module


@pytest.mark.parametrize("generic", [False, True])
@fuzz(50)
@given(programs())
def test_text_is_read_back(generic: bool, program: Program) -> None:
    def reads_back(program: Program) -> None:
        module = program_module(program.term, "f", program.results)
        verify_module(module)
        again = read(module_text(module, generic=generic))
        assert module_text(again, generic=generic) == module_text(module, generic=generic)
        assert module_text(again) == module_text(module)

    holds(reads_back, program)


@fuzz(100)
@given(programs(), SEEDS)
def test_reading_an_emitted_term_gives_its_canonical_form(program: Program, seed: int) -> None:
    def has_canonical_form(program: Program) -> None:
        emitted = program_module(program.term, "f", program.results)
        canonical = term_in(emitted)
        assert term_in(read(module_text(emitted))) == canonical
        inputs = inputs_of(program, seed)
        meaning = interpreted(Program(canonical, program.results), inputs)
        assert same(meaning, interpreted(program, inputs))

    holds(has_canonical_form, program)


@fuzz(100)
@given(programs())
def test_the_canonical_form_is_emitted_and_read_unchanged(program: Program) -> None:
    def is_stable(program: Program) -> None:
        canonical = term_in(program_module(program.term, "f", program.results))
        emitted = program_module(canonical, "f", program.results)
        again = term_in(read(module_text(emitted)))
        assert again == canonical
        text = module_text(program_module(again, "f", program.results))
        assert text == module_text(emitted)

    holds(is_stable, program)


@fuzz(500)
@given(programs(), SEEDS)
def test_the_interpreter_agrees_with_numpy(program: Program, seed: int) -> None:
    def agrees(program: Program) -> None:
        inputs = inputs_of(program, seed)
        tree = numpy_evaluation.run(program.term, inputs, program.input_types)
        expected, found = interpreted(program, inputs), numpy_evaluation.flatten(tree)
        assert same(found, expected), (inputs, found, expected)

    holds(agrees, program)
