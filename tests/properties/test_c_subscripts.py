"""C programs whose subscripts leave their arrays are refused, and nothing outside is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.fuzzing import Ran, seeds

LIMIT = 300
"""Seconds after which a process is taken to hang."""


@pytest.mark.rotating(6)
@seeds(24, nightly=24, fuzzed=2400, batch=24)
def test_random_subscripts_are_right_or_rejected(seeds: range, ran: Ran) -> None:
    command = [sys.executable, "-m", "support.c_subscripts", str(seeds.start), str(len(seeds))]
    paths = (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", ""))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 0, f"{done.returncode} after {done.stdout[-20:]}\n{done.stderr}"
    assert "wrong" not in done.stdout, done.stdout
    verdicts = done.stdout.split("\n")
    for verdict in ("same", "refused"):
        ran(f"C programs with subscripts that were {verdict}", verdicts.count(verdict))
        assert verdict in verdicts
