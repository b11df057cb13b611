"""Contraction on random programs: inlining changes nothing, and compiled code keeps the bits."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from riselang.api.compile import Compilation
from riselang.term.contraction import contract
from riselang.term.fusion import inline_element_functions
from riselang.term.to_dialect import program_module
from support.checking import inputs_of, interpreted
from support.fuzzing import fuzz
from support.programs import Program, compiled_programs, programs
from support.shrinking import holds
from support.values import same

SEEDS = st.integers(0, 1000)


@fuzz(150)
@given(programs(), SEEDS)
def test_inlining_element_functions_changes_no_bit(program: Program, seed: int) -> None:
    def is_unchanged(program: Program) -> None:
        inlined = Program(inline_element_functions(program.term), program.results)
        inputs = inputs_of(program, seed)
        assert same(interpreted(inlined, inputs), interpreted(program, inputs))

    holds(is_unchanged, program)


@fuzz(20)
@given(compiled_programs(), SEEDS)
def test_contracted_programs_keep_their_bits_when_compiled(program: Program, seed: int) -> None:
    def agrees(program: Program) -> None:
        contracted = Program(contract(program.term), program.results)
        inputs = inputs_of(program, seed)
        expected = interpreted(contracted, inputs)
        module = program_module(contracted.term, "f", program.results)
        outputs = [np.empty_like(array) for array in expected]
        buffers = [array for arrays in inputs for array in arrays]
        Compilation(module, "affine").functions["f"](*outputs, *buffers)
        assert same(outputs, expected)

    holds(agrees, program)
