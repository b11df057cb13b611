"""Products in C as calls of BLAS, and statements over whole arrays as ops of linalg."""

from __future__ import annotations

import numpy as np
import pytest

import riselang as rl
from riselang import pipelines
from riselang.config import Options
from riselang.errors import UserError
from riselang.frontends.c.building import CProgram, program_of
from riselang.frontends.c.calling import CompiledCFunction
from riselang.frontends.c.entries import llvm_entry
from riselang.frontends.c.lifted import steps
from riselang.lowering.distinct import distinct_pointers
from riselang.native import libraries, llvm
from riselang.native.build import Job
from riselang.native.text import native_text
from support.c_programs import KERNELS, arguments_for, model, run_by_c, same_bits

needs_blas = pytest.mark.skipif(not libraries.is_found(libraries.BLAS), reason="needs a BLAS")
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
    return program_of([model(text)], options)


@needs_blas
@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("length", [5, 0])
def test_products_are_calls(name: str, length: int) -> None:
    arrays, body = PRODUCTS[name]
    text = f"void f(int n, int m, int l, double a, {arrays}) {{ {FOR} {SUM} {body} }}"
    assert "gemm(" in with_library(text).affine()
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
     ("covariance", "cblas_dsyrk")],
)  # fmt: skip
def test_kernels_call_routines(kernel: str, routine: str) -> None:
    text = (KERNELS / f"{kernel}.c").read_text()
    assert f"call @{routine}" in with_library(text).affine()
    close(text, SIZES)


def test_what_memory_decides_is_no_call() -> None:
    program = with_library((KERNELS / "atax.c").read_text())
    assert "cblas" not in program.affine()
    assert "memory decides" in program.text("report")


def test_a_library_needs_permission() -> None:
    with pytest.raises(UserError, match="relaxed"):
        rl.from_c(KERNELS / "gemm.c", library="blas", float="strict")


def test_lengths_that_a_routine_cannot_take_stay_loops() -> None:
    arrays, body = PRODUCTS["plain"]
    text = f"void f(long n, long m, long l, double a, {arrays}) {{ {FOR} {SUM} {body} }}"
    text = text.replace("int i", "long i").replace("int j", "long j").replace("int k", "long k")
    assert "cblas" not in with_library(text).affine()
    assert "more than a routine takes" in with_library(text).text("report")


STRUCTURED = {
    "gemm": 2, "2mm": 4, "atax": 4, "gemver": 4, "syrk": 0, "doitgen": 0, "jacobi-2d": 0, "mvt": 2,
    "gesummv": 5, "covariance": 4,
}  # fmt: skip


@pytest.mark.parametrize("kernel", STRUCTURED)
def test_structured_ops_compute_the_same_bits(kernel: str) -> None:
    text = (KERNELS / f"{kernel}.c").read_text()
    scop = model(text)
    program = program_of([scop], Options("affine", "strict"), "isl")
    assert program.linalg().count("linalg.generic") == STRUCTURED[kernel]
    vars(program)["_trees"] = [steps.with_structures(scop, "source")]
    module = program._linked(is_checked=True)
    pipeline = pipelines.cpu(threads=False, structured=True, bf16=False)
    job = Job(native_text(module), pipeline, distinct_pointers(module), llvm_entry(scop))
    function = CompiledCFunction(scop, llvm.load_objects([job.object_code()]))
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
