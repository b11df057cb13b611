"""An object and its header take the place of the function they were made of."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from riselang.native.llvm.linking import find_c_compiler
from riselang.native.llvm.thread_pool import IS_SUPPORTED
from riselang.tools import rise

KERNEL = """\
#include "sizes.h"
#define SCALE(x) ((x) * FACTOR)

double smooth(int n, double a[n][M], double b[n][M]) {
  double total = 0.0;
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 1; j < M - 1; j++)
      b[i][j] = SCALE(a[i][j - 1] + a[i][j] + a[i][j + 1]);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < M; j++)
      total += b[i][j];
#pragma endscop
  return total;
}
"""
MAIN = """\
#include <stdio.h>
#include "sizes.h"
#include "smooth.h"

int main(void) {
  static double a[5][M], b[5][M];
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < M; j++)
      a[i][j] = i * 10 + j;
  double total = smooth(5, a, b);
  printf("%.17g %.17g %.17g\\n", total, b[4][1], b[2][M - 2]);
  return 0;
}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "sizes.h").write_text("#define M 9\n")
    (tmp_path / "smooth.c").write_text(KERNEL)
    (tmp_path / "main.c").write_text(MAIN)
    return tmp_path


def built(project: Path, *sources: str) -> str:
    compiler = find_c_compiler()
    assert compiler is not None
    flags = ["-O2", "-ffp-contract=off", "-DFACTOR=0.3", f"-I{project}", f"-I{project}/include"]
    paths = [str(project / source) for source in sources]
    command = [*compiler, *flags, *paths, "-o", str(project / "program"), "-lm"]
    subprocess.run(command, check=True, capture_output=True)
    run = subprocess.run([str(project / "program")], check=True, capture_output=True, text=True)
    return run.stdout


@pytest.mark.rotating(3)
@pytest.mark.parametrize("schedule", ["source", "isl"])
def test_the_program_prints_the_same(project: Path, schedule: str) -> None:
    common = ["-I", str(project / "include"), "-D", "FACTOR=0.3", "--function", "smooth",
              "--float", "strict", "--schedule", schedule]  # fmt: skip
    source = str(project / "smooth.c")
    rise.main(["c", source, *common, "--emit", "header", "-o", str(project / "smooth.h")])
    expected = built(project, "main.c", "smooth.c")
    rise.main(["c", source, *common, "--emit", "obj", "-o", str(project / "smooth.o")])
    assert built(project, "main.c", "smooth.o") == expected
    assert expected.count(" ") == 2


SHARED = """\
void twice(int n, double a[n], double b[n]) {
  for (int i = 0; i < n; i++)
    b[i] = a[i] * 2.0;
}
void twice_anywhere(int n, const double *a, double *b) {
  for (int i = 0; i < n; i++)
    b[i] = a[i] * 2.0;
}
void twice_downwards(int n, const double *a, double *b) {
  for (int i = n - 1; i >= 0; i--)
    b[i] = a[i] * 2.0;
}
"""
CPP_MAIN = """\
#include <cstdio>
#include "smooth.h"

int main() {
  static double a[5 * 9], b[5 * 9];
  for (int i = 0; i < 45; i++)
    a[i] = i / 9 * 10 + i % 9;
  std::printf("%.17g\\n", smooth(5, (double (*)[9])a, (double (*)[9])b));
}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_headers_are_for_cpp_too(project: Path) -> None:
    (project / "main.cpp").write_text(CPP_MAIN)
    common = ["c", str(project / "smooth.c"), "-I", str(project / "include"), "-D", "FACTOR=0.3",
              "--function", "smooth", "--float", "strict"]  # fmt: skip
    rise.main([*common, "--emit", "header", "-o", str(project / "smooth.h")])
    rise.main([*common, "--emit", "obj", "-o", str(project / "smooth.o")])
    command = ["g++", "-Wall", "-Werror", "main.cpp", "smooth.o", "-o", "program", "-lm"]
    subprocess.run(command, check=True, cwd=project, capture_output=True)
    output = subprocess.run([str(project / "program")], check=True, capture_output=True, text=True)
    assert built(project, "main.c", "smooth.c").startswith(output.stdout.strip())


THREADED = """\
void f(int n, double *s, double *a) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      s[i] += a[j * n + i] * 0.1;
}
"""
THREADED_MAIN = """\
#include <stdio.h>
#include <stdlib.h>
void f(int n, double *s, double *a);

int main(void) {
  int n = 1100;
  double *a = malloc(sizeof *a * n * (n + 1)), total = 0;
  for (int i = 0; i < n * (n + 1); i++)
    a[i] = i % 7;
  f(n, a + n * n, a);
  f(n, a + 3, a);
  for (int i = 0; i < n * (n + 1); i++)
    total += a[i];
  printf("%.17g\\n", total);
  return 0;
}
"""


@pytest.mark.rotating(3)
@pytest.mark.skipif(not IS_SUPPORTED, reason="needs POSIX threads")
@pytest.mark.parametrize("schedule", ["source", "isl"])
def test_threads_in_object_files(
    tmp_path: Path,
    schedule: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The second call has arrays that overlap, so it runs in one thread."""
    (tmp_path / "f.c").write_text(THREADED)
    (tmp_path / "main.c").write_text(THREADED_MAIN)
    expected = built(tmp_path, "main.c", "f.c")
    command = ["c", str(tmp_path / "f.c"), "--function", "f", "--threads", "--float", "strict"]
    rise.main([*command, "--schedule", schedule, "--emit", "obj", "-o", str(tmp_path / "f.o")])
    assert "-pthread -lm" in capsys.readouterr().out
    for count in ("1", "4"):
        monkeypatch.setenv("RISE_NUM_THREADS", count)
        assert built(tmp_path, "main.c", "f.o") == expected


SHARED_MAIN = """\
#include <stdio.h>
void twice(int n, double a[n], double b[n]);
void twice_anywhere(int n, const double *a, double *b);
void twice_downwards(int n, const double *a, double *b);

int main(void) {
  double x[40], y[40], z[40], w[40];
  for (int i = 0; i < 40; i++)
    x[i] = y[i] = i + 1;
  twice(39, x, x + 1);
  twice_anywhere(39, y, y + 1);
  twice(40, x, z);
  for (int i = 0; i < 40; i++)
    w[i] = i + 1;
  /* One element belongs to both. */
  twice_downwards(20, w, w + 19);
  printf("%.17g %.17g %.17g %.17g\\n", x[39], y[39], w[19], w[38]);
  return 0;
}
"""


@pytest.mark.rotating(3)
def test_arrays_that_share_memory_are_found_when_c_calls(tmp_path: Path) -> None:
    (tmp_path / "shared.c").write_text(SHARED)
    (tmp_path / "main.c").write_text(SHARED_MAIN)
    expected = built(tmp_path, "main.c", "shared.c")
    objects: list[str] = []
    for name in ("twice", "twice_anywhere", "twice_downwards"):
        command = ["c", str(tmp_path / "shared.c"), "--function", name, "--schedule", "isl"]
        rise.main([*command, "--emit", "obj", "-o", str(tmp_path / f"{name}.o")])
        objects.append(f"{name}.o")
    assert built(tmp_path, "main.c", *objects) == expected
    assert expected.startswith(f"{2.0**39:.17g}")
