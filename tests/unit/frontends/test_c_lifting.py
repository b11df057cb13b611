"""Products of matrices in C that run as patterns: the same bits, or the same within rounding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.calling import CFunction
from riselang.frontends.c.lift.costs import (
    LIBRARY_CALL,
    LOOP_CODE,
    PATTERN_CODE,
    Workload,
    cheapest,
)
from riselang.frontends.c.lift.lifted_function import LiftedFunction, PatternFunction
from riselang.frontends.c.lift.product_step import ProductStep
from riselang.frontends.c.tactics.loop_fission import split_region
from riselang.frontends.c.tactics.row_products import RowProduct
from riselang.runtime import code_cache
from riselang.support.errors import UserError
from support.c_programs import KERNELS, arguments_for, model, run_by_c, same_bits
from support.pairwise import each_once

pytestmark = pytest.mark.rotating(4)

NIGHTLY = pytest.mark.nightly
SIZES = {"ni": 11, "nj": 13, "nk": 7, "nl": 9, "nm": 5, "nr": 3, "nq": 4, "np": 6, "n": 53, "m": 8}
MATRICES = "int n, int m, int l, double a, double C[n][m], double A[n][l], double B[l][m]"
FOR = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) "
SUM = "for (int k = 0; k < l; k++) "


@pytest.fixture
def lifted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns also for sizes that are too small for them."""
    monkeypatch.setattr(ProductStep, "is_profitable", lambda *_: True)


def loaded(text: str, float: str) -> CFunction:
    return rl.from_c(text, float=float)


def both(text: str, float: str, sizes: Mapping[str, int]) -> tuple[CFunction, list[Any], list[Any]]:
    """The function, and the arrays that it and the C compiler's leave."""
    scop = model(text)
    function = loaded(text, float)
    given = arguments_for(scop, sizes, 1)
    theirs = [each.copy() if isinstance(each, np.ndarray) else each for each in given]
    function(*given)
    run_by_c(text, scop, theirs)
    return function, given, theirs


def names(text: str) -> list[tuple[str, ...]]:
    """The statements of the parts that are products."""
    return [part.names for part in split_region(model(text)) if part.product is not None]


@pytest.mark.usefixtures("lifted")
@pytest.mark.parametrize("kernel", ["3mm", "doitgen", "2mm", "gemm"])
def test_sums_are_lifted_with_the_same_bits(kernel: str) -> None:
    function, ours, theirs = both((KERNELS / f"{kernel}.c").read_text(), "strict", SIZES)
    assert isinstance(function, LiftedFunction)
    assert all(same_bits(mine, right) for mine, right in zip(ours, theirs, strict=True))


@pytest.mark.usefixtures("lifted")
@pytest.mark.parametrize(
    "kernel", ["syrk", *(pytest.param(name, marks=NIGHTLY) for name in ("syr2k", "covariance"))]
)
def test_half_of_a_matrix_needs_permission(kernel: str) -> None:
    text = (KERNELS / f"{kernel}.c").read_text()
    assert not isinstance(loaded(text, "contract"), LiftedFunction)
    function, ours, theirs = both(text, "relaxed", SIZES)
    assert isinstance(function, LiftedFunction)
    for mine, right in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-11)


