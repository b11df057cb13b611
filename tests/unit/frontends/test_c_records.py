"""Structures: values, pointers, arrays of them and in them, from Python and from C."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.calling import CFunction
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.frontends.c.report import describe_statement
from riselang.frontends.c.tactics.recognition import recognize_statements
from riselang.support.config import Options
from support.c_programs import compiled_by_us, model
from support.c_records import check_records

pytestmark = pytest.mark.rotating(6)

PARTICLES = "struct v3 { double x, y, z; }; struct p { struct v3 at; float w[3]; int id; };\n"
GRID = "typedef struct { int n, m; double *data; double total; } grid;\n"


def records(function: CFunction, name: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    """Structures with random numbers."""
    random = np.random.default_rng(seed)
    array = np.zeros(shape, function.dtype(name))

    def fill(part: Any) -> None:
        if part.dtype.names is not None:
            for each in part.dtype.names:
                fill(part[each])
        else:
            part[...] = random.integers(1, 60, part.shape) / (4 if part.dtype.kind == "f" else 1)

    fill(array)
    return array


def particles(function: CFunction) -> list[Any]:
    """Arguments for `int n, struct p p[n], struct v3 d`."""
    return [7, records(function, "p", (7,)), records(function, "d", (), 1)]


BODIES = {
    "members": "for (int i = 0; i < n; i++) p[i].at.x += d.y * p[i].at.z;",
    "arrays in structures": "for (int i = 0; i < n; i++) for (int k = 0; k < 3; k++)"
        " p[i].w[k] = p[i].w[2 - k] + p[i].id;",
    "copies": "for (int i = 1; i < n; i++) p[i] = p[i - 1];",
    "a copy in a variable": "struct p t = p[0]; p[0] = p[n - 1]; p[n - 1] = t;",
    "exchanged members": "for (int i = 0; i < n; i++)"
        " p[i].at = (struct v3){p[i].at.z, p[i].at.x, p[i].at.y};",
    "lists": "struct p t = {{1, 2}, {3}, .id = 4}; struct v3 a[2] = {{1}, {.z = 2}};"
        " for (int i = 0; i < n; i++) { p[i] = t; p[i].at.y = a[i & 1].z + a[1].x; }",
    "zeros": "for (int i = 0; i < n; i++) { struct p t = {0}; t.at = d; p[i] = t; }",
    "a choice": "for (int i = 0; i < n; i++) p[i].at = i > 2 ? d : p[0].at;",
    "pointers": "struct p *q = &p[2]; q->at.x = 1; struct v3 *a = &p[1].at; a->y = q->at.z;"
        " (*q).id = (p + 1)->id; q[1].id = 5;",
    "memory functions": "memcpy(p, p + 3, 2 * sizeof(struct p)); memset(p + 5, 0, sizeof *p);",
    "a local structure that changes": "struct v3 s = d; for (int i = 0; i < n; i++) {"
        " s.x += p[i].at.x; s.y = s.x * s.y; p[i].at.z = s.y; }",
    "a parameter that changes": "for (int i = 0; i < n; i++) { d.x += i; p[i].at = d; }",
    "control flow": "for (int i = 0; i < n; i++) { if (p[i].id > 40) break;"
        " if (p[i].id < 10) continue; p[i].at.x = p[i].id; }",
}  # fmt: skip


@pytest.mark.sampled(11)
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("schedule", ["source", "isl"])
def test_results_are_those_of_the_c_compiler(name: str, schedule: str) -> None:
    head = "#include <string.h>\n" + PARTICLES
    text = f"{head}void f(int n, struct p p[n], struct v3 d) {{ {BODIES[name]} }}"
    check_records(text, particles, schedule=schedule)


FUNCTIONS = """
static struct v3 add(struct v3 a, struct v3 b) {
  return (struct v3){a.x + b.x, a.y + b.y, a.z + b.z};
}
static struct v3 scaled(struct v3 a, double s) { a.x *= s; a.y *= s; a.z *= s; return a; }
static double dot(const struct v3 *a, const struct v3 *b) {
  return a->x * b->x + a->y * b->y + a->z * b->z;
}
static void move(struct p *p, struct v3 by) { p->at = add(p->at, by); p->w[1] += 1; }
static void ends(const struct v3 *a, double *low, double *high) {
  *low = a->x < a->y ? a->x : a->y;
  *high = a->x < a->y ? a->y : a->x;
}
static void all(int n, struct p *p, struct v3 d) { for (int i = 0; i < n; i++) move(&p[i], d); }
double f(int n, struct p p[n], struct v3 d) {
  struct v3 total = {0};
  double low = 0, high = 0;
  all(n - 2, p + 1, scaled(d, 0.5));
  for (int i = 0; i < n; i++) {
    total = add(total, scaled(p[i].at, dot(&p[i].at, &d)));
    ends(&total, &low, &high);
    p[i].at.z = high - low + add(d, total).y;
  }
  move(&p[0], total);
  return low + dot(&total, &d);
}
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("schedule", ["source", "isl"])
def test_functions_with_structures_are_inlined(schedule: str) -> None:
    check_records(PARTICLES + FUNCTIONS, particles, schedule=schedule)


