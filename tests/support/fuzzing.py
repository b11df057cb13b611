"""How many random examples a test takes, and from which seed.

Every random test says how many examples it takes in `make test`, in `make nightly` and in
`make fuzz`. `RISE_NIGHTLY=1` runs the second number, `RISE_FUZZ=1` the third, and `RISE_FUZZ=0.1` a
tenth of that; with both, the larger.

The first seed follows from the commit that is checked out, so that each commit is tested with other
programs than the last, and always with the same; outside of a repository it is zero.
`RISE_FUZZ_SEED=7` begins with the seventh. A seed makes the same program each time, so a run that
was stopped goes on with the first seed that it did not reach.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

F = TypeVar("F", bound=Callable[..., None])
Ran = Callable[[str, int], None]
"""Records how many of something a test ran; the totals are printed at the end."""
FUZZ_FRACTION = float(os.environ.get("RISE_FUZZ", "") or 0)
"""The fraction of the examples of `make fuzz` to run; zero is a normal run."""
IS_NIGHTLY = os.environ.get("RISE_NIGHTLY", "") not in ("", "0")
"""Whether the tests that are marked `nightly` run, and the others with larger numbers."""
STEP = 1000
"""First seeds of commits are multiples of this, so that what takes turns by seeds starts alike."""
SEED_VARIABLE = "RISE_FUZZ_SEED"
LANE_VARIABLES = ("RISE_NIGHTLY", "RISE_FUZZ", SEED_VARIABLE)
"""The variables that determine which random tests run, and their names."""


def seed_of_commit(commit: str) -> int:
    """The first seed for the tests of a commit, which is given in hexadecimal digits."""
    return int(commit[:7] or "0", 16) // STEP * STEP


def checked_out_commit() -> str:
    """The commit of this repository, or nothing where there is none."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def first_seed() -> int:
    """The seed to begin with, in this process and in those that it starts."""
    if not os.environ.get(SEED_VARIABLE):
        os.environ[SEED_VARIABLE] = str(seed_of_commit(checked_out_commit()))
    return int(os.environ[SEED_VARIABLE])


def examples(count: int, nightly: int, fuzzed: int) -> int:
    """Return the number of examples of a test in this run."""
    if FUZZ_FRACTION:
        fraction = max(1, round(fuzzed * FUZZ_FRACTION))
        return max(fraction, nightly) if IS_NIGHTLY else fraction
    return nightly if IS_NIGHTLY else count


def seeds(count: int, *, nightly: int, fuzzed: int, batch: int) -> Callable[[F], F]:
    """The seeds of `count` examples, more at night or in a fuzz, in batches that are tests."""
    first = first_seed()
    last = first + examples(count, nightly, fuzzed)
    batches = [range(start, min(start + batch, last)) for start in range(first, last, batch)]
    names = [f"{seeds.start}-{seeds.stop - 1}" for seeds in batches]
    mark: Any = pytest.mark.parametrize("seeds", batches, ids=names)
    return mark


def ways_to_repeat(failed: list[str]) -> list[str]:
    """The command for each test that failed and whose name or numbers are those of this run."""
    variables = [f"{name}={value}" for name in LANE_VARIABLES if (value := os.environ.get(name))]
    return [" ".join((*variables, f".venv/bin/pytest -n 0 '{test}'")) for test in failed]
