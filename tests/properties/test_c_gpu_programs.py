"""Random C programs compute the same on an emulated GPU as on the CPU, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from riselang.frontends.c.c_program import CProgram, make_program
from riselang.frontends.c.gpu import kernel_builder
from riselang.frontends.c.schedule import isl_schedule
from riselang.support.config import Options
from riselang.support.errors import RiseError
from support.c_generation import random_program
from support.c_programs import arguments_for, model, same_bits
from support.fuzzing import Ran, seeds
from support.recording_gpu import emulate_new_programs


@pytest.mark.rotating(2)
@seeds(2, nightly=20, fuzzed=400, batch=10)
def test_random_programs_agree_with_the_cpu(
    seeds: range, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    emulate_new_programs(monkeypatch)
    monkeypatch.setattr(isl_schedule, "MAX_GPU_OPERATIONS", 60_000)
    for seed in seeds:
        monkeypatch.setattr(kernel_builder, "MIN_JAMMED_THREADS", 2 if seed % 2 else 1 << 18)
        program = random_program(seed)
        try:
            scop = model(program.text, "f")
        except RiseError:
            continue
        on_cpu = make_program([scop], Options("affine", "strict"), checks=False)
        sizes = {name: min(value, 8) for name, value in program.sizes.items()}
        given = arguments_for(scop, sizes, seed)
        try:
            found = run(replace(on_cpu, on_gpu=True), given)
        except RiseError:
            ran("C programs that a GPU does not run", 1)
            continue
        for one, other in zip(found, run(on_cpu, given), strict=True):
            assert same_bits(one, other), f"seed {seed}\n{program.text}"
        ran("C programs compared on an emulated GPU", 1)


def run(program: CProgram, given: list[Any]) -> list[Any]:
    """Call the function with copies; return the arrays, and the result."""
    arguments = [each.copy() if isinstance(each, np.ndarray) else each for each in given]
    result = program.functions()["f"](*arguments)
    arrays = [each for each in arguments if isinstance(each, np.ndarray)]
    return [*arrays, np.array([result if result is not None else 0])]
