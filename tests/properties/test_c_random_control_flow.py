"""Random C programs with all kinds of control flow agree with the C compiler, bit for bit."""

from __future__ import annotations

import subprocess
from functools import partial
from typing import Any

import pytest

from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from support.c_constructs import random_arguments, random_constructs
from support.c_control_flow import random_control_flow
from support.c_data_programs import random_data, random_data_program
from support.c_programs import compiled_together
from support.c_records import Make, check_records
from support.fuzzing import Ran, seeds


@pytest.mark.rotating(2)
@seeds(8, nightly=100, fuzzed=5000, batch=20)
def test_constructs_agree_with_the_c_compiler(seeds: range, ran: Ran) -> None:
    texts = [random_constructs(seed) for seed in seeds]
    libraries = compiled_together(texts)
    for seed, text, library in zip(seeds, texts, libraries, strict=True):
        _compare(text, partial(random_arguments, seed=seed), seed, ran, library)


@pytest.mark.rotating(3)
@seeds(2, nightly=20, fuzzed=300, batch=10)
def test_long_programs_agree_with_the_c_compiler(seeds: range, ran: Ran) -> None:
    for seed in seeds:
        if seed % 2:
            _compare(random_data_program(seed), partial(random_data, seed=seed), seed, ran)
        else:
            text = random_control_flow(seed)
            _compare(text, partial(random_arguments, seed=seed), seed, ran)


def _compare(text: str, make: Make, seed: int, ran: Ran, library: Any = None) -> None:
    # Libraries whose texts are the same would share static variables.
    text = f"{text}/* {seed} */\n"
    schedule = "isl" if seed % 3 == 0 else "source"
    try:
        check_records(text, make, schedule=schedule, is_linked=seed % 8 == 0, library=library)
    except UnsupportedConstruct:
        ran("C programs with control flow refused", 1)
        return
    except (AssertionError, subprocess.CalledProcessError) as error:
        raise AssertionError(f"seed {seed}: {error}\n{text}") from error
    ran("C programs with control flow compared with the C compiler", 1)
