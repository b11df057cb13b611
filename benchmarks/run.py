"""Runs the benchmarks in this folder, each in a process of its own, and writes what they report.

    python benchmarks/run.py [--output FOLDER] [NAME ...]

The folder gets `bench.html`, `bench.md`, `bench.json` (for `rise benchcmp`), and charts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from pages import html_page, page
from reporting import FILE_VARIABLE

from riselang.tools.figures import Figure, Report, read_report, write_report
from riselang.tools.machine_info import describe_machine, package_version, package_versions

HERE = Path(__file__).parent
RIVALS = (
    "jax", "scipy-openblas32", "numba", "halide", "mkl", "onnxruntime", "iree-base-compiler",
)  # fmt: skip
HELPERS = {
    "run", "timing", "hand_written", "reporting", "pages", "charts", "rivals", "blas_rivals",
    "in_halide", "model_rivals", "c_rivals", "compile_cases", "compile_programs", "gallery_loops",
    "gallery_more_loops", "gallery_jax", "table", "sketches", "tuning", "ranks",
    "polybench",
}  # fmt: skip
BENCHMARKS = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in HELPERS)


def main() -> None:
    parser = argparse.ArgumentParser(description="Run benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument("--output", type=Path, default=HERE.parent / "build/bench")
    options = parser.parse_args()
    unknown = set(options.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no benchmark is called {min(unknown)}; there are {', '.join(BENCHMARKS)}")
    failed: list[str] = []
    figures: list[Figure] = []
    for name in options.names or BENCHMARKS:
        print(f"== {name}", flush=True)
        is_well, reported = run(name)
        figures += reported
        failed += [] if is_well else [name]
    used = {**package_versions(), **rival_versions()}
    write(Report(describe_machine(), used, tuple(figures)), options.output)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def rival_versions() -> dict[str, str]:
    found = {package: package_version(package) for package in RIVALS}
    return {package: version for package, version in found.items() if version is not None}


def run(name: str) -> tuple[bool, tuple[Figure, ...]]:
    """Whether a benchmark ran to its end, and the figures that it reported."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "figures.json")
        environment = {**os.environ, FILE_VARIABLE: str(file)}
        command = [sys.executable, str(HERE / f"{name}.py")]
        is_well = subprocess.run(command, check=False, env=environment).returncode == 0
        return is_well, read_report(file).figures if file.exists() else ()


def write(report: Report, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_report(folder / "bench.json", report)
    charts: list[Path] = []
    if find_spec("matplotlib") is not None:
        from charts import draw_charts

        charts = draw_charts(report, folder)
    else:
        print("no charts: matplotlib is not installed; pip install 'riselang[bench]'")
    (folder / "bench.md").write_text(page(report, charts))
    (folder / "bench.html").write_text(html_page(report, charts))
    print(
        f"{len(report.figures)} figures are in {folder}: bench.html, bench.md, bench.json, charts"
    )


if __name__ == "__main__":
    main()
