"""What is recognised, what is not and why, and the programs of what is lifted."""

from __future__ import annotations

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.lift.lifted_statements import lift_statements
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.report import describe_statement
from riselang.frontends.c.tactics.boxes import NotLifted
from riselang.frontends.c.tactics.dependence_cycles import find_cycle_structures
from riselang.frontends.c.tactics.recognition import recognize_statements
from riselang.term.nodes import Pattern, Scalar, subterms
from support.c_programs import KERNELS, arguments_for, compiled_by_us, model, same_bits

PARAMETERS = (
    "int n, int m, int l, double C[n][m], double A[n][l], double B[l][m], double x[l], double y[n],"
    " double D[n][n], double T[m][n], double z[n], double P[l][n][m], double Q[l][n][n]"
)
FOR = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) "
SUM = FOR + "for (int k = 0; k < l; k++) "
RECOGNISED = {
    SUM + "C[i][j] += A[i][k] * B[k][j];": "gemm",
    SUM + "C[i][j] = B[k][j] * A[i][k] + C[i][j];": "gemm",
    SUM + "C[i][j] += 2.5 * A[i][k] * B[k][j];": "gemm",
    "for (int i = 0; i < n; i++) for (int k = 0; k < l; k++) y[i] += A[i][k] * x[k];": "gemv",
    FOR + "C[i][j] += y[i] * T[j][0];": "elementwise",
    "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) D[i][j] += y[i] * z[j];": "ger",
    "for (int b = 0; b < l; b++) " + FOR + "for (int k = 0; k < n; k++) "
    "P[b][i][j] += Q[b][i][k] * C[k][j];": "batched gemm",
    FOR + "T[j][i] = C[i][j];": "transpose",
    FOR + "C[i][j] = 0.0;": "fill",
    FOR + "C[i][j] = C[i][j] * 2.0 + 1.0;": "elementwise",
    "for (int i = 0; i < n; i++) for (int k = 0; k < l; k++) y[i] += A[i][k];": "reduction",
    "for (int i = 1; i < n - 1; i++) z[i] = y[i - 1] + y[i + 1];": "stencil",
    "for (int i = 0; i < n - 3; i++) for (int k = 0; k < 3; k++) z[i] += x[k] * y[i + k];":
        "convolution",
    "for (int i = 0; i < n; i++) for (int k = 0; k < l; k++)"
    " y[i] = y[i] < A[i][k] ? A[i][k] : y[i];": "reduction",
    "for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) for (int k = 0; k < l; k++)"
    " D[i][j] += A[i][k] * A[j][k];": "syrk",
    # What looks like it, and is not.
    SUM + "C[i][j] -= A[i][k] * B[k][j];": None,
    SUM + "C[i][j] += A[i][k] + B[k][j];": "reduction",
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k <= j && k < l; k++)"
    " C[i][j] += A[i][k] * B[k][j];": None,
    "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)"
    " D[i][j] += D[i][k] * D[k][j];": None,
    "for (int t = 0; t < 3; t++) " + SUM + "C[i][j] += A[i][k] * B[k][j];": None,
    "for (int i = 0; i < n; i += 2) for (int j = 0; j < m; j++) for (int k = 0; k < l; k++)"
    " C[i][j] += A[i][k] * B[k][j];": None,
    "for (int i = 1; i < n - 1; i++) y[i] = y[i - 1] + y[i + 1];": None,
}  # fmt: skip


@pytest.mark.parametrize("body", RECOGNISED)
def test_what_a_statement_is(body: str) -> None:
    scop = model(f"void f({PARAMETERS}) {{ {body} }}")
    (found,) = recognize_statements(scop)
    assert found.tactic == RECOGNISED[body], describe_statement(scop, found)
    if found.tactic is None:
        assert found.reason


def test_the_nearest_tactic_is_named() -> None:
    text = f"void f({PARAMETERS}) {{ {SUM} C[i][j] -= A[i][k] * B[k][j]; }}"
    scop = model(text)
    assert "subtracts" in describe_statement(scop, recognize_statements(scop)[0])


def test_a_gemm_between_other_statements_is_found_by_distribution() -> None:
    found = recognize_statements(model((KERNELS / "gemm.c").read_text()))
    assert [each.tactic for each in found] == ["elementwise", "gemm"]
    assert found[1].outer_loops == ()


def test_loops_that_carry_dependences_stay_around() -> None:
    found = recognize_statements(model((KERNELS / "doitgen.c").read_text()))
    assert found[1].tactic == "gemv"
    assert found[1].outer_loops == ("r", "q")


@pytest.mark.rotating(3)
@pytest.mark.parametrize("backend", ["interpret", "compile"])
def test_lifted_programs_compute_what_the_loops_do(backend: str) -> None:
    """gemm after its scaling, and both products of mvt, bit by bit."""
    text = (KERNELS / "gemm.c").read_text()
    scop = model(text)
    ni, nj, nk, alpha, beta, C, A, B = arguments_for(scop, {"ni": 4, "nj": 5, "nk": 6}, 0)
    program = rl.loads(notation_of(scop), name="gemm.rise", float="strict", backend=backend)
    found = program.gemm_S1(C * beta, A, B, alpha)
    compiled_by_us(text)(ni, nj, nk, alpha, beta, C, A, B)
    assert same_bits(np.asarray(found), C)


def notation_of(scop: Scop) -> str:
    return "\n".join(f"def {each.name} =\n{each.term}" for each in lift_statements([scop]))