GRIDS = {
    "sizes and a pointer": "for (int i = 0; i < g->n; i++) for (int j = 0; j < g->m; j++)"
        " g->data[i * g->m + j] += i - j;",
    "a number that changes": "g->total = 0; for (int i = 0; i < g->n * g->m; i++)"
        " g->total += g->data[i];",
    "a local pointer": "double *d = g->data; int n = g->n; for (int i = 0; i < n; i++) d[i] = n;",
    "a local array": "double t[g->n]; for (int i = 0; i < g->n; i++) t[i] = g->data[i];"
        " for (int i = 0; i < g->n; i++) g->data[i] = t[g->n - 1 - i];",
    "a loop that ends early": "int i = 0; while (i < g->n && g->data[i] < 3) i++; g->total = i;",
}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("schedule", ["source", "isl"])
def test_a_structure_with_a_pointer(name: str, schedule: str) -> None:
    def arguments(function: CFunction) -> list[Any]:
        data = np.arange(24.0)
        return [{"n": 4, "m": 6, "data": data, "total": 2.0}]

    check_records(f"{GRID}void f(grid *g) {{ {GRIDS[name]} }}", arguments, schedule=schedule)


BY_VALUE = {
    "double": "struct s { double a; };", "two floats": "struct s { float a, b; };",
    "three floats": "struct s { float a, b, c; };", "mixed": "struct s { double a; int b; };",
    "short": "struct s { char a; short b; };", "one byte": "struct s { unsigned char a; };",
    "two words": "struct s { long a; float b, c; };", "large": "struct s { double a, b, c; };",
    "an array": "struct s { float a; int b[3]; };", "a Boolean": "struct s { _Bool a; int b; };",
    "nested": "struct i { float a, b; }; struct s { double c; struct i a; };",
}  # fmt: skip


MANY = "double e0, double e1, double e2, double e3, double e4, double e5, double e6, int k0, " \
    "int k1, int k2, int k3, "  # fmt: skip
"""Parameters that use most registers."""
INTEGERS = "".join(f"int k{number}, " for number in range(8))
"""More integers than there are registers for them, but not for floats."""


@pytest.mark.sampled(14)
@pytest.mark.parametrize("name", BY_VALUE)
@pytest.mark.parametrize("before", ["", MANY, INTEGERS])
def test_structures_are_passed_as_c_passes_them(name: str, before: str) -> None:
    sums = {"nested": "s.c + s.a.a * 2 + s.a.b * 3", "an array": "s.a + s.b[0] * 2 + s.b[2] * 3",
            "double": "s.a", "one byte": "s.a", "three floats": "s.a + s.b * 2 + s.c * 3",
            "two words": "s.a + s.b * 2 + s.c * 3", "large": "s.a + s.b * 2 + s.c * 3"}  # fmt: skip
    total = sums.get(name, "s.a + s.b * 2")
    text = f"{BY_VALUE[name]}\ndouble f({before}struct s s, int n, struct s t)" \
        f" {{ double r = {total}; for (int i = 0; i < n; i++) r += {total.replace('s.', 't.')};" \
        " return r; }"  # fmt: skip

    def arguments(function: CFunction) -> list[Any]:
        numbers = [1.0] * before.count("double") + [1] * before.count("int")
        return [*numbers, records(function, "s", ()), 3, records(function, "t", (), 5)]

    check_records(text, arguments)


def test_members_of_one_array_are_independent() -> None:
    text = f"{PARTICLES}void f(int n, struct p p[n]) {{ for (int i = 0; i < n - 1; i++)" \
        " p[i].at.x = p[i + 1].at.y; }"  # fmt: skip
    assert "rise.parallel" in make_program([model(text)], Options("affine", "strict")).affine_text()


def test_strided_members_are_no_matrices() -> None:
    loop = "for (int i = 0; i < n; i++) b[i] += 2 * a[i].x;"
    scop = model(f"{PARTICLES}void f(int n, struct v3 a[n], double b[n]) {{ {loop} }}")
    (found,) = recognize_statements(scop)
    expected = "elementwise, not lifted (a.x is not contiguous in memory)"
    assert describe_statement(scop, found) == expected


