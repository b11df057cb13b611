"""Random programs compiled once for all sizes: equal to the interpreter at the sizes of a call."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from riselang.compiler.compilation import Compilation
from riselang.dialects.module import module_text, parse_module
from riselang.dialects.rise.types import leaves
from riselang.native.mlir import bindings as mlir
from riselang.notation.printer import show_term
from riselang.notation.program import parse_term
from riselang.runtime.shapes import SizeBinding
from riselang.support.config import Options
from riselang.term.nodes import Apply, Bound, DepApply, DepLambda, Lambda
from riselang.term.to_dialect import program_module
from support.checking import call_of, inputs_of, interpreted, module_of
from support.fuzzing import Ran, seeds
from support.guarded import SIDES, Request, Runner
from support.open_sizes import opened
from support.programs import Program, seeded_program
from support.shrinking import holds
from support.values import same

pytestmark = pytest.mark.rotating(4)

RUNNER = Runner({"RISE_NUM_THREADS": "2"})


def open_ones(batch: Sequence[Program]) -> list[tuple[Program, Program]]:
    """The programs that are for all sizes, each with how it is then."""
    pairs = [(program, opened(program)) for program in batch]
    return [(program, general) for program, general in pairs if general is not None]


def test_many_random_programs_are_for_all_sizes() -> None:
    programs = [seeded_program(seed, compiled=True) for seed in range(60)]
    assert len(open_ones(programs)) > 15


@pytest.mark.parametrize("loops", ["affine", "scf"])
@seeds(30, nightly=90, fuzzed=3_000, batch=30)
def test_one_kernel_agrees_with_the_interpreter(seeds: range, loops: str, ran: Ran) -> None:
    def agree(batch: Sequence[Program]) -> None:
        pairs = open_ones(batch)
        inputs = [inputs_of(program, seeds.start) for program, _ in pairs]
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

    batch = [seeded_program(seed, compiled=True) for seed in seeds]
    try:
        agree(batch)
    except Exception:
        for program in batch:
            holds(lambda other: agree([other]), program)
        raise
    ran("programs: interpreter = compiled for all sizes", len(open_ones(batch)))


@pytest.mark.parametrize("loops", ["affine", "scf"])
@seeds(30, nightly=60, fuzzed=600, batch=30)
def test_unmodified_mlir_verifies_the_loops(seeds: range, loops: str) -> None:
    batch = [seeded_program(seed, compiled=True) for seed in seeds]
    module = module_of([general for _, general in open_ones(batch)])
    mlir.verify(Compilation(module, Options(loops)).native_text)


@seeds(50, nightly=150, fuzzed=3_000, batch=50)
def test_functions_of_sizes_are_read_back_and_mean_the_same(seeds: range, ran: Ran) -> None:
    for program, general in open_ones([seeded_program(seed) for seed in seeds]):
        applied = at_their_sizes(program, general)
        assert parse_term(show_term(applied.term)) == applied.term
        text = module_text(program_module(applied.term, "f", applied.results))
        assert module_text(parse_module(text)) == text
        inputs = inputs_of(program, seeds.start)
        assert same(interpreted(applied, inputs), interpreted(program, inputs))
    ran("programs: as functions of sizes", len(seeds))


def at_their_sizes(program: Program, general: Program) -> Program:
    """A function of all its open sizes, applied to the sizes of the program."""
    binding = SizeBinding()
    for left, right in zip(general.input_types, program.input_types, strict=True):
        for (lengths, _), (numbers, _) in zip(leaves(left), leaves(right), strict=True):
            binding.bind(lengths, [number.constant for number in numbers], "an input")
    sizes = binding.finish()
    term = general.term
    for name in sorted(sizes):
        term = DepLambda("nat", name, term)
    for name in sorted(sizes, reverse=True):
        term = DepApply(term, sizes[name])
    parameters = program.input_types
    for position in range(len(parameters)):
        term = Apply(term, Bound(len(parameters) - 1 - position, parameters[position]))
    for type in reversed(parameters):
        term = Lambda("x", type, term)
    return Program(term, program.results)
