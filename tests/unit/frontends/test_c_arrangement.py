"""Loops that suit the machine: what they are made of, and that every step is proven."""

from __future__ import annotations

import pytest

from riselang.dialects.module import parse_module, verify_module
from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.schedule.dependence_queries import (
    dependence_edges,
    is_parallel,
    preserves_dependences,
    strongly_connected_components,
)
from riselang.frontends.c.schedule.isl_schedule import loop_ast
from riselang.frontends.c.schedule.rows import independent_rows, row_direction
from riselang.frontends.c.schedule.statement_loops import remaining_rows
from riselang.frontends.c.schedule.strides import Stride, access_strides
from riselang.support.config import Options
from support.c_programs import KERNELS, check_same, model

i, j = Linear.of("i"), Linear.of("j")


def arranged(text: str) -> str:
    """The MLIR of a function whose loops are arranged."""
    return make_program([model(text)], Options("affine", "strict"), "isl").affine_text()


def test_statements_in_cycles_stay_together_and_others_keep_their_order() -> None:
    known = {("A", "B"), ("B", "C"), ("C", "B"), ("C", "D")}
    assert strongly_connected_components(["D", "C", "B", "A"], known) == [["A"], ["C", "B"], ["D"]]


NEST = (
    "void f(int n, double a[n][n]) { for (int i = 1; i < n; i++) for (int j = 1; j < n; j++) %s }"
)


def test_a_skewed_row_moves_both_iterators() -> None:
    statement = model(NEST % "a[i][j] = a[i - 1][j];").statements[0]
    assert row_direction([i + j, j], 1, statement) == {"i": -1, "j": 1}
    assert row_direction([i + i, j], 0, statement) is None, "every second value is none of i"
    assert independent_rows([i, i + i, j], statement) == (i, j)


def test_strides_along_rows_and_columns() -> None:
    statement = model(NEST % "a[i][j] = a[0][i];").statements[0]
    found = {str(a.indices): s for a, s in (access_strides(statement, [i, j], 1) or {}).items()}
    assert sorted(stride.name for stride in found.values()) == ["NEXT", "STAYS"]
    along_columns = access_strides(statement, [i, j], 0) or {}
    assert Stride.FAR in along_columns.values()


def test_an_order_is_kept_or_not() -> None:
    scop = model(NEST % "a[i][j] = a[i - 1][j];")
    pairs = dependences(scop)
    assert pairs is not None
    assert preserves_dependences(scop, pairs.all, {"S0": (i, j)}, strictly=True)
    assert preserves_dependences(scop, pairs.all, {"S0": (j, i)}, strictly=True)
    assert not preserves_dependences(scop, pairs.all, {"S0": (-i, j)}, strictly=False)
    assert is_parallel(scop, pairs.all, {"S0": (i, j)})
    assert not is_parallel(scop, pairs.all, {"S0": (j, i)})
    assert dependence_edges(pairs.all) == set()


def test_rows_of_an_array_are_computed_in_vectors() -> None:
    text = arranged("void f(int n, double x[n], double y[n]) { for (int i = 0; i < n; i++) "
                    "y[i] = 2.0 * x[i] + y[i]; }")  # fmt: skip
    assert "vector.store" in text


def test_what_depends_on_the_iteration_before_is_not() -> None:
    text = arranged("void f(int n, double y[n]) { for (int i = 1; i < n; i++) "
                    "y[i] = 2.0 * y[i - 1]; }")  # fmt: skip
    assert "vector" not in text


SUMS = "void f(int n, double x[n], double y[n]) { for (int i = 0; i < n; i++) for (int j = 0; %s }"


@pytest.mark.rotating(3)
def test_a_sum_stays_in_a_register_where_nothing_else_is_that_element() -> None:
    assert "iter_args" in arranged(SUMS % "j < n; j++) y[i] += x[j];")
    assert "iter_args" in arranged(SUMS % "j < i; j++) y[i] += y[j];")
    assert "iter_args" not in arranged(SUMS % "j <= i; j++) y[i] += y[j];")


@pytest.mark.rotating(3)
def test_a_sum_that_is_also_read_is_right() -> None:
    check_same(SUMS % "j <= i; j++) y[i] += y[j] * x[j];", "f", {"n": 21}, schedule="isl")
    check_same(SUMS % "j < i; j++) y[i] += y[j] * x[j];", "f", {"n": 21}, schedule="isl")


@pytest.mark.rotating(3)
def test_a_matrix_product_has_tiles_of_registers() -> None:
    tree = loop_ast(model((KERNELS / "gemm.c").read_text()), "isl").to_C_str()
    assert "S1(4 * t2_ + 3, 4 * t3_ + 3, t4_);" in tree


