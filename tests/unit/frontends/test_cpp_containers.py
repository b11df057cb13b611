"""std::vector, std::span and std::array, loops over ranges, lambdas and constructors in C++ files:
from Python and in object files, beside the C++ compiler."""

from __future__ import annotations

import copy
import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.calling import CFunction
from riselang.frontends.c.emit.prototypes import format_header
from riselang.frontends.c.file import CFile
from riselang.frontends.c.parse.containers import ARRAY, VECTOR, ContainerType
from riselang.frontends.c.parse.syntax import Variable
from riselang.support.errors import RiseError
from support.c_programs import compiled_model
from support.c_records import loaded_object

SOURCE = """
#include <array>
#include <span>
#include <vector>
using V3 = std::array<double, 3>;
struct P { double x, y; P(double a, double b) : x(a), y{b} { y = x + b; } };
struct W { double x = 3; int k; double z = x * 2; W &me() { return *this; } };
struct N { double x, y; };
struct Q { N p; int k; V3 w; };
template <class T> struct C {
  T re, im;
  constexpr C(T r = 0, T i = 0) : re(r), im(i) {}
  C operator*(const C &o) const { return C(re * o.re - im * o.im, re * o.im + im * o.re); }
};
using V = std::vector<double>;
static double total(const V &v) { double s = 0; for (double x : v) s += x; return s; }
static void fill(std::vector<double> &v, double x) { for (auto &each : v) each = x; }
static double of_span(std::span<double> v) {
  double s = v.size();
  for (double x : v) s += x;
  return s;
}
static double twice(const V &v) {
  V t(v.size(), 1.0), u(3 + 1);
  fill(u, 2);
  return total(t) + total(u);
}
extern "C" {
void elements(std::vector<double> &v, const std::vector<float> &w) {
  for (std::size_t i = 0; i < v.size(); i++) v[i] = 2 * v[i] + w[i];
  v.front() += v.back() + *w.data() + v.empty() + (v.data() + 1)[1];
}
void spans(int n, std::span<double> v, std::span<const float, 3> w, double x) {
  for (double &each : v) each += x;
  v[0] = w[1] + w.size() + n;
  v[1] = of_span(v);
}
void arrays(V3 &v, std::array<std::array<int, 2>, 2> &w, double (&c)[3]) {
  V3 t{1, 2, 3};
  for (double x : c) v[0] += x * t.back();
  for (auto &row : w) for (int &x : row) { if (x > 1) continue; x = 7; }
  int k = 0;
  for (auto x : c) { if (x > 1) break; k++; }
  V3 u = v; u[1] = k; v = u;
}
void local_vectors(int n, std::vector<double> &a) {
  std::vector<double> t(n), u(a.size(), 2.5), w{1, 2, 3}, y = a;
  for (int i = 0; i < n; i++) { t[i] += a[i]; y[i] += 1; }
  for (std::size_t i = 0; i < t.size(); i++) a[i] = t[t.size() - 1 - i] + u[i] + w[i % 3] + y[i];
  fill(t, 7);
  double x = twice(a), z = twice(y);
  a[0] = total(t) + x + z * 100;
}
void values_of_elements(std::vector<double> &v) {
  for (double x : v) { v[1] = x; x += 1; v[2] += x; }
}
void constructed(std::vector<double> &o) {
  P t(1, 2), u(o[0], t.y), w{3, 4}; P z = P(u.x, w.y);
  t = z; o[0] = t.y; o[1] = u.y;
  W a, b{1.0, 2}, c{}, d; d.x = 2;
  o[2] = a.x + b.x + c.z; o[3] = b.z + d.x + d.z + W{}.x;
  C<double> q = C<double>(1, 2) * C<double>(o[4]) * C<double>(0, 1);
  o[4] = q.re; o[5] = q.im;
}
void members(int n, std::vector<double> &o) {
  Q q{{1, 2}, 3}; V3 w = q.w;
  auto change = [&](double d) { q.k++; q.p.x += d; q.w[1] += q.k; w[2] -= d; };
  change(n); change(o[1]);
  o[0] = q.k + q.p.x; o[2] = q.w[1] * w[2];
  double m[2][3] = {{1, 2, 3}, {4, 5, 6}};
  for (auto &row : m) for (double &x : row) { x *= 2; o[1] += x; }
}
void lambdas(int n, std::vector<double> &a) {
  int k = 2; double s = 0;
  auto at = [&](int i) { return a[i] * k; };
  auto add = [&s](double x) { if (x > 100) return; s += x; };
  auto old = [k](int i) { return i * k; };
  auto choose = [=](int i) { switch (i) { case 0: return n; case 1: return k + 1; } return 2 * k; };
  k = 5;
  for (int i = 0; i < n; i++) { add(at(i)); a[i] = old(i) + choose(i); }
  a[0] = s; a[1] = [=] { return 3.0 + k; }();
  auto element = [&](int i) -> double & { return a[i]; };
  element(2) += at(1);
  auto nested = [&] { for (int i = 0; i < n; i++) add(at(i)); return s; };
  a[3] = nested();
}
}
"""
VALUES = np.arange(6.0) / 3
CALLS: dict[str, tuple[Any, ...]] = {
    "elements": (VALUES, np.arange(6, dtype=np.float32) / 7),
    "spans": (3, VALUES, np.arange(3, dtype=np.float32), 0.25),
    "arrays": (VALUES[:3], np.arange(4, dtype=np.int32).reshape(2, 2), np.arange(3.0)),
    "local_vectors": (4, VALUES),
    "values_of_elements": (VALUES,),
    "constructed": (VALUES + 1,),
    "members": (5, VALUES),
    "lambdas": (5, VALUES),
}


