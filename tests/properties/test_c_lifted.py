"""Random statements over boxes of elements agree with the C compiler, bit for bit, when lifted."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.calling import CFunction
from riselang.frontends.c.lift.lifted_function import PatternFunction
from riselang.frontends.c.model.scop import Scop
from support.c_programs import arguments_for, model, run_by_c, same_bits
from support.c_structured import structured_function
from support.c_structures import Structured, random_structure
from support.fuzzing import Ran, seeds


def compare(program: Structured, seed: int, made: Callable[[str, Scop], CFunction]) -> CFunction:
    scop = model(program.text)
    function = made(program.text, scop)
    given = arguments_for(scop, program.sizes, seed)
    theirs: list[Any] = [each.copy() if isinstance(each, np.ndarray) else each for each in given]
    function(*given)
    run_by_c(program.text, scop, theirs)
    for variable, mine, right in zip(scop.inputs, given, theirs, strict=True):
        if isinstance(mine, np.ndarray):
            assert same_bits(mine, right), f"{variable.name} differs"
    return function


@pytest.mark.rotating(3)
@seeds(10, nightly=20, fuzzed=600, batch=10)
def test_programs_of_patterns_agree_with_the_c_compiler(seeds: range, ran: Ran) -> None:
    for seed in seeds:
        program = random_structure(seed)
        try:
            function = compare(
                program, seed, lambda text, _: rl.from_c(text, float="strict", schedule="patterns")
            )
        except (Exception, subprocess.CalledProcessError) as error:
            raise AssertionError(f"seed {seed}: {error}\n{program.text}{program.sizes}") from error
        is_lifted = isinstance(function, PatternFunction)
        ran("C statements lifted to patterns" if is_lifted else "C statements not lifted", 1)


@pytest.mark.rotating(2)
@seeds(5, nightly=10, fuzzed=300, batch=10)
def test_structured_ops_agree_with_the_c_compiler(seeds: range, ran: Ran) -> None:
    for seed in seeds:
        program = random_structure(seed)
        try:
            compare(program, seed, lambda _, scop: structured_function(scop))
        except (Exception, subprocess.CalledProcessError) as error:
            raise AssertionError(f"seed {seed}: {error}\n{program.text}{program.sizes}") from error
        ran("C statements as structured ops", 1)
