"""C++ files: functions that are written as in C; all else is refused where it is."""

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
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_agree_with_the_cpp_compiler(tmp_path: Path, name: str):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    source, make = PROGRAMS[name]
    file, library = tmp_path / "f.cpp", tmp_path / "libf.so"
    file.write_text(f'extern "C" {{ {source} }}')
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
        (f"void f(int n, double &s) {{ {LOOP} s += i; }}", "a value of type double & cannot be"),
        (f"void f(int n, double *a) {{ double &r = a[0]; {LOOP} r += i; }}", "type double &"),
        (f"template<class T> T g(T x) {{ return x; }} void f(int n, double *a) "
         f"{{ {LOOP} a[i] = g(a[i]); }}", "g is neither defined in this file"),
        (f"int g(int x) {{ return x; }} double g(double x) {{ return 2 * x; }} "
         f"void f(int n, double *a) {{ {LOOP} a[i] = g(a[i]); }}", "functions are called g"),
        (f"int g(int x) {{ return x; }} namespace m {{ int g(int x) {{ return x + 1; }} }} "
         f"void f(int n, int *a) {{ {LOOP} a[i] = m::g(a[i]); }}",
         "or a function of a class"),
        (f"struct S {{ double *p; double operator[](int i) const {{ return p[i]; }} }}; "
         f"void f(int n, S s, double *a) {{ {LOOP} a[i] = s[i]; }}", "this call is through"),
        (f"void f(int n, double *a) {{ auto g = [&](int i) {{ return a[i]; }}; "
         f"{LOOP} a[i] = g(i); }}", "lambda expr"),
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
