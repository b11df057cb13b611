"""Corner cases of C that random programs rarely contain, beside the C compiler; planted faults in
the reading of C and in the model of its loops are found by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from riselang.frontends.c.calling import CFunction
from riselang.support.errors import RiseError
from support.c_programs import check_same, compiled_by_us, model
from support.c_records import check_records

INTEGERS = "void f(int n, int a[n], int b[64]) {"
PROGRAMS = {
    "constants": f"{INTEGERS} enum {{ A = 3, B, C = 10 }}; int t[3] = {{1.9, n + 0.5, -2.5}};"
        " double d[2] = {n / 2, 1}; float x = 16777217; unsigned char c = 250; c += 10;"
        " a[0] = (unsigned char)300 + (signed char)200 + (short)70000 + (unsigned short)-1;"
        " a[1] = B * C + A; a[2] = t[0] * 100 + t[1] * 10 + t[2]; a[3] = d[0] * 4 + d[1] + c;"
        " int u[3] = {[1] = 2.7, n + 0.9}; a[6] = u[1] * 10 + u[2];"
        " a[4] = x - 16777000; a[5] = sizeof(t) + (int)(char)'x'; }",
    "shifts by other types": f"{INTEGERS} unsigned d = 1; long long e = 2; int x = -80, y = -9;"
        " x >>= d; y >>= e; a[0] = x; a[1] = y; unsigned u = 3000000000u; u >>= e; a[2] = u;"
        " short s = 300; s <<= e; a[3] = s; unsigned char c = 200; c <<= 1L; a[4] = c; }",
    "negated and chosen": f"{INTEGERS} for (int i = 0; i < n; i++) {{ if (!(i < 3)) a[i] = 1;"
        " if (!(i < 2 || i > 4)) a[i] += 2; b[i > 2] += i; b[10 + (i < 4 ? i : 3)] += 5;"
        " for (int j = 0; j < (i > 2 ? 2 : n); j++) a[i] += j; } }",
    "remainders and quotients": f"{INTEGERS} for (int i = 0; i < n; i++) {{"
        " b[(i - 4) % 3 + 2]++; b[(i - 4) / 2 + 12] += 2; b[i / -2 + 30] += 3;"
        " b[(i - 3) % -2 + 40] += 4; b[(i & 7) + 44] += 5; b[i & 6] += 6; a[n - 1 - i] += i;"
        " b[(i << 1) % 60]--; } }",
    "numbers that wrap": f"{INTEGERS} for (unsigned i = 0; i < (unsigned)n; i++) {{"
        " b[(i - 3u) % 5]++; b[(unsigned char)(i * 40) & 31] += 2; } for (int i = 0; i < n; i++)"
        " b[((signed char)(i * 30) >> 4) + 30] += 3; }",
    "variables that change": f"{INTEGERS} int m = n, k = 2; b[k] = 1; k = 3; b[k] = 2; k = 0;"
        " for (int i = 0; i < n; i++) { b[m - 1] = i; m--; b[k * k % 7 + 20] += i; k += 2; }"
        " int e = 5; for (int i = 0; i < e; i++) { a[i] += i; if (i == 2) e = 4; } b[0] = e; }",
    "ends of loops": "int f(int n, int z, int a[n]) { int i, j, k, l; for (i = n - 1; i != -1; i--)"
        " a[i] += i; for (int k = 0; k < n && k % 4 != 3; k++) a[k] += 7;"
        " for (int k = n - 1; k != -1; k--) a[k] += 3;"
        " for (i = 5; i < z; i++) a[i] = 0; for (j = 0; j <= n - 2; j++) a[j] *= 2;"
        " for (k = 0; k < n; k += 3) a[k]++; for (l = n - 1; l >= 1; l -= 2) a[l]--;"
        " return i + j * 10 + k * 100 + l * 1000; }",
    "a division that may not be": "void f(int n, int zero, int a[n]) { if (zero != 0)"
        " for (int i = 0; i < n / zero; i++) a[i] = 1; a[0] = 200; }",
    "a value that is not read": f"{INTEGERS} for (int i = 0; i < n; i++) {{"
        " int t = i > 0 ? a[i - 1] : 3; a[i] = b[i] > 1000 ? a[i + 1000] : t; } }",
    "order": f"{INTEGERS} int k[8]; for (int i = 0; i < 8; i++) k[i] = i * 3 % 8;"
        " for (int i = 0; i < 8; i++) b[k[i]] += i; for (int i = 0; i < 8; i++) {"
        " k[(i + 1) % 8] = (i + b[i]) & 7; a[k[i] % n] += i; int t = a[i % n] & 3; b[t] = i; } }",
    "a column beyond its row": "void f(int n, int m, int a[n * m + 8]) {"
        " for (int i = 0; i < n; i++) for (int j = 0; j < m + 2; j++)"
        " a[i * m + j] = a[i * m + j] * 3 + j; }",
    "an end that an inner loop changes": f"{INTEGERS} int k = 5; for (int i = 0; i < k; i++)"
        " for (k = 0; k < (b[i] & 7); k++) a[i] += k + 1; a[8] = k; }",
    "effects in a condition": "int f(int n, int a[n]) { int i = 0, k = 0;"
        " while (k += 2, i < n) { a[i] += k; i++; } return k; }",
    "subscripts that fit exactly": "void f(int n, int a[n], int b[3], int c[1]) {"
        " for (int i = 0; i < n; i++) { b[i % -3] += a[i]; c[i > 20] += i; } }",
    "a step that data decide": "int f(int n, int a[n]) { int c = 0, s = 0;"
        " for (int i = 0; c < n / 2; i += 1 + (a[i] & 1)) { c++; s += i; } return s; }",
    "a goto out of loops": "int f(int n, int a[n]) { int c = 0; for (int i = 0; i < n; i++) {"
        " for (int j = 0; j < n; j++) { if (a[i] + j > 60) goto done; c++; } a[i] = c; } c = -c;"
        " done: return c; }",
    "complex numbers": "void f(int n, double a[n]) { double _Complex x = a[0] + a[1] * 1.0i,"
        " y = a[0] + a[2] * 1.0i; a[3] = (x == y) + 2 * (x != y) + 4 * (x == x) + 8 * (y != y);"
        " x = x * y - a[3]; a[4] = __real__ x; a[5] = __imag__ x; y = ~x + 1.0; y = a[0] - y;"
        " a[6] = __real__ y; a[7] = __imag__ y; }",
}  # fmt: skip


@pytest.mark.sampled(9)
@pytest.mark.parametrize("schedule", ["source", "isl"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_c_compiler(name: str, schedule: str) -> None:
    check_same(PROGRAMS[name], None, {"n": 9, "m": 4, "z": 3, "zero": 0}, schedule=schedule, seed=1)


def test_a_negative_quotient_in_a_length() -> None:
    text = "void f(int n, int a[(n - 14) / 2 + 7]) { for (int i = 0; i < 5; i++) a[i] += i; }"
    a = np.zeros(5, np.int32)
    compiled_by_us(text)(9, a)
    assert a.tolist() == [0, 1, 2, 3, 4]


REFUSED = {
    INTEGERS + "for (unsigned char i = 250; i != 4; i++) a[i & 7] += i; }": "may wrap around",
    INTEGERS + "for (unsigned char i = 5; i < n; i += 100) a[i & 7] += i; }": "may wrap around",
    INTEGERS + "int m = n; m--; int t[m]; m = 3; t[0] = n; a[0] = t[0]; }": "that changes",
    "int g(int *a) { a[0]++; return a[0]; } void f(int *a) { a[1] = a[0] + g(a); }":
        "also has side effects",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(RiseError, match=REFUSED[text]):
        model(text, "f")


STRUCTURES = """
struct in { int k; float y; };
struct out { double x; struct in b; };
struct pair { long a, b; };
struct mixed { float x; int k; };
void nested(struct out s, struct out t, double *o) {
  o[0] = s.x + s.b.k; o[1] = s.b.y; o[2] = t.x - t.b.k; o[3] = t.b.y;
}
void mixed(struct mixed s, struct mixed t, double *o) { o[0] = s.x + s.k; o[1] = t.x - t.k; }
void pairs(struct pair s, struct pair t, int k, struct pair u, double *o) {
  o[0] = s.a - s.b * k; o[1] = t.a - t.b; o[2] = u.a - u.b;
}
void array(struct out *s, double *o) {
  for (int i = 0; i < 3; i++) s[i].b.k += i;
  o[0] = s[2].x + s[1].b.y;
  struct out t = s[0]; s[0] = s[1]; s[1] = t;
  s[2] = (struct out){s[2].b.y, {s[2].x, s[2].b.k}};
}
int kept[4] = {4, 5, 6};
void globals(double *o) { kept[3] += 7; for (int i = 0; i < 4; i++) o[i] = kept[i] * 2; }
void numbers(int a, int b, int c, int d, int e, struct pair s, double *o) {
  o[0] = a + b + c + d + e; o[1] = s.a; o[2] = s.b;
}
"""


def make_structure(dtype: np.dtype[Any], start: int) -> Any:
    """A structure of which all numbers differ."""
    record: Any = np.zeros((), dtype)
    for at, name in enumerate(dtype.names or ()):
        inner = dtype[name]
        record[name] = make_structure(inner, start + 7) if inner.names else start + at + 0.5
    return record[()]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["nested", "mixed", "pairs", "array", "globals", "numbers"])
def test_structures_in_registers(name: str) -> None:
    def make(function: CFunction) -> list[Any]:
        made: list[Any] = []
        for at, parameter in enumerate(function.parameters):
            dtype = function.dtype(parameter)
            if parameter == "o":
                made.append(np.zeros(4))
            elif name == "array":
                made.append(np.array([make_structure(dtype, 10 * at) for at in range(3)], dtype))
            else:
                made.append(np.asarray(make_structure(dtype, 10 * at)) if dtype.names else at)
        return made

    check_records(STRUCTURES, make, function=name)
