"""Control flow other than counted loops: the same results as the C compiler's, in any order."""

from __future__ import annotations

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.c_program import make_program
from riselang.support.config import Options
from riselang.support.errors import UserError
from support.c_programs import check_same, model

pytestmark = pytest.mark.rotating(4)

PROGRAMS = {
    "a while loop": "void f(int n, double a[n]) { int i = 0; while (i < n) { a[i] *= 2; i++; } }",
    "a do loop": "int f(int n, double a[n]) {"
        " int i = 0; do { a[i] += 1; i += 2; } while (i < n); return i; }",
    "continue in a do loop": "int f(int n, int a[n]) { int i = 0, c = 0;"
        " do { if (a[i] > 9) continue; c++; } while (++i < n); return c; }",
    "break": "int f(int n, double a[n], double x) { int found = -1;"
        " for (int i = 0; i < n; i++) if (a[i] > x) { found = i; break; } return found; }",
    "break and continue": "int f(int n, double a[n]) { int c = 0;"
        " for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) { if (j > i) break;"
        " if ((i + j) % 2) continue; c += j; } a[i] = c; } return c; }",
    "a continue that skips several levels": "void f(int n, double a[n], double b[n]) {"
        " for (int i = 0; i < n; i++) { if (a[i] > 0.9) { if (b[i] > 1.1) continue; a[i] = 0; }"
        " b[i] += a[i]; } }",
    "a break beside a return": "int f(int n, int a[n]) { for (int i = 0; i < n; i++) {"
        " if (a[i] > 200) break; if (a[i] < 500 && i == 3) return i; a[i] = -i; }"
        " for (int i = 0; i < n; i++) { if (a[i] < 500 && i == 4) break; if (a[i] > 200) return i;"
        " a[i] = 2 * i; } return 7; }",
    "a return beside a break": "int f(int n, int a[n]) {"
        " for (int i = 0; i < n; i++) { if (a[i] < 500 && i == 4) break; if (a[i] > 200) return i;"
        " a[i] = 2 * i; } return 7; }",
    "a loop without end": "int f(int n, double a[n]) { int i = 0; for (;;) { if (i >= n) break;"
        " if (a[i] > 1.3) { i += 2; continue; } a[i] = 3; i++; } return i; }",
    "early returns": "double f(int n, double a[n]) { if (n > 100) return 1.5;"
        " for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++)"
        " if (a[i] > 1.2 && a[j] < 0.7) return a[i] - a[j]; a[i] = 0; } return a[n - 1]; }",
    "a switch": "void f(int n, double a[n]) { for (int i = 0; i < n; i++) switch (i % 5) {"
        " case 0: a[i] = 1; break; case 1: a[i] = 2; case 2: a[i] += 3; break;"
        " default: a[i] = -1; case 4: a[i] *= 2; } }",
    "continue in a switch": "void f(int n, int a[n]) { for (int i = 0; i < n; i++) {"
        " switch (a[i] & 3) { case 0: continue; case 1: case 2: a[i]++; } a[i] += 7; } }",
    "downward with the test": "void f(int n, double a[n]) { for (int i = n; i-- > 0; ) a[i] = i; }",
    "downward in a while loop": "int f(int n, double a[n]) {"
        " int i = n; while (i-- > 0) a[i] = i; return i; }",
    "unsigned downward": "void f(unsigned n, double a[n]) {"
        " for (unsigned i = n; i-- > 0; ) a[i] = i; }",
    "a geometric step": "void f(int n, double a[n]) { for (int i = 1; i < n; i *= 2) a[i] = i; }",
    "a symbolic step": "int f(int n, int s, double a[n]) {"
        " int i; for (i = 0; i < n; i += s) a[i] = i; return i; }",
    "a float that counts": "void f(int n, double a[n]) {"
        " int k = 0; for (float x = 0; x < 2 && k < n; x += 0.5f) a[k++] = x; }",
    "a variable after its loop": "int f(int n, double a[n]) {"
        " int i; for (i = 1; i < n; i += 3) a[i] = 1; a[0] = i; return i; }",
    "a variable after a downward loop": "int f(int n, double a[n]) {"
        " int i; for (i = n - 1; i >= 0; i -= 4) a[i] = 1; return i; }",
    "a variable that the body changes": "int f(int n, double a[n]) { int c = 0;"
        " for (int i = 0; i < n; i++) { c++; if (a[i] > 1) i++; } return c; }",
    "side effects in subscripts": "int f(int n, int a[n], int b[n]) { int k = 0;"
        " for (int i = 0; i < n; i++) if (b[i] > 20) a[k++] = b[i]; return k; }",
    "chained compound assignments": "void f(int n, double a[n], double b[n], double c[n]) {"
        " for (int i = 0; i < n; i++) a[i] += b[i] -= c[i]; }",
    "initializers with commas": "void f(int n, double a[n]) { for (int i = 0, j = n - 1; i < j;"
        " i++, j--) { double t = a[i]; a[i] = a[j]; a[j] = t; } }",
    "a start that changes a variable of another": "int f(int n, int a[n]) { int i, s = 2;"
        " for (i = s, s = 0; i < n; i++) a[i] += s + 1; return s + i; }",
    "masks and shifts in subscripts": "void f(int n, int a[n], int b[64]) {"
        " for (int i = 0; i < n; i++) { b[i & 5] += a[i]; b[i >> 1] += 2; }"
        " for (int i = 0; i < 6; i++) b[(i << 3) + 1] = i; }",
    "distances from a pointer": "void f(int n, double a[n]) { double *last = a + n - 1;"
        " for (int i = 1; i < n; i++) *(last - i) += i; }",
    "an else that continues": "int f(int n, int a[n]) { int s = 0; for (int i = 0; i < n; i++) {"
        " if (a[i] > 20) a[i] = 1; else continue; s += i + 1; } return s; }",
    "a continue with two updates": "void f(int n, int a[n]) { for (int i = 0, k = 0; i < n;"
        " i++, k += 2) { if (a[i] > 20) continue; a[i] = k; } }",
    "effects right of operators": "int f(int n, int a[n]) { int k = 0, m = 0;"
        " for (int i = 0; i < n; i++) { if (a[i] > 20 && ++k > 1) a[i] = k;"
        " if (a[i] > 10 || m++ > 2) a[i] -= m; } return k * 100 + m; }",
    "a downward loop with an end in memory": "int f(int n, int a[n]) { int s = 0;"
        " for (int i = 0; i < n; i++) for (int j = 9; j > (a[i] & 7); j--) s += j * (i + 1);"
        " return s; }",
    "elements after a designator": "int f(int n, int a[n]) { int s = 0;"
        " int t[6] = {1, [3] = n, 7, [1] = 2, 5};"
        " for (int i = 0; i < 6; i++) s = s * 3 + t[i]; return s; }",
    "an address whose subscript changes": "static void set(int *x, int *y) { *y = 3; *x += 7; }"
        " void f(int n, int a[n]) { set(&a[n > 1 ? a[0] & 7 : 0], &a[0]); }",
    "a length that changes": "double f(int n, double a[n]) {"
        " double s = 0; while (n > 0) { n--; s += a[n]; } return s; }",
    "side effects in a condition": "int f(int n, int a[n]) { int k = 0; int s = 0;"
        " while (k < n && a[k++] > -10) { s += a[k - 1]; } return s * 100 + k; }",
    "a conditional with effects": "int f(int n, int a[n]) { int p = 0, q = 0;"
        " for (int i = 0; i < n; i++) a[i] > 5 ? p++ : (q += 2); return p * 1000 + q; }",
    "calls under conditions": "static int d(int x) { int c = 0; while (x > 0) { x /= 2; c++; }"
        " return c; } int f(int n, int a[n]) { int s = 0; for (int i = 0; i < n && d(i) < 4; i++)"
        " s += a[i] > 0 && d(a[i]) > 3 ? d(s) : i; return s; }",
    "an assignment that changes its subscript": "int f(int n, int a[n]) {"
        " a[0] = 0; int s = (a[a[0]] = n - 1) * 100; return s + (a[a[0] & 1] -= 2); }",
    "a branch that never runs": "int f(int n, int a[n]) {"
        " int s = 0; if (0) { int x = a[0]; s = x; } while (s < n) s++; return s; }",
}  # fmt: skip