VARIANTS = {
    "both turned": (
        "int n, int m, int l, double C[n][m], double A[l][n], double B[m][l]",
        f"{FOR} {{ C[i][j] = 0.0; {SUM} C[i][j] += A[k][i] * B[j][k]; }}",
    ),
    "a batch": (
        "int n, int m, int l, double C[3][n][m], double A[3][n][l], double B[3][l][m]",
        f"for (int b = 0; b < 3; b++) {FOR} {{ C[b][i][j] = 0.0;"
        f" {SUM} C[b][i][j] += A[b][i][k] * B[b][k][j]; }}",
    ),
    "several rows and sums": (
        "int n, int m, int l, double C[3][n][m], double A[3][n][2][l], double B[2][l][m]",
        f"for (int b = 0; b < 3; b++) {FOR} {{ C[b][i][j] = 0.0; for (int s = 0; s < 2; s++)"
        f" {SUM} C[b][i][j] += A[b][i][s][k] * B[s][k][j]; }}",
    ),
    "numbers before the last factor": (
        MATRICES, f"{FOR} {{ C[i][j] = 0.0; {SUM} C[i][j] += 3.0 * A[i][k] * a * B[k][j]; }}",
    ),
    "the columns first": (
        MATRICES, f"{FOR} {{ C[i][j] = 0.0; {SUM} C[i][j] += a * B[k][j] * A[i][k]; }}",
    ),
    "on what is there": (MATRICES, f"{FOR} {SUM} C[i][j] += A[i][k] * B[k][j];"),
    "scaled, on what is there": (
        MATRICES, f"{FOR} {{ C[i][j] *= a; {SUM} C[i][j] += a * A[i][k] * B[k][j]; }}",
    ),
    "of floats": (
        MATRICES.replace("double", "float"),
        f"{FOR} {{ C[i][j] = 0.0f; {SUM} C[i][j] += A[i][k] * B[k][j]; }}",
    ),
}  # fmt: skip


@pytest.mark.usefixtures("lifted")
@pytest.mark.parametrize("name", VARIANTS)
def test_variants_have_the_same_bits(name: str) -> None:
    parameters, body = VARIANTS[name]
    text = f"void f({parameters}) {{ {body} }}"
    function, ours, theirs = both(text, "strict", {"n": 5, "m": 7, "l": 4})
    assert isinstance(function, LiftedFunction)
    assert all(same_bits(mine, right) for mine, right in zip(ours, theirs, strict=True))


@pytest.mark.usefixtures("lifted")
@pytest.mark.parametrize("empty", ["n", "m", "l"])
def test_nothing_is_summed_where_a_length_is_zero(empty: str) -> None:
    text = (
        f"void f({MATRICES}) {{ {FOR} {{ C[i][j] = 0.0; {SUM} C[i][j] += A[i][k] * B[k][j]; }} }}"
    )
    _, ours, theirs = both(text, "strict", {"n": 3, "m": 4, "l": 5, empty: 0})
    assert all(same_bits(mine, right) for mine, right in zip(ours, theirs, strict=True))


NEVER = {
    "a difference": FOR + SUM + "C[i][j] -= A[i][k] * B[k][j];",
    "a triangle of another kind":
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k <= i; k++)"
        " if (k < l) C[i][j] += A[i][k] * B[k][j];",
    "a sum into a factor":
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)"
        " D[i][j] += D[i][k] * D[k][j];",
    "under a condition": "if (m > 3) " + FOR + SUM + "C[i][j] += A[i][k] * B[k][j];",
    "every second row":
        "for (int i = 0; i < n; i += 2) for (int j = 0; j < m; j++) " + SUM
        + "C[i][j] += A[i][k] * B[k][j];",
    "repeated": "for (int t = 0; t < 2; t++) " + FOR + SUM + "C[i][j] += A[i][k] * B[k][j];",
    "a sum that is read inside": "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) " + SUM
        + "{ C[i][j] += A[i][k] * B[k][j]; D[i][0] = C[i][j]; }",
    "a quotient": FOR + SUM + "C[i][j] += A[i][k] / B[k][j];",
}  # fmt: skip


@pytest.mark.parametrize("name", NEVER)
def test_what_is_never_a_product(name: str) -> None:
    assert names(f"void f({MATRICES}, double D[n][n]) {{ {NEVER[name]} }}") == []


def test_a_sum_that_runs_downwards_is_not_lifted_without_permission() -> None:
    body = (
        f"{FOR} {{ C[i][j] = 0.0; for (int k = l - 1; k >= 0; k--) C[i][j] += A[i][k]*B[k][j]; }}"
    )
    text = f"void f({MATRICES}) {{ {body} }}"
    assert not isinstance(loaded(text, "strict"), LiftedFunction)
    assert isinstance(loaded(text, "relaxed"), LiftedFunction)


