"""Scalars that accumulate matrix multiplications become elements of temporary arrays."""

from __future__ import annotations

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.lift.lifted_function import LiftedFunction
from riselang.frontends.c.lift.scalar_expansion import expand_accumulators
from riselang.frontends.c.model.accumulators import replace_accumulators
from support.c_programs import arguments_for, model, run_by_c, same_bits

HEAD = "void f(int n, int m, int p, double x, double y, double a[n][p], double b[p][m]," \
       " double c[n][m], int k0) { %s }"  # fmt: skip
NEST = HEAD % "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { %s }"
INNER = NEST % "double s = %s; for (int k = 0; k < p; k++) s += a[i][k] * b[k][j]; %s"
GEMM = INNER % ("0", "c[i][j] = x * s + y * c[i][j];")
EXPANDED = {
    "alpha and beta": GEMM,
    "an element is added to": INNER % ("0", "c[i][j] += x * s;"),
    "a start that is not zero": INNER % ("y", "c[i][j] = s + x * c[i][j];"),
    "a start that is read": INNER % ("c[i][j] * 2", "c[i][j] = s + x * c[i][j];"),
    "two statements at the end": INNER % ("0", "c[i][j] *= y; c[i][j] += x * s;"),
    "ranges within the arrays": HEAD % (
        "for (int i = 1; i < n - 1; i++) for (int j = 2; j < m; j++) { double s = 0;"
        " for (int k = 1; k < p; k++) s += a[i][k] * b[k][j]; c[i][j] = s - c[i][j]; }"
    ),
    "a scalar outside of the loops": HEAD % (
        "double s; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { s = 0;"
        " for (int k = 0; k < p; k++) s += a[i][k] * b[k][j]; c[i][j] = s - c[i][j]; }"
    ),
    "two scalars": INNER % (
        "0",
        "double t = 1; for (int k = 0; k < p; k++) t += b[k][j] * a[i][k];"
        " c[i][j] = t * y + s * c[i][j];",
    ),
}  # fmt: skip
KEPT = {
    "a triangle": NEST % (
        "double s = 0; for (int k = 0; k < i && k < p; k++) s += a[i][k] * b[k][j];"
        " c[i][j] = s + c[i][j];"
    ),
    "a half of the elements": HEAD % (
        "for (int i = 0; i < n; i++) for (int j = 0; j <= i && j < m; j++) { double s = 0;"
        " for (int k = 0; k < p; k++) s += a[i][k] * b[k][j]; c[i][j] = s + c[i][j]; }"
    ),
    "no product": INNER.replace("* b[k][j]", "+ b[k][j]") % ("0", "c[i][j] += s;"),
    "elements of the result are factors": INNER.replace("a[i][k] *", "c[i][j] *")
    % ("0", "c[i][j] += s;"),
    "one loop around it": HEAD % (
        "for (int i = 0; i < n; i++) { double s = 0; for (int k = 0; k < p; k++)"
        " s += a[i][k] * b[k][0]; c[i][0] += s; }"
    ),
    "the scalar goes on": HEAD % (
        "double s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {"
        " for (int k = 0; k < p; k++) s += a[i][k] * b[k][j]; c[i][j] += s; }"
    ),
    "it starts at an unknown position": HEAD % (
        "for (int i = k0; i < n; i++) for (int j = 0; j < m; j++) { double s = 0;"
        " for (int k = 0; k < p; k++) s += a[i][k] * b[k][j]; c[i][j] += s; }"
    ),
}  # fmt: skip
SIZES = {"n": 6, "m": 5, "p": 7, "k0": 0}


@pytest.mark.parametrize("name", EXPANDED)
def test_products_in_scalars_are_found(name: str) -> None:
    scop = replace_accumulators(model(EXPANDED[name]))
    changed = expand_accumulators(scop)
    assert changed.inputs[: len(scop.inputs)] == scop.inputs
    assert len(changed.inputs) + len(changed.locals) == len(scop.inputs) + len(scop.locals)
    assert not changed.locals


@pytest.mark.parametrize("name", KEPT)
def test_other_scalars_stay(name: str) -> None:
    scop = replace_accumulators(model(KEPT[name]))
    assert expand_accumulators(scop) is scop


@pytest.mark.sampled(4)
@pytest.mark.parametrize("text", [*EXPANDED.values(), *KEPT.values()], ids=[*EXPANDED, *KEPT])
def test_they_give_the_bits_of_c(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LiftedFunction, "_is_profitable", lambda *_: True)
    function = rl.from_c(text, float="strict")
    scop = model(text)
    for sizes in (SIZES, {**SIZES, "n": 1, "m": 2}, {**SIZES, "p": 0}, {**SIZES, "n": 0}):
        ours = arguments_for(scop, sizes, 3)
        theirs = [each.copy() if isinstance(each, np.ndarray) else each for each in ours]
        function(*ours)
        run_by_c(text, scop, theirs)
        assert all(same_bits(mine, right) for mine, right in zip(ours, theirs, strict=True))


@pytest.mark.rotating(4)
def test_calls_with_large_matrices_run_the_product() -> None:
    function = rl.from_c(GEMM)
    assert isinstance(function, LiftedFunction)
    report = function.as_text("report")
    assert "s gets an element for each iteration of the loops around it" in report
    assert "gemm, lifted to RISE; runs as patterns" in report
    random = np.random.default_rng(1)
    a, b, c = (random.random(shape) for shape in ((200, 150), (150, 180), (200, 180)))
    expected = 1.5 * (a @ b) + 0.5 * c
    function(200, 180, 150, 1.5, 0.5, a, b, c, 0)
    np.testing.assert_allclose(c, expected, rtol=1e-12)
