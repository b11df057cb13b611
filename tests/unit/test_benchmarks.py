"""The benchmarks run and report; what they measure is not asserted here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from riselang.tools import rise
from riselang.tools.figures import read_report

pytestmark = pytest.mark.rotating(3)

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def run_benchmarks(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / "run.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "RISE_SCALING_SHARE": "0.02"},
    )


ALL = {"overhead", "compile_time", "scaling", "threads", "calls", "library", "blas"}
SHORT = {"library", "overhead"}


@pytest.mark.rotating(8)
@pytest.mark.long
def test_benchmarks_run_and_report(tmp_path: Path) -> None:
    assert reported(tmp_path, *SHORT) == SHORT


@pytest.mark.long
@pytest.mark.nightly
def test_all_benchmarks_run_and_report(tmp_path: Path) -> None:
    assert reported(tmp_path) >= (ALL | {"c_kernels"} if shutil.which("gcc") else ALL)
    if find_spec("matplotlib") is not None:
        for chart in ("matmul_ladder_speeds", "compile_time_breakdown", "scaling_growth"):
            check_chart(tmp_path / "made/bench", chart)


def reported(tmp_path: Path, *names: str) -> set[str]:
    """The groups of what the benchmarks report, in pages that show all of it."""
    folder = tmp_path / "made/bench"
    run = run_benchmarks("--output", str(folder), *sorted(names))
    assert run.returncode == 0, run.stderr
    assert "ratio" in run.stdout
    file = folder / "bench.json"
    figures = read_report(file).figures
    assert all(figure.ratio for figure in figures if figure.rival is not None)
    shown = [(figure.group, figure.name, figure.rival) for figure in figures]
    assert len(set(shown)) == len(shown)
    page = (folder / "bench.md").read_text()
    assert all(figure.name in page for figure in figures)
    if find_spec("matplotlib") is not None:
        # Ratios are drawn; a benchmark whose rival is not installed has none.
        for group in {figure.group for figure in figures if figure.rival is not None}:
            check_chart(folder, group)
    rise.main(["benchcmp", str(file), str(file), "--fail-above", "1.0"])
    return {figure.group for figure in figures}


def check_chart(folder: Path, chart: str) -> None:
    """The chart is drawn, and is on both pages once."""
    assert (folder / f"{chart}.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / f"{chart}.svg").read_text()
    assert (folder / "bench.md").read_text().count(f"![{chart}]({chart}.png)") == 1
    assert f'<img src="{chart}.svg"' in (folder / "bench.html").read_text()


def test_a_benchmark_is_chosen_by_name(tmp_path: Path) -> None:
    run = run_benchmarks("--output", str(tmp_path), "no_such")
    assert run.returncode == 2
    assert "no benchmark is called no_such; there are array_programs, blas, " in run.stderr


def test_a_benchmark_runs_alone() -> None:
    run = subprocess.run(
        [sys.executable, str(BENCHMARKS / "library.py")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "RISE_SCALING_SHARE": "0.02"},
    )
    assert "ratio" in run.stdout
