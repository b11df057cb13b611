"""Arrays of row pointers: rows may be anywhere in memory, and even overlap in C."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import riselang as rl
from support.c_programs import compiled_by_c, compiled_by_us, model
from support.c_records import loaded_object

PROGRAMS = {
    "a product": "double f(int n, double **c, double **a) { for (int i = 0; i < n; i++)"
        " for (int j = 0; j < n; j++) { double s = 0; for (int k = 0; k < n; k++)"
        " s += a[i][k] * a[k][j]; c[i][j] = s; } return c[1][2]; }",
    "rows as pointers": "double f(int n, double **c, double *const *a) {"
        " for (int i = 0; i < n; i++) { double *r = c[i]; const double *q = a[n - 1 - i];"
        " for (int j = 0; j < n; j++) r[j] = q[j] * 2; } return c[0][0]; }",
    "functions": "static double sum(int n, double *x) { double s = 0;"
        " for (int i = 0; i < n; i++) s += x[i]; return s; }"
        " static void fill(int n, double **m, double x) {"
        " for (int i = 0; i < n; i++) m[i][1] = x; }"
        " double f(int n, double *c[], double **a) { fill(n, c, sum(n, a[2])); return c[2][1]; }",
    "control flow": "double f(int n, double **c, double **a) { int i = 0;"
        " while (i < n && a[i][i] < 4) { c[i][0] = a[i][n - 1]; i++; } return i; }",
}  # fmt: skip


def pointers(rows: list[Any]) -> Any:
    return (ctypes.c_void_p * len(rows))(*(row.ctypes.data for row in rows))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_c_compiler(name: str) -> None:
    text = PROGRAMS[name]
    scop, ours = model(text, "f"), compiled_by_us(text, "f", "isl")
    results: list[Any] = []
    for call in ("ours", compiled_by_c(text), loaded_object(scop, "isl")):
        c = [np.zeros(5) for _ in range(5)]
        a = [np.arange(6.0) + row for row in range(5)]
        if isinstance(call, str):
            result = ours(5, c, a)
        else:
            call.f.restype = ctypes.c_double
            result = call.f(5, pointers(c), pointers(a))
        results.append((result, np.array(c).tolist()))
    assert results[0] == results[1] == results[2]


def test_rows_that_overlap_are_written_in_source_order() -> None:
    text = "void f(int n, double **a) { for (int i = 1; i < n; i++) for (int j = 0; j < n; j++)" \
        " a[i][j] = a[i - 1][j] + 1; }"  # fmt: skip
    a = np.zeros(8)
    compiled_by_us(text, "f", "isl")(4, [a[i : i + 4] for i in range(4)])
    expected = np.zeros(8)
    for i in range(1, 4):
        for j in range(4):
            expected[i + j] = expected[i - 1 + j] + 1
    assert a.tolist() == expected.tolist()


def test_arguments_are_checked() -> None:
    function = compiled_by_us(PROGRAMS["rows as pointers"], "f")
    c, a = np.zeros((3, 3)), np.ones((3, 3))
    assert function(3, c, list(a)) == 2.0
    with pytest.raises(rl.UserError, match="argument a: element"):
        function(3, c, a[:2])
    with pytest.raises(rl.UserError, match="expected an array, but found float"):
        function(3, c, [1.0, 2.0])
    with pytest.raises(rl.UserError, match="a matrix or a sequence of rows"):
        function(3, c, 4.0)
    with pytest.raises(rl.UserError, match="share memory"):
        function(3, c, [c[0], a[1], a[2]])


def test_subscripts_that_depend_on_data_are_checked() -> None:
    function = rl.from_c("double f(int n, double **a, int k[n]) { return a[k[0]][k[1]]; }")
    rows = [np.arange(2.0), np.arange(3.0)]
    assert function(2, rows, np.array([1, 1], "i4")) == 1.0
    for index in ([2, 1], [0, 2], [-1, 0]):
        with pytest.raises(rl.UserError, match="array a, dimension"):
            function(2, rows, np.array(index, "i4"))
