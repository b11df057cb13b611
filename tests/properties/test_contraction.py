"""Contraction on random programs: inlining changes nothing."""

from __future__ import annotations

import pytest

from riselang.term.fusion import inline_element_functions
from support.checking import inputs_of, interpreted
from support.fuzzing import Ran, seeds
from support.programs import Program, seeded_program
from support.shrinking import holds
from support.values import same


@pytest.mark.sampled(1)
@seeds(100, nightly=200, fuzzed=5_000, batch=50)
def test_inlining_element_functions_changes_no_bit(seeds: range, ran: Ran) -> None:
    for seed in seeds:

        def is_unchanged(program: Program, seed: int = seed) -> None:
            inlined = Program(inline_element_functions(program.term), program.results)
            inputs = inputs_of(program, seed)
            assert same(interpreted(inlined, inputs), interpreted(program, inputs))

        holds(is_unchanged, seeded_program(seed))
    ran("programs: the same with element functions inlined", len(seeds))
