"""The benchmarks run; what they measure is not asserted here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_the_benchmarks_run() -> None:
    run = subprocess.run(
        [sys.executable, str(BENCHMARKS / "run.py")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "RISE_SCALING_SHARE": "0.02"},
    )
    assert run.returncode == 0, run.stderr
    assert "ratio" in run.stdout
    assert "doubling" in run.stdout