def test_a_number_behind_the_factors_needs_permission() -> None:
    text = f"void f({MATRICES}) {{ {FOR} {{ C[i][j]=0.0; {SUM} C[i][j] += A[i][k]*B[k][j]*a; }} }}"
    assert not isinstance(loaded(text, "strict"), LiftedFunction)
    assert isinstance(loaded(text, "relaxed"), LiftedFunction)


ROWS = "int n, int m, double A[n][m], double C[m][m], double s[m]"
BY_ROWS = (
    "for (int r = 0; r < n; r++) {{ for (int p = 0; p < m; p++) {{ s[p] = {start};"
    " for (int k = 0; k < m; k++) s[p] += A[{read}][k] * C[k][p]; }}"
    " for (int p = 0; p < m; p++) A[r][p] = s[p]; }}"
)


@pytest.mark.parametrize(
    ("start", "read", "is_product"),
    [("0.0", "r", True), ("1.0", "r", False), ("0.0", "0", False), ("0.0", "r > 0 ? r - 1 : 0", 0)],
)
def test_a_product_row_by_row(start: str, read: str, is_product: bool) -> None:
    parts = split_region(model(f"void f({ROWS}) {{ {BY_ROWS.format(start=start, read=read)} }}"))
    assert any(isinstance(part.product, RowProduct) for part in parts) == bool(is_product)


WINDOWS = {
    "pooling": (
        "int n, double y[n][n], double x[2 * n][2 * n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < 2; k++)"
        " for (int l = 0; l < 2; l++)"
        " y[i][j] = y[i][j] < x[2 * i + k][2 * j + l] ? x[2 * i + k][2 * j + l] : y[i][j];",
    ),
    "backwards": (
        "int n, double y[n][n], double x[n + 6][n + 6], double w[7][7]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < 7; k++)"
        " for (int l = 0; l < 7; l++) y[i][j] += w[k][l] * x[i - k + 6][j + 6 - l];",
    ),
    "convolution": (
        "int n, double y[n + 2][n], double x[n + 6][n + 6], double w[7][7]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < 7; k++)"
        " for (int l = 0; l < 7; l++) y[i + 1][j] += w[k][l] * x[i + k][j + l];"
        " for (int i = 0; i < n; i++) y[0][i] = y[1][i];",
    ),
}  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_run_as_patterns_where_they_are_many(name: str) -> None:
    parameters, body = WINDOWS[name]
    text = f"void f({parameters}) {{ {body} }}"
    for size in (150, 40, 3):
        function, ours, theirs = both(text, "strict", {"n": size})
        assert isinstance(function, LiftedFunction)
        assert all(same_bits(mine, right) for mine, right in zip(ours, theirs, strict=True))


@pytest.mark.rotating(7)
def test_what_memory_decides_runs_as_loops() -> None:
    for kernel in ("atax", "jacobi-2d", "gemver", "fdtd-2d"):
        text = (KERNELS / f"{kernel}.c").read_text()
        assert not isinstance(loaded(text, "relaxed"), LiftedFunction)


@pytest.mark.parametrize("kernel", ["jacobi-2d", "heat-3d", "fdtd-2d", "doitgen", "gemver", "trmm"])
@pytest.mark.parametrize("size", [6, pytest.param(1, marks=NIGHTLY)])
def test_every_statement_as_a_program(kernel: str, size: int) -> None:
    text = (KERNELS / f"{kernel}.c").read_text()
    function = rl.from_c(text, float="strict", schedule="patterns")
    assert isinstance(function, PatternFunction)
    scop = model(text)
    given = arguments_for(scop, {**dict.fromkeys(SIZES, size), "nx": size, "ny": size}, 4)
    theirs = [each.copy() if isinstance(each, np.ndarray) else each for each in given]
    function(*given)
    run_by_c(text, scop, theirs)
    assert all(same_bits(mine, right) for mine, right in zip(given, theirs, strict=True))


