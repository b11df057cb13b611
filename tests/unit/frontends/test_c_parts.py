"""Loops over parts of arrays, such as `double a[1000][1100]` with loops to n and m, when lifted."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.calling import CFunction
from riselang.frontends.c.lift.lifted_function import LiftedFunction, PatternFunction
from riselang.frontends.c.lift.lifted_statements import lift_statements
from riselang.frontends.c.lift.product_step import ProductStep
from riselang.frontends.c.report import describe_statement, format_report
from riselang.frontends.c.tactics.loop_fission import split_region
from riselang.frontends.c.tactics.recognition import recognize_statements
from riselang.native.llvm import shared_libraries as libraries
from riselang.support.config import Options
from riselang.support.errors import UserError
from support.c_programs import KERNELS, arguments_for, enlarged, model, run_by_c, same_bits

pytestmark = pytest.mark.rotating(4)

needs_blas = pytest.mark.skipif(not libraries.is_installed(libraries.BLAS), reason="needs a BLAS")
SIZES = {"ni": 7, "nj": 6, "nk": 5, "nl": 8, "nm": 5, "nr": 3, "nq": 4, "np": 6, "n": 7, "m": 6,
         "w": 8, "h": 7, "steps": 2, "nx": 8, "ny": 9, "l": 5}  # fmt: skip
LOOPS = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) "
SUM = "for (int k = 0; k < l; k++) "
PARAMETERS = "int n, int m, int l, double a, double C[9][11], double A[9][12], double B[12][11]"


def constant_kernel(name: str) -> tuple[str, dict[str, int]]:
    """A kernel whose arrays have constant lengths, some longer than its loops."""
    text = (KERNELS / f"{name}.c").read_text()
    used = {k: v for k, v in SIZES.items() if re.search(rf"\bint {k}[,)]", text)}
    return enlarged(text, used, 2), used


def run_both(text: str, function: CFunction, sizes: dict[str, int]) -> list[tuple[Any, Any]]:
    """Pairs of the arrays that we and the C compiler leave."""
    scop = model(text)
    ours = arguments_for(scop, sizes, 3)
    theirs = [each.copy() if isinstance(each, np.ndarray) else each for each in ours]
    function(*ours)
    run_by_c(text, scop, theirs)
    return list(zip(ours, theirs, strict=True))


def reports(text: str) -> list[str]:
    scop = model(text)
    return [describe_statement(scop, each) for each in recognize_statements(scop)]


@pytest.mark.parametrize("name", ["gemm", "2mm", "jacobi-2d", "atax", "fdtd-2d", "gemver"])
def test_as_many_statements_are_lifted_as_with_parameters_as_lengths(name: str) -> None:
    plain = lift_statements([model((KERNELS / f"{name}.c").read_text())])
    constant = lift_statements([model(constant_kernel(name)[0])])
    assert [each.tactic for each in constant] == [each.tactic for each in plain]


@pytest.mark.parametrize("name", ["gemm", "jacobi-1d", "mvt", "doitgen"])
def test_programs_of_parts_have_the_same_bits(name: str) -> None:
    text, sizes = constant_kernel(name)
    function = rl.from_c(text, float="strict", schedule="patterns")
    assert isinstance(function, PatternFunction)
    assert all(same_bits(mine, right) for mine, right in run_both(text, function, sizes))


PRODUCTS = {
    "to parameters": LOOPS + SUM + "C[i][j] += A[i][k] * B[k][j];",
    "after zeros": LOOPS + "{ C[i][j] = 0.0; " + SUM + "C[i][j] += A[i][k] * B[k][j]; }",
    "with first indices": "for (int i = 2; i < n; i++) for (int j = 1; j < m + 1; j++)"
        " for (int k = 3; k < l + 2; k++) C[i][j] += a * A[i][k] * B[k][j];",
    "of one array": "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) " + SUM
        + "C[i][j] += A[i][k] * A[j][k];",
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("length", [5, 0])
def test_products_of_parts_have_the_same_bits(
    name: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProductStep, "is_profitable", lambda *_: True)
    text = f"void f({PARAMETERS}) {{ {PRODUCTS[name]} }}"
    function = rl.from_c(text, float="strict")
    assert isinstance(function, LiftedFunction)
    pairs = run_both(text, function, {"n": 7, "m": 6, "l": length})
    assert all(same_bits(mine, right) for mine, right in pairs)


@needs_blas
@pytest.mark.parametrize("name", PRODUCTS)
def test_routines_take_leading_dimensions(name: str) -> None:
    text = f"void f({PARAMETERS}) {{ {PRODUCTS[name]} }}"
    function = rl.from_c(text, library="blas")
    assert "library call" in library_report(text)
    for mine, right in run_both(text, function, {"n": 7, "m": 6, "l": 5}):
        np.testing.assert_allclose(mine, right, rtol=1e-12)


def library_report(text: str) -> str:
    return format_report(model(text), Options("affine", "relaxed", library="blas"))


@pytest.mark.sampled(2)
@needs_blas
@pytest.mark.parametrize("name", ["syrk", "syr2k", "doitgen", "gesummv"])
def test_other_routines_take_leading_dimensions(name: str) -> None:
    text, sizes = constant_kernel(name)
    assert "library call" in library_report(text)
    function = rl.from_c(text, library="blas")
    for mine, right in run_both(text, function, sizes):
        np.testing.assert_allclose(mine, right, rtol=1e-12)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["syrk", "syr2k"])
def test_a_half_of_a_part(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProductStep, "is_profitable", lambda *_: True)
    text, sizes = constant_kernel(name)
    function = rl.from_c(text, float="relaxed")
    assert isinstance(function, LiftedFunction)
    for mine, right in run_both(text, function, sizes):
        np.testing.assert_allclose(mine, right, rtol=1e-11)


def test_lengths_may_be_sums() -> None:
    arrays = "double C[n + 0][m + 0], double A[n][l], double B[l][m]"
    text = f"void f(int n, int m, int l, {arrays}) {{ {PRODUCTS['to parameters']} }}"
    assert reports(text) == ["gemm, lifted to RISE"]
    assert [part.names for part in split_region(model(text)) if part.product] == [("S0",)]


def test_the_report_names_the_arrays_that_are_cut() -> None:
    text = "void f(int n, double y[50], double x[n]) { for (int i = 0; i < n; i++) y[i] = x[i]; }"
    assert reports(text) == ["copy, lifted to RISE"]
    text = text.replace("x[n]", "x[50]")
    assert reports(text) == ["copy, lifted to RISE for parts of x"]


def test_pointers_have_parts() -> None:
    text = "void f(int n, double *y, double *x) { for (int i = 1; i < n; i++) y[i] = 2.0 * x[i]; }"
    assert reports(text) == ["elementwise, lifted to RISE for parts of x"]
    function = rl.from_c(text, schedule="patterns")
    assert isinstance(function, PatternFunction)
    y, x = np.zeros((2, 3)), np.arange(8.0)
    function(5, y, x)
    assert y.tolist() == [[0.0, 2.0, 4.0], [6.0, 8.0, 0.0]]


def test_windows_at_unrelated_indices_are_not_parts() -> None:
    text = """void f(int n, int m, double y[50], double x[50]) {
      for (int i = 0; i < n; i++) y[i] = x[i] + x[i + m];
    }"""
    assert reports(text) == [
        "affine map, not lifted (m is not the length of an array that it reads)"
    ]


def test_loops_beyond_the_array_are_an_error() -> None:
    text = f"void f({PARAMETERS}) {{ {PRODUCTS['to parameters']} }}"
    given = [7, 12, 5, 1.0, np.zeros((9, 11)), np.zeros((9, 12)), np.zeros((12, 11))]
    with pytest.raises(UserError, match=r"element .* is accessed, but the array has shape"):
        rl.from_c(text, schedule="patterns")(*given)


def test_what_runs_under_a_condition_is_not_lifted() -> None:
    text = """void f(int n, int k, double y[n], double x[n]) {
      if (k > 0)
        for (int i = 0; i < n; i++) y[i] = x[i];
    }"""
    y = np.zeros(3)
    rl.from_c(text, schedule="patterns")(3, 0, y, np.ones(3))
    assert y.tolist() == [0.0, 0.0, 0.0]


def test_rows_that_are_copied_in_part_are_no_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProductStep, "is_profitable", lambda *_: True)
    text = (KERNELS / "doitgen.c").read_text()
    last = text.rindex("p < np")
    text = text[:last] + "p < np - 1" + text[last + len("p < np") :]
    pairs = run_both(text, rl.from_c(text, float="strict"), {"nr": 3, "nq": 4, "np": 6})
    assert all(same_bits(mine, right) for mine, right in pairs)
