"""Random C programs with all kinds of control flow agree with the C compiler, bit for bit."""

from __future__ import annotations

import subprocess
from functools import partial

from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from support.c_control_flow import random_control_flow
from support.c_data_programs import random_data, random_data_program
from support.c_programs import check_same
from support.c_records import check_records
from support.fuzzing import Ran, seeds


@seeds(5, nightly=20, fuzzed=5000, batch=10)
def test_control_flow_agrees_with_the_c_compiler(seeds: range, ran: Ran) -> None:
    for seed in seeds:
        text = random_control_flow(seed)
        schedule = "isl" if seed % 3 == 0 else "source"
        try:
            check_same(text, "f", {"n": 9, "m": 7}, seed, schedule, is_changed=False)
        except UnsupportedConstruct:
            ran("C programs with control flow refused", 1)
            continue
        except (AssertionError, subprocess.CalledProcessError) as error:
            raise AssertionError(f"seed {seed}: {error}\n{text}") from error
        ran("C programs with control flow compared with the C compiler", 1)


@seeds(4, nightly=20, fuzzed=5000, batch=10)
def test_structures_and_globals_agree_with_the_c_compiler(seeds: range, ran: Ran) -> None:
    for seed in seeds:
        text = f"{random_data_program(seed)}/* {seed} */\n"
        schedule = "isl" if seed % 3 == 0 else "source"
        try:
            check_records(
                text, partial(random_data, seed=seed), schedule=schedule, is_linked=seed % 5 == 0
            )
        except UnsupportedConstruct:
            ran("C programs with structures refused", 1)
            continue
        except (AssertionError, subprocess.CalledProcessError) as error:
            raise AssertionError(f"seed {seed}: {error}\n{text}") from error
        ran("C programs with structures compared with the C compiler", 1)
