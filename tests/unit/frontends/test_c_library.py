"""Products in C as calls of BLAS, and statements over whole arrays as ops of linalg."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.c_program import CProgram, make_program
from riselang.native.llvm import shared_libraries as libraries
from riselang.support.config import Options
from riselang.support.errors import UserError
from support.c_programs import KERNELS, arguments_for, model, run_by_c, same_bits
from support.c_structured import structured_function
from support.fuzzing import IS_NIGHTLY

pytestmark = pytest.mark.rotating(4)

needs_blas = pytest.mark.skipif(not libraries.is_installed(libraries.BLAS), reason="needs a BLAS")
SIZES = {"ni": 11, "nj": 13, "nk": 7, "nl": 9, "nm": 5, "nr": 3, "nq": 4, "np": 6, "n": 23, "m": 8}
FOR = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) "
SUM = "for (int k = 0; k < l; k++) "
PRODUCTS = {
    "plain": ("double C[n][m], double A[n][l], double B[l][m]", "C[i][j] += A[i][k] * B[k][j];"),
    "left turned": ("double C[n][m], double A[l][n], double B[l][m]",
                    "C[i][j] += 2.5 * A[k][i] * B[k][j];"),
    "right turned": ("double C[n][m], double A[n][l], double B[m][l]",
                     "C[i][j] += A[i][k] * B[j][k] * a;"),
    "both turned": ("float C[n][m], float A[l][n], float B[m][l]", "C[i][j] += B[j][k] * A[k][i];"),
    "result turned": ("double C[m][n], double A[n][l], double B[l][m]",
                      "C[j][i] += A[i][k] * B[k][j];"),
}  # fmt: skip


def close(text: str, sizes: dict[str, int]) -> None:
    scop = model(text)
    given = arguments_for(scop, sizes, 2)
    theirs = [each.copy() if isinstance(each, np.ndarray) else each for each in given]
    rl.from_c(text, library="blas")(*given)
    run_by_c(text, scop, theirs)
    for mine, right in zip(given, theirs, strict=True):
        np.testing.assert_allclose(mine, right, rtol=2e-5)


def with_library(text: str) -> CProgram:
    options = Options("affine", "relaxed", library="blas")
    return make_program([model(text)], options)


@needs_blas
@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("length", [5, 0])
def test_products_are_calls(name: str, length: int) -> None:
    arrays, body = PRODUCTS[name]
    text = f"void f(int n, int m, int l, double a, {arrays}) {{ {FOR} {SUM} {body} }}"
    assert "gemm(" in with_library(text).affine_text()
    close(text, {"n": 4, "m": 7, "l": length})


@needs_blas
def test_a_batch_is_a_loop_of_calls() -> None:
    arrays = "double C[3][n][m], double A[3][n][l], double B[3][l][m]"
    body = f"for (int b = 0; b < 3; b++) {FOR} {SUM} C[b][i][j] += A[b][i][k] * B[b][k][j];"
    close(f"void f(int n, int m, int l, {arrays}) {{ {body} }}", {"n": 4, "m": 7, "l": 5})


@needs_blas
@pytest.mark.parametrize(
    ("kernel", "routine"),
    [("2mm", "cblas_dgemm"), ("syrk", "cblas_dsyrk"), ("syr2k", "cblas_dsyr2k"),
     ("covariance", "cblas_dsyrk"), ("doitgen", "cblas_dgemm"), ("atax", "cblas_dgemv"),
     ("gemver", "cblas_dgemv")],
)  # fmt: skip
@pytest.mark.sampled(3)
def test_kernels_call_routines(kernel: str, routine: str) -> None:
    text = (KERNELS / f"{kernel}.c").read_text()
    assert f"call @{routine}" in with_library(text).affine_text()
    close(text, SIZES)


VECTOR = "for (int i = 0; i < n; i++) "
ROUTINES = {
    "gemv": ("double y[n], double A[n][m], double x[m]", FOR + "y[i] += A[i][j] * x[j];"),
    "gemv of the transpose":
        ("double y[n], double A[m][n], double x[m]", FOR + "y[i] = a * x[j] * A[j][i] + y[i];"),
    "gemv of a part":
        ("double y[n + 2], double A[3][n + 1][m + 2], double x[m][4]",
         FOR + "y[i + 2] += A[1][i + 1][j + 2] * 0.5 * x[j][3];"),
    "ger": ("float C[n][m], float x[n], float y[m]", FOR + "C[i][j] += 2.5f * y[j] * x[i];"),
    "ger turned": ("double C[m][n], double x[n], double y[m]", FOR + "C[j][i] += x[i] * y[j];"),
    "dot": ("double s[2], double x[n], double y[n]", VECTOR + "s[1] += x[i] * y[i] * a;"),
    "dot with itself": ("double s[1], double x[n][m]", VECTOR + "s[0] += x[i][0] * x[i][0];"),
    "axpy":
        ("double y[4000], double x[4001]", "for (int i = 0; i < 4000; i++) y[i] += a * x[i + 1];"),
    "axpy of a column":
        ("double y[4000][m], double x[4000]", "for (int i = 0; i < 4000; i++) y[i][0] += x[i];"),
}  # fmt: skip


@needs_blas
@pytest.mark.parametrize("name", ROUTINES)
@pytest.mark.parametrize("length", [5, 1, 0])
def test_routines_for_vectors_are_called(name: str, length: int) -> None:
    arrays, body = ROUTINES[name]
    text = f"void f(int n, int m, double a, {arrays}) {{ {body} }}"
    assert f"{name.split()[0]}(" in with_library(text).affine_text()
    close(text, {"n": length, "m": 3})


@needs_blas
@pytest.mark.parametrize("length", [7, 0])
def test_the_result_of_a_function_may_be_a_dot_product(length: int) -> None:
    text = """double f(int n, double x[n], double y[n]) {
      double total = 1.5;
      for (int i = 0; i < n; i++)
        total += x[i] * y[i];
      return total;
    }"""
    assert "call @cblas_ddot" in with_library(text).affine_text()
    x, y = np.arange(float(length)), np.ones(length)
    assert rl.from_c(text, library="blas")(length, x, y) == 1.5 + x.sum()


NO_ROUTINES = {
    "a difference": "double y[n], double A[n][m], double x[m]@" + FOR + "y[i] -= A[i][j] * x[j];",
    "a triangle": "double y[n], double A[n][n], double x[n]@" + VECTOR
        + "for (int j = 0; j <= i; j++) y[i] += A[i][j] * x[j];",
    "a sum into a factor": "double y[n], double A[n][n]@" + VECTOR
        + "for (int j = 0; j < n; j++) y[i] += A[i][j] * y[j];",
    "integers": "int y[n], int A[n][m], int x[m]@" + FOR + "y[i] += A[i][j] * x[j];",
    "two types": "double y[n], float x[n]@" + VECTOR + "y[i] += x[i];",
    "every second element": "double y[n], double x[2 * n]@" + VECTOR + "y[i] += x[2 * i];",
    "a quotient": "double y[n], double x[n]@" + VECTOR + "y[i] += x[i] / a;",
    "a moving window": "double y[n], double x[n + 3], double w[3]@" + VECTOR
        + "for (int j = 0; j < 3; j++) y[i] += w[j] * x[i + j];",
    "few elements": "double s[1], double x[9], double y[9]@"
        "for (int i = 0; i < 9; i++) s[0] += x[i] * y[i];",
}  # fmt: skip


@needs_blas
@pytest.mark.parametrize("name", NO_ROUTINES)
def test_what_no_routine_computes(name: str) -> None:
    arrays, body = NO_ROUTINES[name].split("@")
    text = f"void f(int n, int m, double a, {arrays}) {{ {body} }}"
    assert "cblas" not in with_library(text).affine_text()
    close(text, {"n": 6, "m": 3})


def test_a_library_needs_permission() -> None:
    with pytest.raises(UserError, match="relaxed"):
        rl.from_c(KERNELS / "gemm.c", library="blas", float="strict")


@needs_blas
@pytest.mark.parametrize("empty", ["nr", "nq", "np"])
def test_rows_through_a_small_array_where_a_length_is_zero(empty: str) -> None:
    close((KERNELS / "doitgen.c").read_text(), {**SIZES, empty: 0})


def test_lengths_that_a_routine_cannot_take_stay_loops() -> None:
    arrays, body = PRODUCTS["plain"]
    text = f"void f(long n, long m, long l, double a, {arrays}) {{ {FOR} {SUM} {body} }}"
    text = text.replace("int i", "long i").replace("int j", "long j").replace("int k", "long k")
    assert "cblas" not in with_library(text).affine_text()
    assert "exceed the largest that a routine accepts" in with_library(text).text("report")


STRUCTURED = {
    "gemm": "generic generic", "2mm": "fill generic generic matmul",
    "atax": "fill fill generic generic",
    "gemver": "generic generic generic generic", "syrk": "", "doitgen": "fill generic generic",
    "jacobi-1d": "generic generic", "jacobi-2d": "generic generic", "heat-3d": "generic generic",
    "fdtd-2d": "generic generic generic generic", "mvt": "generic generic",
    "gesummv": "fill fill generic generic generic", "covariance": "fill generic generic generic",
    "3mm": "fill fill fill matmul matmul matmul", "deriche": "generic generic",
}  # fmt: skip


@pytest.mark.parametrize("kernel", list(STRUCTURED)[:: 1 if IS_NIGHTLY else 2])
@pytest.mark.sampled(1)
def test_structured_ops_compute_the_same_bits(kernel: str) -> None:
    text = (KERNELS / f"{kernel}.c").read_text()
    scop = model(text)
    program = make_program([scop], Options("affine", "strict"), "isl")
    found = Counter(re.findall(r"linalg\.(?!yield)(\w+)", program.linalg_text()))
    assert found == Counter(STRUCTURED[kernel].split())
    function = structured_function(scop)
    given = arguments_for(scop, {**SIZES, "steps": 3}, 3)
    theirs = [each.copy() if isinstance(each, np.ndarray) else each for each in given]
    function(*given)
    run_by_c(text, scop, theirs)
    assert all(same_bits(mine, right) for mine, right in zip(given, theirs, strict=True))


@pytest.mark.parametrize("library", ["none", pytest.param("blas", marks=needs_blas)])
def test_a_region_without_statements_does_nothing(library: str) -> None:
    text = "void f(int n, double a[10]) { for (int i = 0; i < n; i++) { } }"
    function = rl.from_c(text, function="f", library=library, float="relaxed")
    a = np.ones(10)
    function(3, a)
    assert np.array_equal(a, np.ones(10))