@pytest.mark.sampled(32)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("schedule", ["source", "isl"])
def test_results_are_those_of_the_c_compiler(name: str, schedule: str) -> None:
    for n in (9, 1):
        check_same(
            PROGRAMS[name], "f", {"n": n, "s": 2}, n, schedule, is_changed=False, lengths={"a": 9}
        )


STATIC = {
    "a continue": "for (int i = 0; i < n; i++) { if (i % 3 == 1) continue; a[i] = i; }",
    "a downward loop": "for (int i = n; i-- > 0; ) a[i] = i;",
    "two variables": "for (int i = 0, j = 3; i < n; i++) a[i] = j;",
    "an early return": "if (n > 7) return; for (int i = 0; i < n; i++) a[i] = i;",
    "a switch over a parameter":
        "switch (n) { case 3: break; default: for (int i = 0; i < n; i++) a[i] = i; }",
}  # fmt: skip


@pytest.mark.parametrize("name", STATIC)
def test_affine_loops_with_jumps_are_in_the_model(name: str) -> None:
    scop = model(f"void f(int n, double a[n]) {{ {STATIC[name]} }}")
    assert max(len(each.iterators) for each in scop.statements) == 1
    assert "scf.while" not in make_program([scop], Options("affine", "strict")).affine_text()


def test_loops_around_a_while_loop_are_in_the_model() -> None:
    scop = model("""void f(int n, double a[n]) {
      for (int i = 0; i < n; i++)
        while (a[i] > 1) a[i] /= 2;
    }""")
    (statement,) = scop.statements
    assert [name for _, name in statement.iterators] == ["i"]
    assert "rise.parallel" in make_program([scop], Options("affine", "strict")).affine_text()


def test_a_failed_check_ends_a_while_loop() -> None:
    text = "int f(int n, int a[n]) {\n  int i = 0;\n  while (a[i] != 7) i++;\n  return i;\n}"
    search = rl.from_c(text)
    assert search(4, np.array([1, 2, 7, 3], np.int32)) == 2
    with pytest.raises(UserError, match="the index 3 is not in"):
        search(3, np.array([1, 2, 3], np.int32))


def test_a_division_by_zero_ends_a_while_loop() -> None:
    text = "int f(int n) { int i = 1; while (n / i < 100 && i != n + 9) i = i - 1; return i; }"
    with pytest.raises(UserError, match="divisor"):
        rl.from_c(text)(5)
