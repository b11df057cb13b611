"""Kernels on the GPU of this machine, where there is one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.compiler.compilation import Compilation
from riselang.native import cuda
from riselang.support.config import Options
from riselang.support.errors import LimitationError, UserError
from support.checking import call_of, inputs_of, interpreted, module_of
from support.fuzzing import Ran, seeds
from support.gpu_kernels import PROGRAMS, kernel, values
from support.gpu_programs import on_gpu
from support.programs import Program, seeded_program
from support.shrinking import all_hold
from support.values import same

pytestmark = pytest.mark.skipif(not cuda.is_available(), reason="there is no GPU")


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_compute_what_the_interpreter_does(name: str) -> None:
    text, _ = PROGRAMS[name]
    program = kernel(text)
    arguments = values(program)
    expected: Any = kernel(text, "interpret")(*arguments)
    for _ in range(3):
        assert np.array_equal(program(*arguments), expected)
    there: Any = program(*map(rl.to_gpu, arguments))
    assert isinstance(there, rl.DeviceArray)
    assert np.array_equal(there.numpy(), expected)


@seeds(160, nightly=160, fuzzed=10_000, batch=20)
def test_random_programs_agree_with_the_interpreter(seeds: range, ran: Ran) -> None:
    programs: list[Program] = []
    for seed in seeds:
        program = seeded_program(seed, compiled=True)
        programs.append(Program(on_gpu(program.term, random.Random(seed)), program.results))

    counts = Counter[bool]()

    def agree(batch: Sequence[Program]) -> None:
        counts.update(agreed(program, seeds.start) for program in batch)

    all_hold(agree, programs)
    ran("programs: interpreter = the GPU of this machine", counts[True])


def agreed(program: Program, seed: int) -> bool:
    """Whether a program ran; where it did, it gave what the interpreter does."""
    try:
        artifact = Compilation(module_of([program]), Options("gpu")).artifact
    except (LimitationError, UserError):
        return False  # what no GPU can run, as `test_gpu_programs.py` counts
    values = inputs_of(program, seed)
    call = call_of(0, program, values)
    artifact.load_executables(lambda _: [program.term])["f0"](*call.outputs, *call.inputs)
    expected = interpreted(program, values)
    assert same(list(call.outputs), expected), (program.term, values, call.outputs, expected)
    return True