@cache
def parsed() -> CFile:
    return CFile.parse_text(SOURCE, "f.cpp")


@cache
def compiled_by_cpp() -> ctypes.CDLL:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    folder = Path(tempfile.mkdtemp(prefix="rise_cpp_"))
    (folder / "f.cpp").write_text(SOURCE)
    library = folder / "libf.so"
    flags = ["-std=c++20", "-O1", "-ffp-contract=off", "-w", "-shared", "-fPIC"]
    command = [compiler, *flags, str(folder / "f.cpp"), "-o", str(library)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


def passed(variable: Variable, argument: Any) -> Any:
    """What the C++ compiler passes: a vector has pointers to its start and its end."""
    if not isinstance(argument, np.ndarray):
        return ctypes.c_int(argument) if isinstance(argument, int) else ctypes.c_double(argument)
    start = argument.ctypes.data
    type = variable.type
    if not isinstance(type, ContainerType) or type.container == ARRAY:
        return ctypes.c_void_p(start)
    if type.container == VECTOR:
        end = start + argument.nbytes
        return ctypes.byref((ctypes.c_void_p * 3)(start, end, end))
    names = ("start", "size") if type.length is None else ("start",)
    fields = [(name, ctypes.c_int64) for name in names]
    span = make_class("Span", (ctypes.Structure,), {"_fields_": fields})
    return span(*(start, argument.size)[: len(fields)])


make_class = type


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CALLS)
def test_functions_agree_with_the_cpp_compiler(name: str) -> None:
    scop = parsed().model_function(name)
    ours, expected, linked = (copy.deepcopy(CALLS[name]) for _ in range(3))
    compiled_model(scop, "source")(*ours)
    for library, given in ((compiled_by_cpp(), expected), (loaded_object(scop, "isl"), linked)):
        parameters = scop.function.parameters
        getattr(library, name)(*map(passed, parameters, given))
    for mine, right, object in zip(ours, expected, linked, strict=True):
        np.testing.assert_array_equal(mine, right)
        np.testing.assert_array_equal(object, right)


