"""An object and its header take the place of the function they were made of."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from riselang.native.llvm.linking import find_c_compiler
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
"""
SHARED_MAIN = """\
#include <stdio.h>
void twice(int n, double a[n], double b[n]);
void twice_anywhere(int n, const double *a, double *b);

int main(void) {
  double x[40], y[40], z[40];
  for (int i = 0; i < 40; i++)
    x[i] = y[i] = i + 1;
  twice(39, x, x + 1);
  twice_anywhere(39, y, y + 1);
  twice(40, x, z);
  printf("%.17g %.17g %.17g\\n", x[39], y[39], z[3]);
  return 0;
}
"""


def test_arrays_that_share_memory_are_found_when_c_calls(tmp_path: Path) -> None:
    (tmp_path / "shared.c").write_text(SHARED)
    (tmp_path / "main.c").write_text(SHARED_MAIN)
    expected = built(tmp_path, "main.c", "shared.c")
    objects: list[str] = []
    for name in ("twice", "twice_anywhere"):
        command = ["c", str(tmp_path / "shared.c"), "--function", name, "--schedule", "isl"]
        rise.main([*command, "--emit", "obj", "-o", str(tmp_path / f"{name}.o")])
        objects.append(f"{name}.o")
    assert built(tmp_path, "main.c", *objects) == expected
    assert expected.startswith(f"{2.0**39:.17g}")
