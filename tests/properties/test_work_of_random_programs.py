"""The loops of random programs perform no more work than the programs as written."""

from __future__ import annotations

import pytest

from riselang.compiler.compilation import Compilation
from riselang.compiler.program_sources import TermSource
from riselang.lowering.vector_removal import replace_unsupported_vectors
from riselang.support.config import Options
from riselang.support.errors import LimitationError
from riselang.term.lets import normalize_lets
from riselang.term.work import Work, source_work
from support.fuzzing import Ran, seeds
from support.programs import Program, seeded_program
from support.work import check_work

COPIES = Work(0, 256)
"""Copies of a few scalars that the measure of the source does not foresee, such as those of the
results of chunks."""


@pytest.mark.sampled(2)
@seeds(120, nightly=600, fuzzed=10_000, batch=30)
def test_random_programs_are_not_computed_repeatedly(seeds: range, ran: Ran) -> None:
    for seed in seeds:
        check_program(seeded_program(seed, compiled=True), seed)
    ran("random programs: work of the loops", len(seeds))


def check_program(program: Program, seed: int) -> None:
    term = normalize_lets(program.term, program.results)
    compilation = Compilation(TermSource("program", term, program.results), Options("affine"))
    try:
        loops = compilation.function_work("program")
    except LimitationError:
        return
    # Vectors that the machine does not have are arrays.
    source = source_work(replace_unsupported_vectors(program.term))
    if source.is_exact and loops.is_exact:
        check_work(f"the program of seed {seed}", source + COPIES, loops)


def test_programs_that_were_computed_repeatedly() -> None:
    """Components of one tuple that were copied, an array that was concatenated with an empty one,
    pairs of which only one component is computed, and an empty array that was read twice."""
    for seed in (61000609, 61010748, 61016361, 4248040):
        check_program(seeded_program(seed, compiled=True), seed)
