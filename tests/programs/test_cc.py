"""`rise cc` in the place of the system's compiler: programs whose output is the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from riselang.native.llvm.linking import find_c_compiler
from riselang.tools.cc import driver

PROGRAMS = Path(__file__).parents[2] / "examples" / "c" / "programs"
REGIONS = PROGRAMS / "regions.c"
RISE_CC = [sys.executable, "-P", "-m", "riselang.tools.cc"]
FLAGS = ["-O2", "-ffp-contract=off", "-w"]


def run(words: Sequence[str], folder: Path, **variables: str) -> str:
    settings = {**os.environ, **variables}
    process = subprocess.run(
        words, cwd=folder, env=settings, check=False, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def expected_output(folder: Path, *sources: str) -> str:
    compiler = find_c_compiler()
    assert compiler is not None
    run([*compiler, *FLAGS, *sources, "-o", "expected", "-lm"], folder)
    return run(["./expected"], folder)


@pytest.mark.rotating(5)
@pytest.mark.long
@pytest.mark.sampled(1)
@pytest.mark.parametrize("flags", [["-frise-take=all"], ["-O3", "-march=native", "-g", "-fPIC"]])
def test_regions_in_the_middle_of_functions(tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / "program.c").write_text(REGIONS.read_text())
    right = expected_output(tmp_path, "program.c")
    run([*RISE_CC, *FLAGS, *flags, "-c", "program.c"], tmp_path, RISE_CC_REPORT="report.txt")
    run([*RISE_CC, "program.o", "-o", "program"], tmp_path)
    assert run(["./program"], tmp_path) == right
    if flags == ["-frise-take=all"]:
        report = (tmp_path / "report.txt").read_text()
        assert "program.c:7:5: persist_scop0, a part of persist, is compiled by riselang" in report
        assert "lim may be an element of an array that is written" in report


@pytest.mark.long
@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("cavity", ["40", "5"]),
        pytest.param("network", ["1", "32"], marks=pytest.mark.nightly),
        pytest.param("filter", ["smooth", "integral"], marks=pytest.mark.nightly),
    ],
)
def test_a_makefile_changes_nothing_but_cc(
    tmp_path: Path, program: str, arguments: list[str]
) -> None:
    outputs: list[str] = []
    compiler = find_c_compiler()
    assert compiler is not None
    report = tmp_path / "report.txt"
    for command in (compiler, RISE_CC):
        words = ["make", "-B", "-f", str(PROGRAMS / "Makefile"), f"VPATH={PROGRAMS}", program]
        run([*words, f"CC={' '.join(command)}"], tmp_path, RISE_CC_REPORT=str(report))
        outputs.append(run([f"./{program}", *arguments], tmp_path))
    assert outputs[0] == outputs[1]
    assert "is compiled by riselang" in report.read_text()


LASTING = """#include <stdio.h>
double keep = 100;
enum { LIMIT = 5 };
typedef int number;
#define LOOPS for (int k = 0; k < n; k++) for (int i = 1; i < n; i++) a[i] += a[i - 1] * .5;
double f(int n, double *a) { static double keep = 1; LOOPS keep += a[1]; printf("f"); return keep; }
double g(int n, double *a) { enum { LIMIT = 9 }; LOOPS printf("g"); return LIMIT; }
double h(int n, double *a) { typedef double number; LOOPS printf("h"); return (number)2.5; }
double e(int n, double *a) { int keep = 7; { extern double keep; LOOPS printf("e"); return keep; } }
int main(void) {
  double a[20] = {1, 2, 3};
  printf("%g %g %g %g %g\\n", f(20, a), g(20, a), h(20, a), e(20, a), keep);
}
"""


@pytest.mark.rotating(2)
def test_declarations_in_front_of_loops_stay(tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(LASTING)
    report = tmp_path / "report.txt"
    run([*RISE_CC, *FLAGS, "program.c", "-o", "program"], tmp_path, RISE_CC_REPORT=str(report))
    assert run(["./program"], tmp_path) == expected_output(tmp_path, "program.c")
    assert report.read_text().count("is compiled by riselang") == 4


@pytest.mark.rotating(7)
def test_several_files_are_linked(tmp_path: Path) -> None:
    (tmp_path / "sum.c").write_text(
        "double sum(int n, double a[n][n]) { static double t[1]; t[0] = 0;"
        " for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) t[0] += a[j][i]; return t[0]; }"
        "\nvoid add(int n, double *s, double a[n][n]) { for (int i = 0; i < n; i++)"
        " for (int j = 0; j < n; j++) s[i] += a[j][i]; }\n"
    )
    (tmp_path / "main.c").write_text(
        "#include <stdio.h>\ndouble sum(int n, double a[n][n]);\n"
        "void add(int n, double *s, double a[n][n]);\n"
        "int main(void) { static double a[9][9], s[9]; for (int i = 0; i < 9; i++) a[i][i] = i;"
        ' add(9, s, a); printf("%g %g\\n", sum(9, a), s[3]); return 0; }\n'
    )
    report = tmp_path / "report.txt"
    words = [*RISE_CC, *FLAGS, "-MMD", "main.c", "sum.c", "-o", "program"]
    run([*words, f"-frise-report={report}"], tmp_path)
    assert run(["./program"], tmp_path) == "36 3\n"
    assert "sum.c:2:6: add is compiled by riselang" in report.read_text()
    assert "-O0 asks for code to debug" not in report.read_text()


PROJECT = """\
cmake_minimum_required(VERSION 3.16)
project(test C)
set(CMAKE_C_FLAGS "-O2 -ffp-contract=off")
find_package(Riselang REQUIRED PATHS "${RISE_PACKAGE}")
add_executable(cavity ${PROGRAMS}/cavity.c)
rise_target_loops(cavity -frise-report=${CMAKE_BINARY_DIR}/report.txt)
"""


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_a_target_of_cmake(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    package = run([*RISE_CC, "-frise-cmake-dir"], tmp_path).strip()
    given = [
        f"-DRISE_PACKAGE={package}",
        f"-DPROGRAMS={PROGRAMS}",
        f"-DRISE_CC={';'.join(RISE_CC)}",
    ]
    run(["cmake", "-S", ".", "-B", "build", *given], tmp_path)
    run(["cmake", "--build", "build"], tmp_path)
    assert "Re" not in run(["build/cavity", "20", "2"], tmp_path)
    assert "solve_pressure is compiled" in (tmp_path / "build" / "report.txt").read_text()


def test_errors_and_other_steps_are_those_of_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "wrong.c").write_text("int f(void) { return x; }\n")
    process = subprocess.run(
        [*RISE_CC, "-c", "wrong.c"], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert process.returncode == 1
    assert "wrong.c:1:22" in process.stderr
    assert "linux" in run([*RISE_CC, "-dumpmachine"], tmp_path)


def test_a_function_that_ends_the_worker_is_left_to_the_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from riselang.tools.cc.command_line import parse_command_line

    skipped: list[dict[str, str]] = []

    def worker(request: dict[str, dict[str, str]]) -> driver._WorkerResult:
        skipped.append(dict(request["skip"]))
        if "f" not in request["skip"]:
            return driver._WorkerResult([], crashed_in="f", reason="it crashed")
        return driver._WorkerResult(["done"], is_replaced=True)

    monkeypatch.setattr(driver, "_run_worker", worker)
    monkeypatch.setattr(driver, "_has_loops", lambda source: True)
    replacement = driver._Replacement(["cc"], parse_command_line(["-c", "x.c"]))
    assert replacement._replace_in("x.c", "x.o")
    assert skipped == [{}, {"f": "it crashed"}]
