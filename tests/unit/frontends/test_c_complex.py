"""Complex numbers: the bits of the C compiler for finite results, from Python and from C."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.calling import CFunction
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from support.c_programs import compiled_by_us, model
from support.c_records import check_records

pytestmark = pytest.mark.rotating(6)

HEAD = "#include <complex.h>\n"
BODIES = {
    "arithmetic": "z[i] = z[i] * w[i] + a * conj(w[i]) - w[i];",
    "real operands": "z[i] = 2 * z[i] + w[i] / 4.0 - 1.5; w[i] = 3 - w[i] * 0.5;",
    "imaginary literals": "z[i] += 2.0 * I * w[i] + 3.0i;",
    "functions": "z[i] = cabs(z[i]) + creal(w[i]) * cimag(a) + conj(z[i] * w[i]);",
    "compound assignments": "z[i] *= w[i]; w[i] += a; z[i] -= 1; w[i] /= 2;",
    "negation": "z[i] = -z[i] + ~w[i];",
    "comparisons": "if (z[i] == w[i] || !a || z[i] != 3) z[i] = a; else if (w[i]) w[i] = i;",
    "conversions": "double r = z[i]; int k = w[i]; z[i] = r + k; w[i] = (double complex)k * z[i];",
    "parts": "__real__ z[i] = __imag__ w[i]; __imag__ w[i] += __real__ (z[i] * a);",
    "a choice": "z[i] = i % 2 ? z[i] : w[i];",
    "local variables": "double complex t = a; for (int k = 0; k < 3; k++) t = t * z[i] + w[k];"
        " z[i] = t; double complex u[2] = {a, 1.0}; w[i] = u[i & 1];",
    "products of sums": "z[i] = (z[i] + a) * (w[i] - a) * (z[i] - 1);",
}  # fmt: skip


def arguments(function: CFunction) -> list[Any]:
    random = np.random.default_rng(3)
    dtype = function.dtype("z")
    z, w = ((random.integers(-9, 9, (2, 5)) / 4 + 1j * random.integers(-9, 9, (2, 5)) / 8)
            .astype(dtype))  # fmt: skip
    z[2] = w[2]
    return [5, z, w, np.array(0.5 + 2j, dtype)]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("type", ["double", "float"])
def test_results_are_those_of_the_c_compiler(name: str, type: str) -> None:
    head = f"void f(int n, {type} complex *z, {type} _Complex w[n], {type} complex a)"
    body = f"for (int i = 0; i < n; i++) {{ {BODIES[name]} }}"
    schedule = "isl" if type == "double" else "source"
    check_records(f"{HEAD}{head} {{ {body} }}", arguments, schedule=schedule)


def test_python_numbers_are_arguments() -> None:
    text = f"{HEAD}double f(double complex a) {{ return creal(a * a); }}"
    assert compiled_by_us(text)(1 + 2j) == -3.0
    with pytest.raises(rl.UserError, match=r"argument a\.re: expected a number|with the member re"):
        compiled_by_us(text)("a")


REFUSED = {
    "z[0] = z[1] / z[2];": "the operator / on complex numbers",
    "z[0] = cexp(z[1]);": "cexp of complex numbers cannot be modeled",
    "double d = carg(z[1]); z[0] = d;": "carg of complex numbers cannot be modeled",
    "long double complex l = z[0]; z[1] = l;": "a value of type _Complex long double",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_is_refused(body: str) -> None:
    with pytest.raises(UnsupportedConstruct, match=REFUSED[body]):
        model(f"{HEAD}void f(double complex *z) {{ {body} }}")