STAND_IN = """
namespace std {
template <class T> struct vector {
  T *first, *last, *end;
  vector(unsigned long n);
  vector(const vector &other);
  ~vector();
  T &operator[](unsigned long i);
  T &at(unsigned long i);
  unsigned long size() const;
  void push_back(T x);
};
template <class T, unsigned long N> struct array { T elements[N]; T &operator[](unsigned long i); };
}
"""
LOOP = "for (int i = 0; i < n; i++)"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("void f(std::vector<double> v) { v[0] = 1; }", "v is passed by value, which calls"),
        ("void f(std::vector<double> &v) { v.push_back(1); }", "push_back of std::vector<double>"),
        ("void f(std::vector<double> &v) { v.at(0) = 1; }", "at of std::vector<double> cannot"),
        ("void f(std::vector<bool> &v) { v[0] = 1; }", "packs its elements into bits"),
        ("void f(std::vector<std::vector<float>> &v) { v[0][0] = 1; }", "anywhere in memory"),
        ("void f(std::vector<int> &v) { std::vector<int> w(3); w = v; }", "operator= of std::vec"),
        ("void f(int *a) { for (int i : {1, 2}) a[i] = 1; }", "clang refuses this"),
        ("void f(int n, int *a) { auto g = [=](auto i) { return a[i]; }; a[0] = g(1); }",
         "type auto cannot"),
        ("void f(int n, int *a) { auto g = [a, m = n](int i) { return a[i] + m; }; a[0] = g(1); }",
         "has a value of its own"),
        ("void f(int n, int *a) { auto g = [n](int i) mutable { return n++; }; a[0] = g(1); }",
         "captures of this lambda"),
        ("void f(int *a) { int t[2] = {1, 2}; auto g = [=](int i) { return t[i]; }; a[0] = g(1); }",
         "copies t, which is not a number"),
        ("template <class G> int twice(G g) { return g(1) + g(2); } "
         "void f(int *a) { auto g = [&](int i) { return a[i]; }; a[0] = twice(g); }",
         "g is a lambda, which callers choose"),
        ("void f(int n, int *a) { auto g = [=](int i) -> int & { return a[i + n]; }; g(1) = 2; }",
         "copies variables, but returns"),
        (f"struct S {{ int x; S(int n) {{ {LOOP} x += i; }} }}; "
         "void f(int *a) { S s(3); a[0] = s.x; }", "more than initialize members"),
        ("struct S { int x; S(int n); }; void f(int *a) { S s(3); a[0] = s.x; }", "is not defined"),
        ("struct S { int x, y; S(int n) : x(y), y(n) {} }; void f(int *a) { S s(3); a[0] = s.x; }",
         "before it is initialized"),
        ("struct S { int x, y; S(int x, int y) : x(y), y(x) {} }; struct T { S s; int k; };"
         "void f(int *a) { T t{{1, 0}, 2}; a[0] = t.s.y; }",
         "these braces call a constructor"),
        ("struct S { int x = 1; }; void f(int *a) { S s[2]; a[0] = s[1].x; }",
         "the elements of s have initial values"),
        ("template <class T> struct S { T x; ~S() {} }; void f(int *a, S<int> s) { a[0] = s.x; }",
         "s is passed by value, which calls"),
        ("struct S { int x[2] = {1, 2}; }; void f(int *a) { S s{}; a[0] = s.x[1]; }",
         "x is initialized in S, but is not a number"),
    ],
)  # fmt: skip
def test_other_constructs_are_refused_where_they_are(source: str, message: str) -> None:
    with pytest.raises(RiseError, match=message) as caught:
        CFile.parse_text(f"{STAND_IN}{source}", "f.cpp").model_function("f")
    assert caught.value.location is not None


def compiled(source: str, function: str = "f") -> CFunction:
    scop = CFile.parse_text(f"{STAND_IN}{source}", "f.cpp").model_function(function)
    return compiled_model(scop, "source")


def test_arguments_for_containers_are_arrays() -> None:
    f = compiled("void f(std::vector<float> &v, std::array<int, 2> &w) { v[2] = w[1]; }")
    assert f.dtype("v") == np.float32
    v, w = np.zeros(3, np.float32), np.array([4, 5], np.int32)
    f(v, w)
    assert v[2] == 5
    with pytest.raises(RiseError, match=r"element \[2\] is accessed, but the array has shape"):
        f(v[:2], w)
    with pytest.raises(RiseError, match="expected an array with one dimension for std::vector"):
        f(v[:, None], w)
    with pytest.raises(RiseError, match=r"argument w\.data: expected"):
        f(v, np.zeros(3, np.int32))
    with pytest.raises(RiseError, match="expected an array, but found list"):
        f([1.0, 2.0, 3.0], w)


def test_members_that_are_containers() -> None:
    f = compiled("struct P { std::vector<double> v; int n; };"
                 f"void f(int n, P &p) {{ {LOOP} p.v[i] *= p.n + p.v.size(); }}")  # fmt: skip
    v = np.arange(3.0)
    f(2, {"v": v, "n": 4})
    np.testing.assert_array_equal(v, [0, 7, 2])


def test_the_header_has_the_types_of_cpp() -> None:
    source = f"{STAND_IN}int f(const std::vector<float> &v) {{ return v.size(); }}"
    scop = CFile.parse_text(source, "f.cpp").model_function("f")
    assert format_header([scop], "f").count("int f(const std::vector<float> &v);") == 1


def test_missing_headers_are_named() -> None:
    with pytest.raises(RiseError, match="'vectors' file not found; install the headers of the C"):
        CFile.parse_text("#include <vectors>\n", "f.cpp")


def test_a_pointer_in_a_structure_that_is_passed_by_value(tmp_path: Path) -> None:
    """Only the structure is copied, not what its pointers point to."""
    (tmp_path / "f.c").write_text(
        f"struct s {{ double *p; int n; }}; void f(int n, struct s s) {{ {LOOP} s.p[i] = s.n; }}"
    )
    p = np.zeros(2)
    rl.from_c(tmp_path / "f.c", function="f")(2, {"p": p, "n": 3})
    np.testing.assert_array_equal(p, 3)
