"""Passes that know nothing of RISE leave the meaning of random programs as it is, bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument
from xdsl.passes import PassPipeline
from xdsl.transforms import get_all_passes

from riselang.dialects.module import functions, make_context, module_text, verify_module, walk
from riselang.dialects.rise.types import uncurry
from riselang.interpreter.evaluate import from_buffers, run_term, to_buffers
from riselang.term.from_dialect import read_units
from riselang.term.to_dialect import program_module
from riselang.universe import RISE_UNIVERSE
from support.checking import Inputs, call_of, inputs_of, interpreted, module_of
from support.fuzzing import Ran, seeds
from support.guarded import Request, runner
from support.numpy_scalars import Array
from support.programs import Program, seeded_program
from support.shrinking import all_hold, holds
from support.values import same

GENERIC = ("canonicalize", "cse", "dce", "inline", "symbol-dce")
BETWEEN = "canonicalize,cse,dce"
TOGETHER = "inline,canonicalize,cse,canonicalize,dce,symbol-dce"


def run_passes(module: ModuleOp, passes: str) -> None:
    """Run passes in the spelling of `rise-opt`; what they leave must be valid."""
    PassPipeline.parse_spec({**get_all_passes(), **RISE_UNIVERSE.all_passes}, passes).apply(
        make_context(), module
    )
    verify_module(module)


def meaning(module: ModuleOp, inputs: Inputs) -> list[Array]:
    """What the only program of a module computes; inputs that are not read may be gone from it."""
    (function,) = functions(module)
    ((_, unit),) = read_units(function)
    arrays = [array for arrays in inputs for array in arrays]
    outputs = len(function.args) - len(arrays)
    given = dict(zip(function.args[outputs:], arrays, strict=True))
    types, result = uncurry(unit.term.type)
    values = [
        from_buffers(type, [given[cast(BlockArgument, buffer)] for buffer in buffers])
        for type, buffers in zip(types, unit.inputs, strict=True)
    ]
    return to_buffers(result, run_term(unit.term, values))


@pytest.mark.rotating(3)
@seeds(25, nightly=100, fuzzed=5_000, batch=25)
def test_generic_passes_keep_the_meaning(seeds: range, ran: Ran) -> None:
    changed = 0
    for seed in seeds:

        def keeps_its_meaning(program: Program, seed: int = seed) -> None:
            inputs = inputs_of(program, seed)
            expected = interpreted(program, inputs)
            for passes in (*GENERIC, TOGETHER):
                module = program_module(program.term, "f", program.results)
                run_passes(module, passes)
                assert same(meaning(module, inputs), expected), passes

        program = seeded_program(seed)
        holds(keeps_its_meaning, program)
        before = program_module(program.term, "f", program.results)
        text = module_text(before)
        run_passes(before, TOGETHER)
        changed += module_text(before) != text
    assert changed > len(seeds) // 2
    ran("programs: the same after generic passes", len(seeds))


LOWERING = ("convert-rise-to-imperative{loops=affine}", "resolve-rise-access")


@pytest.mark.rotating(2)
@seeds(16, nightly=32, fuzzed=2_000, batch=16)
def test_generic_passes_between_the_phases_of_lowering(seeds: range, ran: Ran) -> None:
    """Access paths are read where they stand: `cse` must not merge reads across a store."""
    made = [seeded_program(seed, compiled=True) for seed in seeds]
    batch = [program for program in made if not has_checks(program)]
    all_hold(partial(agree_between_phases, seeds.start), batch)
    ran("programs: the same with generic passes between the phases", len(batch))


def has_checks(program: Program) -> bool:
    """Whether phase 1 gives the function one more buffer, for failures, which no call has."""
    return any(op.name == "rise.checkIdx" for op in walk(module_of([program])))


def agree_between_phases(seed: int, batch: Sequence[Program]) -> None:
    first, second = LOWERING
    module = module_of(batch)
    run_passes(module, f"{TOGETHER},{first},{BETWEEN},{second}")
    inputs = [inputs_of(program, seed) for program in batch]
    calls = [
        call_of(position, program, values)
        for position, (program, values) in enumerate(zip(batch, inputs, strict=True))
    ]
    answers = runner(1).run(Request(module_text(module), "affine", calls, "stack", "strict"))
    for program, values, results in zip(batch, inputs, answers, strict=True):
        expected = interpreted(program, values)
        assert all(same(found, expected) for found in results)
