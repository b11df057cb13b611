"""Broken files given to the commands as processes: no traceback, no signal, not more than 5 s."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.broken_modules import MODULES
from support.broken_notation import NOTATION
from support.fuzzing import Ran, seeds
from support.tool_runs import SECONDS, Outcome

pytestmark = pytest.mark.rotating(3)

PASSES = "convert-rise-to-imperative,resolve-rise-access"
SIZES = [part for name in "NMK" for part in ("--size", f"{name}=3")]
COMMANDS = (
    ("rise", ["check", "FILE"], ".rise"),
    ("rise_opt", ["FILE", "-p", PASSES], ".mlir"),
    ("rise", ["run", "FILE", "--backend", "interpret", *SIZES], ".rise"),
    ("rise_opt", ["FILE"], ".mlir"),
    ("rise", ["check", "FILE"], ".mlir"),
    ("rise_opt", ["-p", PASSES, "FILE"], ".mlir"),
    ("rise", ["run", "FILE", *SIZES], ".rise"),
    ("rise_opt", ["FILE", "-p", "convert-rise-to-imperative{loops=affine}"], ".mlir"),
)
"""They take turns: half of them `rise`, half of them `rise-opt`."""


@pytest.mark.rotating(5)
@seeds(8, nightly=100, fuzzed=400, batch=8)
def test_commands_reject_broken_files(seeds: range, tmp_path: Path, ran: Ran) -> None:
    for seed in seeds:
        tool, arguments, ending = COMMANDS[seed % len(COMMANDS)]
        path = tmp_path / f"broken{seed}{ending}"
        path.write_bytes((NOTATION if ending == ".rise" else MODULES).broken(seed))
        arguments = [str(path) if argument == "FILE" else argument for argument in arguments]
        outcome = process(tool, arguments)
        if arguments[0] == "run" and outcome.errors.startswith("error: "):
            assert outcome.code == 1  # What is wrong is the call, such as a size it does not give.
        else:
            outcome.check(path)
    ran("broken files given to processes", len(seeds))


def process(tool: str, arguments: list[str]) -> Outcome:
    """The command in a process of its own, with as much time as a quiet machine would need."""
    start = os.times()
    done = subprocess.run(
        [sys.executable, "-m", f"riselang.tools.{tool}", *arguments],
        capture_output=True,
        timeout=20 * SECONDS,
        check=False,
    )
    end = os.times()
    used = end.children_user + end.children_system - start.children_user - start.children_system
    assert used < SECONDS, (tool, arguments)
    return Outcome(done.returncode, done.stderr.decode())
