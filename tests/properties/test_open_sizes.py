"""Random programs compiled once for all sizes: equal to the interpreter at the sizes of a call."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riselang.api.compile import Compilation
from riselang.dialects.module import module_text
from riselang.native import mlir
from support.checking import call_of, inputs_of, interpreted, module_of
from support.fuzzing import fuzz
from support.guarded import SIDES, Request, Runner
from support.open_sizes import opened
from support.programs import Program, batches, seeded_program
from support.shrinking import holds
from support.values import same

SEEDS = st.integers(0, 1000)
RUNNER = Runner({"RISE_NUM_THREADS": "2"})


def open_ones(batch: Sequence[Program]) -> list[tuple[Program, Program]]:
    """The programs that are for all sizes, each with how it is then."""
    pairs = [(program, opened(program)) for program in batch]
    return [(program, general) for program, general in pairs if general is not None]


def test_many_random_programs_are_for_all_sizes() -> None:
    programs = [seeded_program(seed, compiled=True) for seed in range(200)]
    assert len(open_ones(programs)) > 60


@pytest.mark.parametrize("loops", ["affine", "scf"])
@fuzz(5)
@given(batches(30), SEEDS)
def test_one_kernel_agrees_with_the_interpreter(
    loops: str, batch: list[Program], seed: int
) -> None:
    def agree(batch: Sequence[Program]) -> None:
        pairs = open_ones(batch)
        inputs = [inputs_of(program, seed) for program, _ in pairs]
        calls = [
            call_of(position, program, values)
            for position, ((program, _), values) in enumerate(zip(pairs, inputs, strict=True))
        ]
        module = module_of([general for _, general in pairs])
        answers = RUNNER.run(Request(module_text(module), loops, calls, "stack"))
        for (program, _), values, results in zip(pairs, inputs, answers, strict=True):
            expected = interpreted(program, values)
            for side, found in zip(SIDES, results, strict=True):
                assert same(found, expected), (side, values, found, expected)

    try:
        agree(batch)
    except Exception:
        for program in batch:
            holds(lambda other: agree([other]), program)
        raise


@pytest.mark.parametrize("loops", ["affine", "scf"])
@fuzz(2)
@given(batches(30))
def test_unmodified_mlir_verifies_the_loops(loops: str, batch: list[Program]) -> None:
    module = module_of([general for _, general in open_ones(batch)])
    mlir.verify(Compilation(module, loops=loops).native_text)
