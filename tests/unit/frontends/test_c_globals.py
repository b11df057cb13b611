"""Globals, static variables and tables: kept between calls, and shared with other files in C."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.native.llvm.linking import find_c_compiler
from riselang.support.config import Options
from support.c_programs import compiled_by_c, compiled_by_us, model
from support.c_records import call_library, loaded_object

PROGRAMS = {
    "a counter": "int calls; double f(int n, double a[n])"
        " { calls++; a[0] += calls; return calls; }",
    "a static variable": "double f(int n, double a[n]) { static double sum = 0.5;"
        " for (int i = 0; i < n; i++) sum += a[i]; return sum; }",
    "two of one name": "static int k = 3; double f(int n, double a[n]) { k++;"
        " { static int k = 7; k += 2; a[1] = k; } return k; }",
    "an array": "double state[8] = {1, 2, [5] = 3}; double f(int n, double a[n]) {"
        " for (int i = 1; i < n; i++) state[i] = state[i - 1] + a[i]; return state[n - 1]; }",
    "rows": "static float m[3][4] = {{1, 2}, {3}}; double f(int n, double a[n]) {"
        " for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) { m[i][j] *= 1.5f;"
        " a[i] += m[i][j]; } return m[0][1]; }",
    "a structure": "static struct { int n; double w[2]; } c = {3, {0.5, 2}};"
        " double f(int n, double a[n]) { for (int i = 0; i < c.n; i++) a[i] *= c.w[i % 2];"
        " c.w[1] += 1; return c.w[0]; }",
    "an array of structures": "struct p { double x; int k; } p[4] = {{1, 2}, [2] = {.k = 5}};"
        " double f(int n, double a[n]) { for (int i = 0; i < 4; i++) p[i].x += p[i].k;"
        " return p[2].x; }",
    "a long table": f"static const double t[100] = {{{', '.join(map(str, range(100)))}}};"
        " double f(int n, double a[n]) { for (int i = 0; i < n; i++) a[i] += t[99 - i];"
        " return t[n]; }",
    "constants": "const double half = 0.5; static const int limit = 4; double f(int n, double a[n])"
        " { for (int i = 0; i < limit; i++) a[i] *= half; return half; }",
    "inlined functions": "static double half(double x) { return x / 2; }"
        " static unsigned seed = 1; static double next(void) {"
        " seed = seed * 1103515245u + 12345u; return seed / 65536 % 100; }"
        " double f(int n, double a[n]) { double r = next(); for (int i = 0; i < n; i++)"
        " a[i] = seed; r += next() + half(4); if (next() > 50) r = -r; return r; }",
    "a Boolean": "_Bool on = 1; double f(int n, double a[n]) { on = !on; a[0] = on; return on; }",
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_kept_between_calls(name: str) -> None:
    text = f"{PROGRAMS[name]}\n/* {name} */\n"
    scop = model(text, "f")
    ours, theirs = compiled_by_us(text, "f"), compiled_by_c(text)
    linked = loaded_object(scop, "source")
    arrays = [np.arange(6.0) for _ in range(3)]
    for _ in range(3):
        expected = call_library(theirs, scop, [6, arrays[0]])
        assert ours(6, arrays[1]) == expected
        assert call_library(linked, scop, [6, arrays[2]]) == expected
        assert (arrays[0] == arrays[1]).all()
        assert (arrays[0] == arrays[2]).all()


def test_python_reads_and_sets_globals() -> None:
    function = rl.from_c("double scale = 2; void f(int n, double a[n]) {"
                         " for (int i = 0; i < n; i++) a[i] *= scale; }")  # fmt: skip
    a = np.ones(3)
    function(3, a)
    function.globals["scale"][...] = 5.0
    function(3, a)
    assert a.tolist() == [10.0] * 3


MAIN = """\
#include <stdio.h>
extern int calls;
double f(int n, double *a);
int main(void) {
  double a[2] = {0};
  calls = 40;
  f(2, a);
  printf("%d %g", calls, f(2, a));
  return 0;
}
"""


@pytest.mark.parametrize("owner", ["", "int calls = 5;\n"])
def test_other_files_have_the_same_globals(tmp_path: Path, owner: str) -> None:
    program = make_program([model(PROGRAMS["a counter"])], Options("affine", "strict"))
    (tmp_path / "f.o").write_bytes(program.object_code())
    (tmp_path / "main.c").write_text(
        MAIN.replace("extern int calls;\n", owner or "extern int calls;\n")
    )
    compiler = find_c_compiler()
    assert compiler is not None
    paths = [str(tmp_path / name) for name in ("main.c", "f.o")]
    subprocess.run([*compiler, *paths, "-o", str(tmp_path / "main"), "-lm"], check=True)
    run = subprocess.run([str(tmp_path / "main")], check=True, capture_output=True, text=True)
    assert run.stdout == "42 42"


REFUSED = {
    "int g(void); double f(int n) { static int k = 1; k += g(); return k; }":
        "g is neither defined in this file",
    "static int k; void g(void) { k++; } double f(int n) { k++; return k; }":
        "k is static, and g, which is not in this object file, uses it",
    "extern double x[]; int f(int n) { static int *k = 0; return *k; }":
        "k is a pointer that may point anywhere",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedConstruct, match=REFUSED[text]):
        make_program([model(text, "f")], Options("affine", "strict")).object_code()


def test_a_global_of_another_file_is_reported() -> None:
    with pytest.raises(rl.UserError, match="its definition is not in this file"):
        rl.from_c("extern double x[4]; void f(int n) { x[n] = 1; }")
