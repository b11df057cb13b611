"""C text of the transformed loops: a C compiler makes the same bits of it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.emit.c_expressions import format_literal
from riselang.frontends.c.parse.c_types import DOUBLE, FLOAT, INT, LONG, UNSIGNED, CType
from riselang.frontends.c.parse.syntax import Literal
from riselang.support.config import Options
from riselang.support.errors import SourceLocation
from riselang.support.machine import assume_machine
from riselang.tools import rise
from support.c_control_flow import random_control_flow
from support.c_programs import EXTRA, KERNELS, arguments_for, model, run_by_c, same_bits
from support.machines import UNCACHED
from support.tool_runs import called

pytestmark = pytest.mark.rotating(4)

SIZES = {"ni": 17, "nj": 19, "nk": 13, "nl": 11, "n": 23, "m": 18, "nx": 21, "ny": 22, "steps": 3}


def c_text(text: str, function: str | None = None, schedule: str = "isl") -> str:
    scop = model(text, function)
    return make_program([scop], Options("affine", "strict"), schedule).text("c")


def check(text: str, sizes: dict[str, int], schedule: str, function: str | None = None) -> None:
    scop = model(text, function)
    ours = arguments_for(scop, sizes, 1)
    theirs = [each.copy() if isinstance(each, np.ndarray) else each for each in ours]
    mine = run_by_c(c_text(text, function, schedule), scop, ours)
    right = run_by_c(text, scop, theirs)
    assert mine == right or mine != mine
    assert all(same_bits(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("path", sorted(KERNELS.glob("*.c")), ids=lambda path: path.stem)
@pytest.mark.parametrize("schedule", ["source", "isl"])
def test_kernels_have_the_same_bits(path: Path, schedule: str) -> None:
    text = path.read_text()
    used = {k: v for k, v in SIZES.items() if re.search(rf"\bint {k}[,)]", text)}
    check(text, used, schedule)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(6))
def test_random_programs_have_the_same_bits(seed: int) -> None:
    check(random_control_flow(seed), {"n": 9, "m": 7}, "isl", "f")


def test_loops_are_readable() -> None:
    text = c_text((KERNELS / "mvt.c").read_text(), schedule="source")
    assert "#pragma omp parallel for\n  for (long i = 0; i < n; i++) {" in text
    assert "x1[i] += A[i][j] * y1[j];" in text


def test_no_loop_in_a_tile_runs_in_threads() -> None:
    with assume_machine(UNCACHED):
        assert "omp parallel" not in c_text((KERNELS / "jacobi-2d.c").read_text())


@pytest.mark.parametrize(
    ("type", "value", "text"),
    [
        (DOUBLE, 0.1, "0.1"), (DOUBLE, 2.0, "2.0"), (DOUBLE, -1e300, "-1e+300"),
        (FLOAT, float(np.float32(0.1)), "0.1f"), (FLOAT, 3.0, "3.0f"), (INT, -5, "-5"),
        (INT, -(1 << 31), "-2147483647 - 1"), (UNSIGNED, 7, "7u"),
        (LONG, 1 << 40, "1099511627776L"),
        (DOUBLE, float("inf"), "__builtin_inf()"),
    ],
)  # fmt: skip
def test_literals(type: CType, value: float, text: str) -> None:
    assert format_literal(Literal(SourceLocation("x.c", 1), type, value)).text == text


UNSIGNED_LOOP = """void f(unsigned n, unsigned a[n]) {
  for (unsigned i = 0; i < n; i++)
    a[i] = i * 4000000000u - (i == 3 ? 1u : n / 2) + (a[i] << 3 & 7);
}"""


@pytest.mark.parametrize("schedule", ["source", "isl"])
def test_unsigned_arithmetic_wraps_around(schedule: str) -> None:
    check(UNSIGNED_LOOP, {"n": 20}, schedule)


MIDDLE = """\
#define N 12
static double s[N];
#define LOOP(i) for (int i = 0; i < N; i++)
double work(int n, double scale, double a[N][N]) {
  double total = 0;
  char *text = "start";
#pragma scop
  for (int i = 0; i < n; i++) {
    scale += 1.0;
    for (int j = 0; j < n; j++)
      s[i] += a[j][i] * scale;
  }
  LOOP(k) total += s[k];
#pragma endscop
  total += text[0] + scale;
  return total;
}
"""
CALLER = """
int main(void) {
  static double a[N][N];
  LOOP(i) LOOP(j) a[i][j] = i + 0.25 * j;
  return printf("%.17g %.17g\\n", work(N, 2.0, a), s[3]) < 0;
}
"""


@pytest.mark.parametrize("emit", ["source", "calls"])
def test_new_loops_or_calls_in_the_middle_of_a_function(tmp_path: Path, emit: str) -> None:
    text = f"#include <stdio.h>\n{MIDDLE}{CALLER}"
    file, outputs = tmp_path / "file.c", list[str]()
    file.write_text(text)
    flags = [str(file), "--schedule", "isl", "--float", "strict"]
    rise.main(["c", *flags, "--emit", "obj", "-o", str(tmp_path / "file.o")])
    rise.main(["c", *flags, "--emit", emit, "-o", str(tmp_path / "new.c")])
    objects = [str(tmp_path / "file.o")] if emit == "calls" else []
    for words in ([str(file)], [str(tmp_path / "new.c"), *objects]):
        program = str(tmp_path / "program")
        command = ["cc", "-O2", "-ffp-contract=off", *words, "-o", program, "-lm"]
        subprocess.run(command, check=True, capture_output=True)
        outputs.append(subprocess.run([program], capture_output=True, text=True).stdout)
    assert outputs[0] == outputs[1]
    assert "LOOP(k)" not in (tmp_path / "new.c").read_text()


def test_a_static_function_is_not_replaced_by_a_declaration(tmp_path: Path) -> None:
    file = tmp_path / "file.c"
    file.write_text("static void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] = 0; }")
    outcome = called(rise.main, ["c", str(file), "--function", "f", "--emit", "calls"])
    assert outcome.code == 1
    assert "f is static" in outcome.errors


@pytest.mark.parametrize("name", ["integers", "conditions"])
def test_other_functions(name: str) -> None:
    text = (EXTRA / f"{name}.c").read_text()
    assert "for (long" in c_text(text, re.findall(r"^\w+ (\w+)\(", text, re.MULTILINE)[0])
