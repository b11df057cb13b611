"""Pointers to rows, initializer lists, constant tables, memset and memcpy."""

from __future__ import annotations

import pytest

from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.frontends.c.report import describe_statement
from riselang.frontends.c.tactics.recognition import recognize_statements
from support.c_programs import check_same, model

PROGRAMS = {
    "a list": "double f(int n, double a[n]) { double w[3] = {0.25, 0.5, 0.25}; double s = 0;"
        " for (int i = 1; i < n - 1; i++) for (int k = 0; k < 3; k++) s += w[k] * a[i + k - 1];"
        " return s; }",
    "a list that is not complete": "int f(int n, int a[n]) { int w[2][3] = {{1, 2}, {3}};"
        " int s = 0; for (int i = 0; i < n; i++) s += w[i % 2][i % 3] * a[i]; return s; }",
    "all zeros": "double f(int n, double a[n]) { double b[100] = {0}; b[3] = 2; double s = 0;"
        " for (int i = 0; i < n; i++) s += a[i] * b[i]; return s; }",
    "constant tables": "static const double w[3] = {1, 2, 4};"
        " static double g(int i) { return w[i] * 2; } double f(int n, double a[n]) {"
        " static const int v[] = {3, 1}; for (int i = 0; i < n; i++)"
        " a[i] = w[i % 3] + v[i & 1] + g(i % 3); return a[0]; }",
    "rows": "void f(int n, int m, double a[n][m], double b[n][m]) { for (int i = 0; i < n; i++) {"
        " double *r = a[i]; const double *q = b[i];"
        " for (int j = 0; j < m; j++) r[j] = q[j] * 2 + *q; } }",
    "a row of an index that changes": "void f(int n, int m, double a[n][m]) { int i = 0;"
        " while (i < n) { double *r = a[i]; i++; for (int j = 0; j < m; j++) r[j] += i; } }",
    "a part of a vector": "void f(int n, double a[n]) {"
        " double *p = a + 2; for (int i = 0; i < n - 2; i++) p[i] = i; }",
    "designators": "int f(int n, int a[n]) { int w[2][3] = {[1][2] = 7, [0] = {1, [2] = 3}};"
        " int s = 0; for (int i = 0; i < n; i++) s += w[i % 2][i % 3] * a[i]; return s; }",
    "a part of a row": "void f(int n, int m, double a[n][m]) { for (int i = 0; i < n; i++) {"
        " double *p = &a[i][1]; for (int j = 0; j < m - 1; j++) p[j] = j; } }",
    "memset": "#include <string.h>\nvoid f(int n, double a[n], int b[n], unsigned char c[n]) {"
        " memset(a, 0, n * sizeof(double)); memset(b + 1, 0, sizeof(*b) * (n - 1));"
        " memset(c, 7, n); }",
    "memcpy": "#include <string.h>\nvoid f(int n, int m, double a[n][m], double b[n][m],"
        " double c[3][4], double d[3][4]) { for (int i = 0; i < n; i++)"
        " memcpy(a[i], b[i], sizeof(double) * m); memcpy(c, d, sizeof(double) * 12);"
        " memset(b[1], 0, m * sizeof(double)); }",
}  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("schedule", ["source", "isl"])
def test_results_are_those_of_the_c_compiler(name: str, schedule: str) -> None:
    check_same(PROGRAMS[name], "f", {"n": 9, "m": 5}, 1, schedule, is_changed=False)


def test_rows_and_copies_are_affine() -> None:
    for name, tactics in (("rows", ["affine map"]), ("memset", ["fill"] * 3)):
        scop = model(PROGRAMS[name])
        found = [describe_statement(scop, each) for each in recognize_statements(scop)]
        assert [each.split(",")[0] for each in found] == tactics


REFUSED = {
    "memset(a, 1, 8 * n);": "sets the bytes of double to a value other than zero",
    "memset(a, 0, n);": "not a number of elements times their size",
    "memset(b, 0, 16);": "accesses a part of b as if it had one dimension",
    "memcpy(a, c, 8);": "copies between arrays of different types",
    "memcpy(b, a, 96);": "copies between arrays of different shapes",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_is_refused(body: str) -> None:
    parameters = "int n, double a[12], double b[3][4], int c[12]"
    with pytest.raises(UnsupportedConstruct, match=REFUSED[body]):
        model(f"#include <string.h>\nvoid f({parameters}) {{ {body} a[0] = 1; }}")