def test_the_header_declares_structures() -> None:
    text = f"{GRID}{PARTICLES}void f(grid *g, int n, struct p p[n], struct v3 d) {{ p[0].at = d; }}"
    header = make_program([model(text)], Options("affine", "strict")).header("step")
    assert "/* Include the file that defines grid first. */\nstruct p;\nstruct v3;\n" in header
    assert "void f(grid *g, int n, struct p p[n], struct v3 d);" in header


STEP = f"{PARTICLES}void f(int n, struct p *p) {{ for (int i = 0; i < n; i++) p[i].at.x = i; }}"


def test_accesses_to_structures_are_checked() -> None:
    function = compiled_by_us(STEP)
    with pytest.raises(rl.UserError, match=r"array p.at.x|argument p.at.x: element \[3\]"):
        function(4, records(function, "p", (3,)))


@pytest.mark.parametrize(
    ("argument", "problem"),
    [(np.zeros(3), "expected the dtype of struct p"), (3.0, "with the member at of struct p"),
     ({"id": 3}, "with the member at"), (np.zeros(3, [("at", "f8")]), "expected the dtype of")],
)  # fmt: skip
def test_wrong_arguments_are_reported(argument: Any, problem: str) -> None:
    with pytest.raises(rl.UserError, match=problem):
        compiled_by_us(STEP)(3, argument)
    function = compiled_by_us(STEP)
    with pytest.raises(rl.UserError, match="is not contiguous"):
        function(3, records(function, "p", (6,))[::2])


def test_members_elsewhere_are_refused() -> None:
    function = compiled_by_us("struct s { float x, y; }; void f(struct s *s) { s->x = s->y; }")
    function(np.zeros(1, [("x", "f4"), ("y", "f4")]))
    with pytest.raises(rl.UserError, match="expected the dtype of struct s"):
        function(np.zeros(1, [("y", "f4"), ("x", "f4")]))


def test_structures_that_share_memory_are_refused() -> None:
    text = f"{PARTICLES}void f(int n, struct p p[n], struct p q[n])" \
        " { for (int i = 0; i < n; i++) p[i].id = q[i].id; }"  # fmt: skip
    function = compiled_by_us(text)
    p = records(function, "p", (6,))
    with pytest.raises(rl.UserError, match="share memory"):
        function(3, p[:3], p[2:5])
    function(3, p[:3], p[3:])
    assert (p["id"][:3] == p["id"][3:]).all()


def test_objects_and_ctypes_structures_are_arguments() -> None:
    text = f"{GRID}void f(grid *g) {{ g->total += g->data[g->n]; }}"
    g = SimpleNamespace(n=1, m=1, data=np.array([1.0, 5.0]), total=2.0)
    compiled_by_us(text)(g)
    assert g.total == 7.0

    class V3(ctypes.Structure):
        _fields_ = (("x", ctypes.c_double), ("y", ctypes.c_double), ("z", ctypes.c_double))

    array = (V3 * 2)(V3(1, 2, 3), V3(4, 5, 6))
    text = f"{PARTICLES}double f(int n, struct v3 *a) {{ a[1].x = 9; return a[0].y + a[1].z; }}"
    assert compiled_by_us(text)(2, array) == 8.0
    assert array[1].x == 9


REFUSED = {
    "union u { int i; float f; }; void f(union u *a) { a->i = 1; }": "a union, whose members share",
    "struct s { union { int i; float f; } u; }; void f(struct s *a) { a->u.i = 1; }":
        "a union, whose members share",
    "struct s { int a : 3; }; void f(struct s *s) { s->a = 1; }": "a is a bit-field",
    "struct s { double a[1][1]; int n; double d[]; }; void f(struct s *s) { s->d[1] = 1; }":
        r"a member of type double\[\] cannot be modeled",
    "struct s { double *a; }; void f(int n, struct s *s) {"
        " for (int i = 0; i < n; i++) s[i].a[i] = 1; }": "s.a is reached through pointers",
    "struct s { double *a; int n; }; void f(struct s *s, struct s *t) { *s = *t; }":
        "cannot be copied: a is a pointer",
    "struct s { double *a; }; void f(struct s *s, double *b) { s->a = b; }":
        "the pointer a of a structure changes",
    "struct s { int a; }; struct s f(int n) { struct s s = {n}; return s; }":
        "struct s is returned to the caller",
    "struct __attribute__((packed)) s { char c; double a; }; void f(struct s *s) { s[1].a = 1; }":
        "a of struct s is not aligned",
    "struct s { int a, b; }; static void g(int *p) { p[1] = 2; }"
        " void f(struct s *s) { int x; g(&x); s->a = x; }": "accesses memory next to x",
    "struct s { double a[100]; }; void f(struct s *s, double x) { struct s t = {{x}}; *s = t; }":
        "which has 100 elements",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedConstruct, match=REFUSED[text]) as caught:
        compiled_by_us(text, "f")
    assert caught.value.location is not None
