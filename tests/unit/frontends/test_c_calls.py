"""Function pointers to known functions, effects of functions that are called for their values, and
gotos that leave statements forward."""

from __future__ import annotations

import pytest

from riselang.frontends.c.parse.syntax import Assign, While, walk_statements
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from support.c_programs import check_same, model

pytestmark = pytest.mark.rotating(6)

FUNCTIONS = """\
#include <math.h>
static double square(double x) { return x * x; }
static double next(double *x) { *x = *x * 0.5 + 1; return *x; }
static void map(int n, double *a, double (*f)(double)) {
  for (int i = 0; i < n; i++) a[i] = f(a[i]);
}
typedef double (*binary)(double, double);
static double fold(binary f, int n, const double *a) {
  double r = a[0];
  for (int i = 1; i < n; i++) r = (*f)(r, a[i]);
  return r;
}
static double add(double x, double y) { return x + y; }
static double twice(double (*f)(double), double x) { return f(f(x)); }
"""
BODIES = {
    "an argument": "map(n, a, square);",
    "a function of the library": "map(n, a, fabs); map(n - 1, a + 1, &sqrt);",
    "a result": "a[0] = fold(add, n, a) + fold(fmax, n, a);",
    "passed on": "a[1] = twice(square, a[0]);",
    "a local pointer": "double (*f)(double) = square; binary g = add; a[0] = g(f(a[1]), a[2]);",
    "an effect": "double s = a[0]; for (int i = 0; i < n; i++) { a[i] = next(&s);"
        " if (next(&s) > 1.5) a[i] += 1; double t = next(&s) * 2; a[i] -= t; }",
    "effects in choices": "double s = a[0]; for (int i = 1; i < n; i++) {"
        " a[i] = a[i] > 1 ? next(&s) : 2; if (a[i] > 1.5 || next(&s) > 1.2) a[i] += 1;"
        " if (a[i] > 1.5 && next(&s) > 1.2) a[i] += 2; } a[0] = s;",
    "a goto in a loop": "for (int i = 0; i < n; i++) { if (a[i] > 1) goto next; a[i] = i;"
        " if (i > 3) goto next; a[i] += 2; next: a[i] += 1; }",
    "a goto out of loops": "int i, j; for (i = 0; i < n; i++) for (j = 0; j < n; j++)"
        " if (a[i] < a[j] - 0.3) goto found; a[0] = 9; found: a[1] = i + j;",
    "a goto to the end": "if (n < 3) goto end; for (int i = 0; i < n; i++) { switch (i) {"
        " case 2: a[i] = 3; break; case 4: goto end; default: a[i] = 4; } } a[0] = 7; end: ;",
    "two gotos": "if (a[0] > 1) goto first; if (a[1] > 1) goto second; a[2] = 1;"
        " first: a[3] = 2; second: a[4] = 3;",
    "a goto and a break": "for (int i = 0; i < n; i++) { if (a[i] > 1) goto next; if (i > 3) break;"
        " a[i] = 3; next: a[i] += 1; }",
    "jumps between loops": "for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) {"
        " if (a[j] > 1.2) break; if (a[i] > 1) goto next; if (j == 2) continue; a[j] += i; }"
        " a[0] = 0; next: if (i == 4) break; a[i] = 1; }",
    "a goto in a case": "for (int i = 0; i < n; i++) switch (i) { case 1: if (a[i] > 1) goto same;"
        " if (a[0] > 1) break; a[i] = 2; same: a[i] += 1; case 2: a[i] = 4; break;"
        " default: a[0] += 1; }",
}  # fmt: skip


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("schedule", ["source", "isl"])
def test_results_are_those_of_the_c_compiler(name: str, schedule: str) -> None:
    text = f"{FUNCTIONS}void f(int n, double a[n]) {{ {BODIES[name]} }}"
    for seed in range(3):
        check_same(text, "f", {"n": 7}, seed, schedule, is_changed=False)


REFUSED = {
    "a[0] = add(next(&a[1]), a[1]);": "next is called for its value, but also has side effects",
    "a[0] = next(&a[1]) + next(&a[2]);": "next is called for its value, but also has side effects",
    "double (*f)(double) = n > 1 ? square : fabs; a[0] = f(1);": "function pointer that is not",
    "double (*f)(double) = square; f = fabs; a[0] = f(1);": "the address of f is used as a value",
    "double (*f[2])(double) = {square, fabs}; a[0] = f[n](1);": "f is an array of function",
    "again: a[0] += 1; if (a[0] < n) goto again;": "goto is not structured control flow",
    "if (n) goto inside; for (int i = 0; i < n; i++) { inside: a[i] = 1; }": "goto is not",
}  # fmt: skip


@pytest.mark.parametrize("body", REFUSED)
def test_what_is_refused(body: str) -> None:
    with pytest.raises(UnsupportedConstruct, match=REFUSED[body]) as caught:
        model(f"{FUNCTIONS}void f(int n, double a[n]) {{\n{body} }}", "f")
    assert caught.value.location is not None
    assert caught.value.location.line == FUNCTIONS.count("\n") + 2


def test_callers_cannot_choose_a_function() -> None:
    with pytest.raises(UnsupportedConstruct, match="g is a function that callers choose"):
        model("double f(double (*g)(double), double x) { return g(x); }")


@pytest.mark.parametrize(
    "text",
    ["int f(int n) { return n ? f(n - 1) : 1; }",
     "int g(int); int f(int n) { return n ? g(n - 1) : 1; } int g(int n) { return f(n); }",
     "static int a(int n, int (*f)(int)) { return f(n); } int f(int n) { return a(n, f); }"],
)  # fmt: skip
def test_recursion_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedConstruct, match="f calls itself") as caught:
        model(text, "f")
    assert caught.value.location is not None


def test_restrict_in_brackets_is_read() -> None:
    text = "void f(int n, double a[restrict n], double b[n], double c[const restrict static 4],"
    function = model(f"{text} double *restrict d) {{ a[0] = b[0] + c[0] + d[0]; }}").function
    names = [each.name for each in function.parameters if each.is_restrict]
    assert names == ["a", "c", "d"]


def test_a_break_does_not_guard_the_step_of_the_loop() -> None:
    text = "double f(int n, double a[n]) { double s = 0;" \
        " for (int i = 0; i < n; i++) { s += a[i]; if (s > 9) break; } return s; }"  # fmt: skip
    loop = next(each for each in walk_statements([each.body for each in model(text).statements])
                if isinstance(each, While))  # fmt: skip
    assert all(isinstance(each, Assign) for each in loop.update.statements)
    check_same(text, "f", {"n": 30})
