"""Random programs mean on the interpreter what they mean in a second evaluation."""

from __future__ import annotations

import numpy as np
import pytest

from riselang.dialects.rise.types import array, f32
from riselang.support.errors import UserError
from riselang.term.nodes import Bound, Lambda, Scalar, Term, apply_all
from support import numpy_evaluation
from support.checking import Inputs, inputs_of, interpreted
from support.fuzzing import Ran, seeds
from support.generation.place import use
from support.numpy_scalars import Array
from support.numpy_values import OutOfRange
from support.programs import Program, seeded_program
from support.shrinking import holds
from support.values import same


def evaluated(program: Program, inputs: Inputs) -> list[Array]:
    return numpy_evaluation.run(program.term, inputs, program.input_types)


@pytest.mark.sampled(1)
@seeds(500, nightly=2000, fuzzed=50_000, batch=250)
def test_the_interpreter_agrees_with_numpy(seeds: range, ran: Ran) -> None:
    for seed in seeds:

        def agrees(program: Program, seed: int = seed) -> None:
            inputs = inputs_of(program, seed)
            found, expected = evaluated(program, inputs), interpreted(program, inputs)
            assert same(found, expected), (inputs, found, expected)

        holds(agrees, seeded_program(seed))
    ran("programs: interpreter = numpy", len(seeds))


@pytest.mark.rotating(3)
@seeds(250, nightly=500, fuzzed=5_000, batch=250)
def test_what_the_interpreter_rejects_numpy_rejects(seeds: range, ran: Ran) -> None:
    refused = 0
    for seed in seeds:

        def refuses_alike(program: Program, seed: int = seed) -> None:
            inputs = inputs_of(program, seed)
            expected = interpreted_or_refused(program, inputs)
            found = evaluated_or_refused(program, inputs)
            assert (found is None) == (expected is None)
            assert found is None or expected is None or same(found, expected)

        program = seeded_program(seed, may_fail=True)
        holds(refuses_alike, program)
        refused += evaluated_or_refused(program, inputs_of(program, seed)) is None
    assert refused > 0
    ran("programs with checkIdx of any number: refused alike", len(seeds))


def interpreted_or_refused(program: Program, inputs: Inputs) -> list[Array] | None:
    try:
        return interpreted(program, inputs)
    except UserError as error:
        if "checkIdx: the index" not in error.message:
            raise
        return None


def evaluated_or_refused(program: Program, inputs: Inputs) -> list[Array] | None:
    try:
        return evaluated(program, inputs)
    except OutOfRange:
        return None


def test_a_parallel_reduction_of_several_chunks_has_one_order() -> None:
    length = 3 * 4096 + 5
    source = array(length, f32)
    x, y = Bound(1, f32), Bound(0, f32)
    add = Lambda("x", f32, Lambda("y", f32, Scalar("arith.addf", [x, y], f32)))
    body: Term = apply_all(use("reducePar", length, f32), [add, Bound(0, f32), Bound(1, source)])
    program = Program(Lambda("xs", source, Lambda("init", f32, body)), 1)
    values = np.random.default_rng(1).random(length).astype(np.float32)
    inputs = [[values], [np.asarray(0.25, np.float32)]]
    assert same(evaluated(program, inputs), interpreted(program, inputs))
