"""Random C programs agree with the C compiler, bit for bit, in either order of their loops."""

from __future__ import annotations

import subprocess

import pytest

from riselang.frontends.c import scheduling
from riselang.frontends.c.arrangement import statements
from riselang.frontends.c.refusal import Refusal
from support.c_generation import random_program
from support.c_programs import check_same
from support.fuzzing import Ran, seeds


@seeds(20, 2000, 10)
def test_random_programs_agree_with_the_c_compiler(
    seeds: range, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "STRIP", 8)
    monkeypatch.setattr(statements, "DEPTH", 4)
    monkeypatch.setattr(scheduling, "MOST_OPERATIONS", 60_000)
    for seed in seeds:
        program = random_program(seed)
        schedule = "isl" if seed % 3 == 0 else "source"
        try:
            check_same(program.text, "f", program.sizes, seed, schedule, is_changed=False)
        except Refusal:
            ran("C programs refused", 1)
        except (AssertionError, subprocess.CalledProcessError) as error:
            raise AssertionError(f"seed {seed}: {error}\n{program.text}") from error
        ran("C programs compared with the C compiler", 1)
