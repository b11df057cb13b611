"""Which multiplications and additions of C are contracted, the same ones under every schedule."""

from __future__ import annotations

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.schedule.isl_schedule import ISL
from riselang.support.config import Options
from support.c_programs import model

N = 40
ROWS = "void f(int n, double a[n][n], double b[n][n], double c[n]) { double s, t; %s }"
CHAINS = {
    "a sum": "s = 0; for (int i = 0; i < n; i++) s += a[0][i] * b[0][i]; c[0] = s + c[0];",
    "a difference": "s = c[1]; for (int i = 0; i < n; i++) s -= a[0][i] * b[0][i]; c[0] *= s;",
    "the product on the left": "s = 0; for (int i = 0; i < n; i++) s = a[0][i] * b[0][i] + s;"
    " c[0] = s + c[0];",
    "a condition on data": "s = 0; for (int i = 0; i < n; i++) if (a[0][i] > 0)"
    " s += a[0][i] * b[0][i]; c[0] = s + c[0];",
    "a while loop": "s = 0; int i = 0; while (a[0][i] < s + 9 && i < n - 1)"
    " { s += a[0][i] * b[0][i]; i++; } c[0] = s + c[0];",
}
CONTRACTED = {
    "an accumulator that an element replaces": "for (int i = 0; i < n; i++) { s = 0;"
    " for (int k = 0; k < n; k++) s += a[i][k] * b[0][k]; c[i] = s; }",
    "an element": "for (int i = 0; i < n; i++)"
    " for (int k = 0; k < n; k++) c[i] += a[i][k] * b[0][k];",
    "a polynomial": "s = 0; for (int i = 0; i < n; i++) s = s * c[1] + a[0][i]; c[0] = s + c[0];",
    "a value of one iteration": "for (int i = 0; i < n; i++) { s = a[0][i]; s += a[1][i] * b[0][i];"
    " c[i] = s / 3; }",
    "a sum that is added to the accumulator": "s = 0; for (int i = 0; i < n; i++)"
    " s += a[0][i] * b[0][i] + a[1][i]; c[0] = s + c[0];",
}  # fmt: skip


def c_text(body: str) -> str:
    return make_program([model(ROWS % body)], Options("affine", "contract")).text("c")


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_of_additions_is_not_contracted(name: str) -> None:
    assert "fma" not in c_text(CHAINS[name])


@pytest.mark.parametrize("name", CONTRACTED)
def test_other_sums_are_contracted(name: str) -> None:
    assert c_text(CONTRACTED[name]).count("__builtin_fma") == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize("body", [*CHAINS.values(), *CONTRACTED.values()])
def test_every_schedule_contracts_the_same(body: str) -> None:
    found = []
    for schedule in ("source", ISL):
        source = np.random.default_rng(5)
        arrays = [source.random((N, N)), source.random((N, N)), source.random(N)]
        rl.from_c(ROWS % body, float="contract", schedule=schedule)(N, *arrays)
        found.append(arrays[2].tobytes())
    assert found[0] == found[1]


def test_differences_are_contracted_as_differences() -> None:
    """With integers, all results are exact."""
    text = (
        "void f(int n, double a[n], double b[n], double y[n], double z[n]) {"
        " for (int i = 0; i < n; i++) { y[i] = a[i] * b[i] - y[i]; z[i] = z[i] - a[i] * b[i]; } }"
    )
    a, b, y, z = (np.arange(5.0) + start for start in range(4))
    expected = a * b - y, z - a * b
    rl.from_c(text, float="contract")(5, a, b, y, z)
    np.testing.assert_array_equal(y, expected[0])
    np.testing.assert_array_equal(z, expected[1])
