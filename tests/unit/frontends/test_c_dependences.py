"""Dependences, parallel loops, and the proof of what isl makes."""

from __future__ import annotations

from typing import Any

import pytest

from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.schedule.isl_schedule import loop_ast
from riselang.frontends.c.schedule.replay import has_same_data_flow
from riselang.frontends.c.schedule.schedule_validation import is_faithful
from riselang.support.config import Options
from support.c_programs import KERNELS, model

STRICT = Options("affine", "strict")


def text_of(source: str, schedule: str = "source") -> str:
    return make_program([model(source)], STRICT, schedule).affine_text()


def test_a_loop_without_dependences_is_parallel() -> None:
    text = text_of("void f(int n, double a[n]) { for (int i = 0; i < n; i++) a[i] = i; }")
    assert text.count("rise.parallel") == 1


def test_a_loop_down_to_an_unequal_end_is_parallel() -> None:
    text = text_of("void f(int n, int a[n]) { for (int i = n - 1; i != -1; i--) a[i] = i; }")
    assert text.count("rise.parallel") == 1


def test_a_recurrence_is_not_parallel() -> None:
    text = text_of("void f(int n, double a[n]) { for (int i = 1; i < n; i++) a[i] += a[i - 1]; }")
    assert "rise.parallel" not in text


def test_a_scalar_that_is_written_keeps_the_order() -> None:
    text = text_of(
        "void f(int n, double a[n]) { double s; for (int i = 0; i < n; i++)"
        " { s = a[i] * 2.0; a[i] = s; } }"
    )
    assert "rise.parallel" not in text


def test_the_two_outer_loops_of_a_product_are_parallel() -> None:
    text = (KERNELS / "2mm.c").read_text()
    assert text_of(text).count("rise.parallel") == 4


def test_flow_anti_and_output() -> None:
    scop = model("void f(int n, double a[n]) { for (int i = 1; i < n; i++) a[i] = a[i - 1]; }")
    found = dependences(scop)
    assert found is not None
    assert not found.flow.is_empty()
    assert found.anti.is_empty()
    assert found.output.is_empty()


def test_what_data_decide_is_taken_to_happen() -> None:
    scop = model(
        "void f(int n, int p[n], double a[n]) { for (int i = 0; i < n; i++) a[p[i]] += 1.0; }"
    )
    found = dependences(scop)
    assert found is not None
    assert not found.output.is_empty()


def test_any_element_may_be_the_one_that_data_decide() -> None:
    scop = model(
        "void f(int n, int p[n], double a[n], double b[n]) {"
        " for (int i = 0; i < n; i++) a[p[i]] = 1.0; for (int i = 0; i < n; i++) b[i] = a[i]; }"
    )
    found = dependences(scop)
    assert found is not None
    pair = isl().UnionMap("[n] -> { S0[1] -> S1[2] : n > 5 }")
    assert pair.is_subset(found.flow)


def test_initial_values_are_written() -> None:
    scop = model(
        "void f(int n, double a[n], double b[n]) {"
        " for (int i = 0; i < n; i++) { double t = a[i]; b[i] = t * 2.0; } }"
    )
    found = dependences(scop)
    assert found is not None
    assert not found.flow.is_empty()


@pytest.mark.rotating(3)
def test_a_stencil_is_skewed_and_the_proof_holds() -> None:
    scop = model((KERNELS / "jacobi-2d.c").read_text())
    tree = loop_ast(scop, "isl")
    assert "floord" in tree.to_C_str()
    assert has_same_data_flow(scop, loop_ast(scop, "source"), tree)


def loops_of(scop: Scop, schedule: Any) -> Any:
    build = isl().AstBuild.from_context(isl().Set(f"{scop.prefix}{{ : }}"))
    return build.node_from_schedule(schedule)


def test_an_order_that_breaks_a_dependence_is_not_faithful() -> None:
    scop = model("void f(int n, double a[n]) { for (int i = 1; i < n; i++) a[i] += a[i - 1]; }")
    backwards = isl().MultiUnionPwAff("[n] -> [{ S0[i] -> [(-i)] }]")
    domain = isl().Schedule.from_domain(scop.schedule.get_domain())
    assert not is_faithful(scop, loops_of(scop, domain.insert_partial_schedule(backwards)))
    assert is_faithful(scop, loops_of(scop, scop.schedule))


def test_loops_that_leave_an_instance_out_are_not_faithful() -> None:
    scop = model("void f(int n, double a[n]) { for (int i = 0; i < n; i++) a[i] = 0.0; }")
    fewer = scop.schedule.intersect_domain(isl().UnionSet("[n] -> { S0[i] : i != 3 }"))
    assert not is_faithful(scop, loops_of(scop, fewer))


LEFT_OUT = """
void f(int n, int m, float a0[27][15], double a2[13]) {
  for (int i1 = 0; i1 <= -2 + 1 * n; i1 += 2) {
    for (int i2 = (-3 + -1 * n) / 2; i2 < (2 + 1 * m < n ? 2 + 1 * m : n); i2 += 2)
      a0[(4 + 1 * i1 + -1 * i2) / 5 + 13][3 + 2 * i1 + 1 * m] *= a2[1 + 2 * n + 1 * i2] * 0.125;
  }
}
"""


@pytest.mark.rotating(4)
def test_what_isl_leaves_out_where_tiles_meet_strides_is_found() -> None:
    """isl's loops for this order lack instances; another order is taken then."""
    scop = model(LEFT_OUT)
    skewed = isl().MultiUnionPwAff(
        "[n, m] -> [{ S0[i1, i2] -> [(2 + m + 2i1 - (-1 + m - i1) mod 3)] },"
        " { S0[i1, i2] -> [(19i1 + i2 - (i1 + i2) mod 3)] }]"
    )
    inner = isl().MultiUnionPwAff(
        "[n, m] -> [{ S0[i1, i2] -> [((-1 + m - i1) mod 3)] },"
        " { S0[i1, i2] -> [((i1 + i2) mod 3)] }]"
    )
    domain = isl().Schedule.from_domain(scop.schedule.get_domain())
    schedule = domain.insert_partial_schedule(inner).insert_partial_schedule(skewed)
    assert not is_faithful(scop, loops_of(scop, schedule))
    assert not has_same_data_flow(scop, loop_ast(scop, "source"), loops_of(scop, schedule))
