"""C++ files: functions as in C, references, templates, and classes that only return members; all
else is refused where it is."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.support.errors import RiseError

PROGRAMS: dict[str, tuple[str, Callable[[], tuple[Any, ...]]]] = {
    "product": (
        "void f(int n, double *__restrict C, const double *__restrict A, const double *B) {"
        " for (auto i = 0; i < n; ++i) for (auto j = 0; j < n; ++j) { auto s = 0.0;"
        " for (int k = 0; k < n; ++k) s += A[i*n+k] * B[k*n+j];"
        " C[i*n+j] = static_cast<double>(s); } }",
        lambda: (5, np.zeros(25), np.arange(25.0) / 7, np.arange(25.0) / 3),
    ),
    "conditions": (
        "static inline int twice(int x) { return 2 * x; }"
        "void f(int n, int *a, bool flip) { for (int i = 0; i < n; i++) {"
        " bool b = a[i] > 3 && !flip; a[i] = b ? twice(a[i]) : int(a[i] / 2.5) + b;"
        " a[i] += (a[i] < 2) + true; } }",
        lambda: (6, np.arange(6, dtype=np.int32), False),
    ),
    "conversions": (
        "void f(unsigned n, float x[16], short *y) { constexpr int K = 3; const auto m = n / 2u;"
        " for (unsigned i = 0; i < n; i++) { x[i] = float(y[i]) * K - (m == i);"
        " y[i] = static_cast<short>(x[i] + 'a'); } }",
        lambda: (9, np.zeros(16, np.float32), np.arange(9, dtype=np.int16)),
    ),
    "truth": (
        "void f(int n, int *a) { for (int i = 0; i < n; ++i) { int c = (a[i] > 1) == (i > 2);"
        " a[i] = -(a[i] < 3) + (c << 2) + !a[i] + sizeof(bool) + (a[i] & 1 ? 7 : 'b'); } }",
        lambda: (7, np.arange(7, dtype=np.int32) - 2),
    ),
    "references": (
        "static void bump(double &x, const double &y) { x += y; }"
        "static double &pick(double *a, int i) { return a[i]; }"
        "static double sum(const double (&v)[3]) { return v[0] + v[1] * v[2]; }"
        "static void twice(double *&p) { p[1] *= 2; }"
        'extern "C" void f(int n, double *a, double &total, const int &k) {'
        " double v[3] = {1, 2, 3}, local = 0; double &last = a[n - 1]; auto &t = total;"
        " for (int i = 0; i < n; i++) { bump(local, a[i]); bump(a[i], k); t += a[i]; }"
        " last += 2; bump(last, local * 0.5); bump(t, sum(v)); pick(a, 2) = pick(a, 1) + t;"
        " v[1] = n; const double *row = a + n / 2; t += row[1] + sum(v); bump(a[0], a[0]); }",
        lambda: (6, np.arange(6.0) / 7, np.array([0.25]), np.array([3], np.int32)),
    ),
    "templates and overloads": (
        "#include <algorithm>\n#include <cmath>\n"
        "template <class T> static T square(T x) { return x * x; }"
        "template <class T, int N> static T power(T x) { T r = 1;"
        " for (int i = 0; i < N; i++) r *= x; return r; }"
        "template <int N> static int deep(int x) { return deep<N - 1>(x) + N; }"
        "template <> int deep<0>(int x) { return x; }"
        "template <class T> static T limited(T x, T most) { return std::min(x, most); }"
        "namespace ops { static double half(double x) { return x / 2; }"
        " static int half(int x) { return x / 2; } }"
        'extern "C" void f(int n, double *a, int *b) { for (int i = 0; i < n; i++) {'
        " a[i] = square(a[i]) + power<double, 3>(a[i]) + std::sqrt(std::fabs(a[i]));"
        " b[i] = square(b[i]) + power<int, 2>(b[i]) + ops::half(b[i]) + deep<3>(i);"
        " a[i] = std::max(ops::half(a[i]), 0.75) + std::min(i, 2);"
        " b[i] = limited(b[i] + 1, 9); } }",
        lambda: (6, np.arange(6.0) / 7 - 0.3, np.arange(6, dtype=np.int32)),
    ),
    "classes": (
        "struct V { double x, y; V operator+(const V &o) const { return {x + o.x, y + o.y}; }"
        " double norm() const { return x * x + y * y; } double &first() { return x; }"
        " double &at(int i) { return i ? y : first(); } static double one() { return 1; } };"
        "static V operator*(double k, const V &v) { return {k * v.x, k * v.y}; }"
        "struct W { V v[3]; V &operator[](int i) { return v[i]; } };"
        'extern "C" void f(int n, V *a, W &w, double *out) { V t = a[0]; W u = w;'
        " for (int i = 0; i < n; i++) { a[i] = a[i] + 0.5 * t; out[i] = a[i].norm() + V::one();"
        " w[i % 3] = w[(i + 1) % 3] + a[i]; w[0].first() += u[1].y; } t = a[1]; a[2] = t; }",
        lambda: (5, np.arange(10.0).view(V_DTYPE), np.arange(6.0).view(W_DTYPE), np.zeros(5)),
    ),
}
V_DTYPE = np.dtype([("x", "f8"), ("y", "f8")])
W_DTYPE = np.dtype([("v", V_DTYPE, 3)])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_agree_with_the_cpp_compiler(tmp_path: Path, name: str):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    source, make = PROGRAMS[name]
    file, library = tmp_path / "f.cpp", tmp_path / "libf.so"
    file.write_text(source if 'extern "C"' in source else f'extern "C" {{ {source} }}')
    flags = ["-O1", "-ffp-contract=off", "-w", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, str(file), "-o", str(library)], check=True)
    found, expected = make(), make()
    rl.from_c(file, function="f", float="strict")(*found)
    ctypes.CDLL(str(library)).f(*[
        ctypes.c_void_p(each.ctypes.data) if isinstance(each, np.ndarray) else each
        for each in expected
    ])  # fmt: skip
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


LOOP = "for (int i = 0; i < n; i++)"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (f"template<class T> T g(T x) {{ return x > 1 ? g(x - 1) : x; }} void f(int n, int *a) "
         f"{{ {LOOP} a[i] = g(a[i]); }}", r"g \(\w+\) calls itself"),
        (f"namespace m {{ int g(int); }} void f(int n, int *a) {{ {LOOP} a[i] = m::g(a[i]); }}",
         "g is neither defined in this file"),
        (f"struct S {{ double *p; void set(int i) {{ p[i] = 1; }} }}; "
         f"void f(int n, S &s) {{ {LOOP} s.set(i); }}", "set does more than return a member"),
        (f"struct S {{ double *p; virtual double get(int i) {{ return p[i]; }} }}; "
         f"void f(int n, S &s, double *a) {{ {LOOP} a[i] = s.get(i); }}", "get does more than"),
        ("struct S { int n; int g() const; }; void f(S &s, int *a) { a[0] = s.g(); }",
         "g does more than"),
        ("struct S { double *p; S(double *q) : p(q) {} }; void f(double *a) { S s(a); *s.p = 1; }",
         "address of q is used as a value"),
        ("struct B { int n; }; struct D : B { double *p; }; void f(D &d) { d.p[0] = d.n; }",
         "D has base classes"),
        ("void f(double *a, double &&x) { a[0] = x; }", "a value of type double && cannot be"),
        ("void f(double *a) { const double &x = a[0] + 1; a[1] = x; }", "this lvalue"),
        (f"void f(int n, int *a) {{ {LOOP} (a[i] += 2) *= 3; }}", "inside of an expression"),
        (f"void f(int n, int *a) {{ {LOOP} {{ int k = i; a[k] = k++; }} }}", "whose order C"),
        (f"void f(int n, double *a) {{ try {{ {LOOP} a[i] = i; }} catch (...) {{}} }}",
         "this kind of statement"),
        ("void f(int n, int *a) {} void f(int n, double *a) {}", "several functions are called f"),
    ],
)  # fmt: skip
def test_other_constructs_are_refused_where_they_are(tmp_path: Path, source: str, message: str):
    file = tmp_path / "f.cpp"
    file.write_text(source)
    with pytest.raises(RiseError, match=message) as caught:
        rl.from_c(file, function="f")
    assert caught.value.location is not None


MATRIX = """
#include <array>
struct Matrix {
  int n, m;
  double *data;
  double &operator()(int i, int j) { return data[i * m + j]; }
  const double &operator()(int i, int j) const { return this->data[i * m + j]; }
  int rows() const { return n; }
};
void f(Matrix &a, const Matrix &b, std::array<double, 4> &w) {
  for (int i = 0; i < a.rows(); i++)
    for (int j = 0; j < a.m; j++)
      a(i, j) += b(j, i) * w[j & 3];
}
"""


def test_elements_are_those_that_functions_of_classes_return(tmp_path: Path) -> None:
    file = tmp_path / "f.cpp"
    file.write_text(MATRIX)
    function = rl.from_c(file, function="f", float="strict")
    a, b, w = np.arange(6.0), np.arange(6.0) / 3, np.arange(4.0)
    assert function.dtype("w").shape == (4,)
    expected = a.reshape(2, 3) + b.reshape(3, 2).T * w[:3]
    function({"n": 2, "m": 3, "data": a}, {"n": 3, "m": 2, "data": b}, w)
    np.testing.assert_array_equal(a.reshape(2, 3), expected)