def test_what_is_overwritten_is_a_dependence() -> None:
    scop = model("void f(int n, double a[n], double b[n]) { for (int i = 0; i < n - 1; i++) "
                 "{ a[i] = b[i + 1]; b[i] = 0.0; b[0] = 1.0; } }")  # fmt: skip
    found = dependences(scop)
    assert found is not None
    assert not found.anti.is_subset(found.flow)
    assert found.anti.is_subset(found.all)
    assert found.output.is_subset(found.all)


DOWN = """void f(int n, double v[n][n], double p[n][n], double q[n][n]) {
  for (int i = 0; i < n; i++) for (int j = n - 2; j >= 0; j--)
    v[j][i] = p[i][j] * v[j + 1][i] + q[i][j]; }"""


def test_downwards_is_along_memory_too() -> None:
    statement = model(NEST % "a[i][j] = a[i][j - 1];").statements[0]
    assert set((access_strides(statement, [i, -j], 1) or {}).values()) == {Stride.BACK}
    assert set((access_strides(statement, [i, j], 1) or {}).values()) == {Stride.NEXT}


@pytest.mark.rotating(3)
def test_chains_that_read_lines_of_the_cache_together_stand_side_by_side() -> None:
    tree = loop_ast(model(DOWN), "isl").to_C_str()
    assert "S0(4 * t0_ + 3, -t1_);" in tree, "v is read along i, p and q along j"
    check_same(DOWN, "f", {"n": 21}, schedule="isl")


def test_chains_that_read_an_element_in_common_are_more() -> None:
    text = "void f(int n, double x[n], double y[n], double A[n][n]) { for (int i = 0; i < n; i++) "
    text += "for (int j = 0; j < n; j++) y[i] += A[i][j] * x[j]; }"
    assert "S0(8 * t0_ + 7, t1_);" in loop_ast(model(text), "isl").to_C_str()


def test_other_rows_are_asked_for_ahead_where_iterations_are_long() -> None:
    text = arranged(DOWN)
    assert text.count("memref.prefetch") == 4, "the first and the last element of each row of v"
    verify_module(parse_module(text))
    short = "double s = 0.0; for (int j = 0; j < n; j++) s += v[j][0]; v[0][0] = s; }"
    assert "prefetch" not in arranged("void f(int n, double v[n][n]) { " + short)


def test_moves_between_scalars_make_no_iteration_long() -> None:
    text = arranged(
        "void f(int n, double a[n][n], double b[n][n]) { double x, y, z;"
        " for (int j = 0; j < n; j++) { x = 0; y = 0; z = 0; for (int i = 0; i < n; i++) {"
        " b[i][j] = a[i][j] + x + y + z; z = y; y = x; x = b[i][j]; } } }"
    )
    assert "prefetch" not in text


def test_scalars_are_not_elements_to_reuse() -> None:
    text = (
        "void f(int n, double a[n][n], double b[n][n]) { double x = b[0][0]; "
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i][j] = x * b[i][j]; }"
    )
    program = make_program([model(text)], Options("affine"), "isl")
    assert "mod" not in program.text("schedule")
    assert "floor" not in program.text("schedule")


def test_columns_that_nothing_uses_whole_are_no_chains() -> None:
    text = DOWN.replace("double p[n][n]", "double p[2 * n][n]").replace("p[i][j]", "p[i + j][0]")
    assert "t0_ + 3" not in loop_ast(model(text), "isl").to_C_str()


TRIANGULAR = """void f(int n, double a[n][n], double x[n]) {
  for (int i = %s) { for (int j = %s) x[i] -= a[i][j] * x[j]; x[i] = x[i] / a[i][i]; } }"""
FORWARD = TRIANGULAR % ("0; i < n; i++", "0; j < i; j++")
BACKWARD = TRIANGULAR % ("n - 1; i >= 0; i--", "i + 1; j < n; j++")


@pytest.mark.rotating(8)
def test_products_with_finished_elements_of_a_triangular_system_are_interleaved() -> None:
    """Eight rows at a time: the elements of earlier rows first, then the triangle."""
    text = make_program([model(FORWARD)], Options("affine", "strict"), "isl").text("c")
    assert "j < 8 * t" in text
    assert "long j = 8 * t; j < i" in text
    for size in (1, 8, 9, 37):
        check_same(FORWARD, None, {"n": size}, schedule="isl")
        check_same(BACKWARD, None, {"n": size}, schedule="isl")


def test_iterators_of_outer_loops_do_not_shift_inner_ones() -> None:
    statement = model(NEST % "a[i][j] = a[i - 1][j];").statements[0]
    skewed = i + i + j + Linear(1)
    assert remaining_rows((i, skewed), (i,), statement) == (j,)
    assert remaining_rows((i, skewed), (), statement) == (i, skewed)
    assert remaining_rows((j + Linear(1),), (i,), statement) == (j + Linear(1),)