NOT_LIFTED = {
    "for (int i = 1; i < n - 1; i++) y[i] = y[i - 1] + y[i + 1];": "other iterations",
    "for (int i = 0; i < n - 1; i++) y[i] = y[i + 1];": "other iterations",
    "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) D[i][j] = z[j];": "box",
    "for (int i = 0; i < n; i += 2) z[i] = y[i];": "the loop over i has a step of 2",
    "for (int i = 0; i < n; i++) if (i % 3 != 1) z[i] = y[i];": "a remainder or quotient",
    "if (l > 3) for (int i = 0; i < n; i++) z[i] = y[i];": "a condition on parameters",
    "for (int i = 0; i < n; i++) if (i != 3) z[i] = y[i];": "minimum or maximum",
    "for (int i = 0; i < n; i++) for (int k = 0; k < l; k++) y[i] = A[i][k];": "repeats it",
    "for (int i = 0; i < n; i++) for (int k = l - 1; k >= 0; k--) y[i] += A[i][k];": "downward",
    "for (int i = 0; i < n; i++) for (int k = 0; k < l; k++) y[i] = y[i] - A[i][k];": "subtracts",
    "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) D[i][j] += D[j][i];": "D",
    "for (int i = 0; i < n; i++) y[0] += y[i];": "also read by the reduction",
    "for (int i = 0; i < n; i++) z[i] = D[i][i];": "two dimensions",
    "for (int i = 0; i < n; i++) D[i][i] = z[i];": "loop of its own",
    "for (int i = 0; i < n; i++) z[i] = i;": "depends on a loop variable",
    "for (int i = 0; i < n; i++) z[i] = i > 0 ? y[i - 1] : 0.0;": "depends on a loop variable",
    "for (int i = 0; i < n; i++) z[i] = y[i] < 1.0 ? y[i + l] : 0.0;": "depends on a condition",
    "for (int i = 0; i < n; i++) z[i] = y[i / 2];": "quotient",
    "for (int i = 0; i < n; i++) z[i] = (int)y[i];": "converts a float to an integer",
    "for (int i = 0; i < n; i++) z[i] = y[(int)z[i]];": "not affine",
    "for (int i = 0; i < n; i++) if (y[i] > 0.0) z[i] = y[i];": "data-dependent",
    "for (int i = 0; i < l; i++) for (int k = 0; k < 4; k++) x[i] += y[2 * i + 2 * k];": "step one",
}  # fmt: skip


@pytest.mark.parametrize("body", NOT_LIFTED)
def test_what_is_never_lifted(body: str) -> None:
    scop = model(f"void f({PARAMETERS}) {{ {body} }}")
    assert lift_statements([scop]) == []
    assert NOT_LIFTED[body] in describe_statement(scop, recognize_statements(scop)[0])


def test_a_condition_in_a_dependence_cycle_is_found() -> None:
    scop = model(
        f"void f({PARAMETERS}) {{ for (int t = 0; t < l; t++) {{"
        " if (m > 3) for (int i = 0; i < n; i++) z[i] = y[i] + A[i][t];"
        " for (int i = 0; i < n; i++) y[i] = z[i] * 0.5; } }"
    )
    with pytest.raises(NotLifted, match="only if a condition on parameters holds"):
        find_cycle_structures(scop, [each.name for each in scop.statements])


def test_products_of_any_layout_are_lifted() -> None:
    text = (KERNELS / "mvt.c").read_text()
    scop = model(text)
    n, x1, x2, y1, y2, A = arguments_for(scop, {"n": 7}, 1)
    program = rl.loads(notation_of(scop), name="mvt.rise", float="strict", backend="interpret")
    first, second = program.mvt_S0(x1, A, y1), program.mvt_S1(x2, A, y2)
    compiled_by_us(text)(n, x1, x2, y1, y2, A)
    assert same_bits(np.asarray(first), x1)
    assert same_bits(np.asarray(second), x2)


def test_products_stay_grouped_as_they_are() -> None:
    scop = model(f"void f({PARAMETERS}) {{ {SUM} C[i][j] += 2.0 * (A[i][k] * B[k][j]); }}")
    (found,) = recognize_statements(scop)
    assert found.tactic == "gemm"
    assert "total + 2.0_f64 * (fst(x2) * snd(x2))" in notation_of(scop)


def test_a_sum_in_a_variable_is_lifted() -> None:
    text = """double f(int n, double x[n]) {
      double total = 0.0;
      for (int i = 0; i < n; i++)
        total += x[i] * x[i];
      return total;
    }"""
    program = rl.loads(notation_of(model(text)), name="f.rise", float="strict")
    assert program.f_S1(1.5, np.arange(4.0)) == 15.5


def test_parts_of_programs_are_located_in_c() -> None:
    text = """void scale(int n, double x[n], double y[n], double a) {
      for (int i = 0; i < n; i++)
        y[i] = a *
               x[i];
    }"""
    (program,) = lift_statements([model(text)])
    places = {type(part): str(part.location) for part in subterms(program.term) if part.location}
    assert places[Pattern] == "test.c:2:7"
    assert places[Scalar] == "test.c:3:16"
    assert str(program.term.location) == "test.c:3:9"


@pytest.mark.parametrize("number", ["1e39f", "(float)1e39", "1.0 / 0.0 + 1e999"])
def test_numbers_that_are_not_finite_are_not_lifted(number: str) -> None:
    scop = model(f"void f(int n, float x[n]) {{ for (int i = 0; i < n; i++) x[i] = {number}; }}")
    assert lift_statements([scop]) == []
    assert "not finite" in describe_statement(scop, recognize_statements(scop)[0])