def test_columns_are_read_in_a_loop_that_stays_regression() -> None:
    """A column lies apart, and programs were given it as it lies."""
    text = """
    void f(int n, int m, double x[n][m], double y[n], double z[n]) {
    #pragma scop
      for (int t = 0; t < m; t++) {
        for (int i = 0; i < n; i++) y[i] = z[i] + x[i][t];
        for (int i = 0; i < n; i++) z[i] = y[i] * 0.5;
      }
    #pragma endscop
    }
    """
    function = rl.from_c(text, float="strict", schedule="patterns")
    assert isinstance(function, PatternFunction)
    scop = model(text)
    given = arguments_for(scop, {"n": 4, "m": 3}, 4)
    theirs = [each.copy() if isinstance(each, np.ndarray) else each for each in given]
    function(*given)
    run_by_c(text, scop, theirs)
    assert all(same_bits(mine, right) for mine, right in zip(given, theirs, strict=True))


def test_arrays_that_share_memory_are_rejected() -> None:
    body = "for (int i = 1; i < n; i++) y[i] = x[i - 1];"
    text = f"void f(int n, double y[n], double x[n]) {{ {body} }}"
    function = rl.from_c(text, schedule="patterns")
    x = np.arange(5.0)
    with pytest.raises(UserError, match="share memory"):
        function(5, x, x)


@pytest.mark.rotating(6)
def test_small_calls_run_as_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProductStep, "run", None)
    _, ours, theirs = both((KERNELS / "3mm.c").read_text(), "strict", SIZES)
    assert all(same_bits(mine, right) for mine, right in zip(ours, theirs, strict=True))


HALVES = {
    "lower": "for (int j = 0; j <= i; j++)",
    "upper": "for (int j = i; j < n; j++)",
}


@pytest.mark.usefixtures("lifted")
@pytest.mark.parametrize(
    ("half", "type", "size"), each_once(HALVES, ["double", "float"], [1, 47, 48, 49, 150])
)
@pytest.mark.sampled(2)
def test_half_of_a_product_in_panels(half: str, type: str, size: int) -> None:
    """Rows that no block divides, both halves, factors that lie the other way round."""
    text = f"""void f(int n, int m, {type} a, {type} C[n][n], {type} A[n][m], {type} B[m][n]) {{
      for (int i = 0; i < n; i++) {HALVES[half]} for (int k = 0; k < m; k++)
        C[i][j] += a * A[i][k] * B[k][j]; }}"""
    function, ours, theirs = both(text, "relaxed", {"n": size, "m": 31})
    assert isinstance(function, LiftedFunction)
    for mine, right in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-4 if type == "float" else 1e-12)
    untouched = np.triu_indices(size, 1) if half == "lower" else np.tril_indices(size, -1)
    before = arguments_for(model(text), {"n": size, "m": 31}, 1)
    assert same_bits(ours[3][untouched], before[3][untouched])


@pytest.mark.usefixtures("lifted")
def test_half_of_a_product_is_compiled_once_for_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    function = loaded((KERNELS / "syrk.c").read_text(), "relaxed")
    for size in (30, 60):
        given = arguments_for(model((KERNELS / "syrk.c").read_text()), {"n": size, "m": size}, 1)
        function(*given)
        monkeypatch.setattr(code_cache, "find_or_compile", lambda *_: pytest.fail("compiled again"))


def test_the_cost_model() -> None:
    product = Workload(1000**3, 3 * 1000**2, 1000**2, 8)
    vector = Workload(1000**2, 1000**2 + 2000, 1000, 8)
    tiny = Workload(4**3, 3 * 4**2, 4**2, 8)
    assert cheapest(product, (LOOP_CODE, PATTERN_CODE)) is PATTERN_CODE
    assert cheapest(product, (LOOP_CODE, LIBRARY_CALL)) is LIBRARY_CALL
    assert cheapest(vector, (LOOP_CODE, LIBRARY_CALL)) is LIBRARY_CALL
    assert vector.estimate_cycles(LOOP_CODE) < 1.5 * vector.estimate_cycles(LIBRARY_CALL)
    assert cheapest(Workload(100**2, 100**2 + 200, 100, 8), (LOOP_CODE, LIBRARY_CALL)) is LOOP_CODE
    assert cheapest(tiny, (LOOP_CODE, LIBRARY_CALL)) is LOOP_CODE
