"""Scalar accumulators: those that become elements of arrays, and those that must not."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.lift.lifted_statements import lift_statements
from riselang.frontends.c.model.accumulators import replace_accumulators
from riselang.frontends.c.schedule.isl_schedule import ISL, SCHEDULES
from riselang.native import code_loading
from riselang.support.config import Options
from support.c_programs import model

pytestmark = pytest.mark.rotating(6)

N = 9
ROWS = "void f(int n, double a[n][n], double b[n][n], double c[n][n]) { %s }"
NEST = ROWS % "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { %s }"
PRODUCT = NEST % ("double s = 0; for (int k = 0; k < n; k++) s += a[i][k] * b[k][j]; c[i][j] = s;")
REPLACED = {
    "a product": PRODUCT,
    "a value that is divided at the end": NEST % (
        "double s = c[i][j]; for (int k = 0; k < i; k++) s -= a[i][k] * b[k][j];"
        "c[i][j] = s / a[i][i];"
    ),
    "elements that earlier iterations wrote": NEST % (
        "double s = c[i][j]; for (int k = 0; k < j; k++) s -= c[i][k] * b[k][j]; c[i][j] = s;"
    ),
    "two scalars": NEST % (
        "double s = 0, t = 1; for (int k = 0; k < n; k++) { s += c[i][k]; t *= c[k][k]; }"
        "a[i][j] = s; b[i][j] = t;"
    ),
    "one scalar of two loops": ROWS % (
        "double s; for (int i = 0; i < n; i++) {"
        "  for (int j = 0; j < i; j++) { s = c[i][j];"
        "    for (int k = 0; k < j; k++) s -= c[i][k] * c[k][j]; c[i][j] = s / c[j][j]; }"
        "  for (int j = i; j < n; j++) { s = c[i][j];"
        "    for (int k = 0; k < i; k++) s -= c[i][k] * c[k][j]; c[i][j] = s; } }"
    ),
    "a value that is stored twice": NEST % (
        "double s = 0; for (int k = 0; k < n; k++) s += a[i][k]; c[i][j] = s + 1; b[i][j] = s;"
    ),
    "a condition": NEST % (
        "if (i > 0) { double s = 1; for (int k = 0; k < n; k++) s += a[i][k]; c[i][j] = s; }"
    ),
}  # fmt: skip
KEPT = {
    "the element is read at the end": NEST % (
        "double s = 0; for (int k = 0; k < n; k++) s += a[i][k]; c[i][j] = s + 2 * c[i][j];"
    ),
    "the element is read on the way": NEST % (
        "double s = 0; for (int k = 0; k < n; k++) s += c[i][k]; c[i][j] = s;"
    ),
    "the element is written on the way": NEST % (
        "double s = 1; for (int k = 0; k < n; k++) { s += a[i][k]; c[j][k] = 3; } c[i][j] = s;"
    ),
    "the scalar goes on to the next iteration": ROWS % (
        "double s = 0; for (int i = 0; i < n; i++) {"
        "for (int k = 0; k < n; k++) s += a[i][k]; c[i][0] = s; }"
    ),
    "the scalar has another type": NEST % (
        "float s = 0; for (int k = 0; k < n; k++) s += a[i][k]; c[i][j] = s;"
    ),
    "it is not always stored": NEST % (
        "double s = 0; for (int k = 0; k < n; k++) s += a[i][k]; if (j > 2) c[i][j] = s;"
    ),
    "whether it is stored depends on data": NEST % (
        "double s = 0; for (int k = 0; k < n; k++) s += a[i][k]; if (s > 4) c[i][j] = s;"
    ),
    "the element depends on data": ROWS % (
        "for (int i = 0; i < n; i++) {"
        "double s = 0; for (int k = 0; k < n; k++) s += a[i][k]; c[i][(int)b[i][0] & 3] = s; }"
    ),
    "the scalar is the result": ROWS.replace("void", "double") % (
        "double s; for (int i = 0; i < n; i++) {"
        "s = 0; for (int k = 0; k < n; k++) s += a[i][k]; c[i][0] = s; } return s;"
    ),
    "nothing is accumulated": NEST % "double s = a[i][j] * 2; c[i][j] = s;",
}  # fmt: skip


def arguments() -> list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    source = np.random.default_rng(7)
    return [source.random((N, N)) + 0.5 for _ in range(3)]


@pytest.mark.parametrize("name", REPLACED)
def test_a_scalar_becomes_an_element(name: str) -> None:
    scop = model(REPLACED[name])
    changed = replace_accumulators(scop)
    assert scop.locals
    assert not changed.locals
    assert changed.as_written is scop


@pytest.mark.parametrize("name", KEPT)
def test_a_scalar_stays(name: str) -> None:
    scop = model(KEPT[name])
    assert replace_accumulators(scop) is scop


@pytest.mark.sampled(7)
@pytest.mark.parametrize("text", [*REPLACED.values(), *KEPT.values()], ids=[*REPLACED, *KEPT])
def test_results_stay_the_same(text: str) -> None:
    found = []
    for schedule in SCHEDULES:
        arrays = arguments()
        rl.from_c(text, float="strict", schedule=schedule)(N, *arrays)
        found.append([each.tobytes() for each in arrays])
    assert found[0] == found[1] == found[2]


def test_an_assignment_of_an_element_to_itself_is_dropped() -> None:
    changed = replace_accumulators(model(REPLACED["one scalar of two loops"]))
    assert len(changed.statements) == 3, "two updates and a division"


def test_a_product_with_a_scalar_is_lifted() -> None:
    tactics = [each.tactic for each in lift_statements([replace_accumulators(model(PRODUCT))])]
    assert tactics == ["fill", "gemm"]


def test_arrays_that_share_memory_are_computed_as_written() -> None:
    """In C, the result may be one of the operands: each of its elements is written once."""
    program = make_program([model(PRODUCT)], Options("affine", "strict"), ISL)
    assert program.regions[0].as_written is not None
    code = code_loading.load_objects([program.object_code()])
    call = ctypes.CFUNCTYPE(None, ctypes.c_int, *[ctypes.c_void_p] * 3)(code.address("f"))
    a, b, _ = arguments()
    expected = a.copy()
    for i in range(N):
        for j in range(N):
            total = 0.0
            for k in range(N):
                total += expected[i, k] * b[k, j]
            expected[i, j] = total
    call(N, a.ctypes.data, b.ctypes.data, a.ctypes.data)
    assert a.tobytes() == expected.tobytes()


def test_the_report_names_the_scalars() -> None:
    report = make_program([model(PRODUCT)], Options("affine", "strict")).text("report")
    assert "s is accumulated in the element to which it is stored" in report
    assert "gemm, lifted to RISE" in report


def test_a_schedule_of_the_region_as_written_is_used() -> None:
    """It mentions a statement that is dropped where elements replace scalars."""
    text = REPLACED["elements that earlier iterations wrote"]
    written = make_program([model(text)], Options("affine", "strict")).text("schedule")
    replaced = make_program([model(text)], Options("affine", "strict"), ISL).text("schedule")
    assert "S0" in written
    assert "S0" not in replaced
    found = []
    for schedule in ("source", written, replaced):
        arrays = arguments()
        rl.from_c(text, float="strict", schedule=schedule)(N, *arrays)
        found.append(arrays[2].tobytes())
    assert found[0] == found[1] == found[2]
