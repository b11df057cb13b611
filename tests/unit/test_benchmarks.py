"""The benchmarks run and report; what they measure is not asserted here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from riselang.tools import rise
from riselang.tools.figures import read_report

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def run_benchmarks(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / "run.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "RISE_SCALING_SHARE": "0.02"},
    )


def test_the_benchmarks_run_and_report(tmp_path: Path) -> None:
    run = run_benchmarks("--output", str(tmp_path / "made/bench"))
    assert run.returncode == 0, run.stderr
    assert "ratio" in run.stdout
    assert "doubling" in run.stdout
    file = tmp_path / "made/bench/bench.json"
    figures = read_report(file).figures
    groups = {figure.group for figure in figures}
    assert {"overhead", "compile_time", "scaling", "threads", "calls", "library", "blas"} <= groups
    if shutil.which("gcc") is not None:
        assert "c_kernels" in groups
    assert all(figure.ratio for figure in figures if figure.rival is not None)
    names = [(figure.group, figure.name, figure.rival) for figure in figures]
    assert len(set(names)) == len(names)
    page = (tmp_path / "made/bench/bench.md").read_text()
    assert all(figure.name in page for figure in figures)
    if find_spec("matplotlib") is not None:
        # Ratios are drawn; a benchmark whose rival is not installed has none.
        for group in {figure.group for figure in figures if figure.rival is not None}:
            assert (tmp_path / f"made/bench/{group}.png").read_bytes().startswith(b"\x89PNG")
            assert "<svg" in (tmp_path / f"made/bench/{group}.svg").read_text()
            assert f"![{group}]({group}.png)" in page
        for chart in ("matmul_ladder_speeds", "compile_time_breakdown", "scaling_growth"):
            assert (tmp_path / f"made/bench/{chart}.png").read_bytes().startswith(b"\x89PNG")
            assert "<svg" in (tmp_path / f"made/bench/{chart}.svg").read_text()
            assert page.count(f"![{chart}]({chart}.png)") == 1
            assert f'<img src="{chart}.svg"' in (tmp_path / "made/bench/bench.html").read_text()
    rise.main(["benchcmp", str(file), str(file), "--fail-above", "1.0"])


def test_a_benchmark_is_chosen_by_name(tmp_path: Path) -> None:
    run = run_benchmarks("--output", str(tmp_path), "no_such")
    assert run.returncode == 2
    assert "no benchmark is called no_such; there are blas, c_kernels, c_lifted, " in run.stderr


def test_a_benchmark_runs_alone() -> None:
    run = subprocess.run(
        [sys.executable, str(BENCHMARKS / "library.py")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "RISE_SCALING_SHARE": "0.02"},
    )
    assert "ratio" in run.stdout
