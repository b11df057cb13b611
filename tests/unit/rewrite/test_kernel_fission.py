"""Matrix multiplications in a loop with other computations are scheduled separately."""

from __future__ import annotations

import numpy as np
import pytest

from riselang.api.kernel import TermKernel
from riselang.notation.program import parse_term
from riselang.rewrite.core import Setting
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.strategies.default_schedule import recognized_computations
from riselang.term.nodes import Term

pytestmark = pytest.mark.rotating(4)

NIGHTLY = pytest.mark.nightly
SUM = "zip({}, {}) |> map(mult) |> reduce(add, 0.0)"
PRODUCT = f"a |> map(fun(r, b |> transpose |> map(fun(k, {SUM.format('r', 'k')}))))"
OF_PAIRS = "zip(a, c) |> map(fun(p, zip(b |> transpose, snd(p)) |> map(fun(q, {}))))"
OF_FIRSTS = SUM.format("fst(p)", "fst(q)")
FORMS = {
    "and a matrix": (OF_PAIRS.format(f"({OF_FIRSTS}) + snd(q)"), 1),
    "a matrix before": (
        "zip(c, a) |> map(fun(p, zip(fst(p), b |> transpose) |> map(fun(q, "
        f"fst(q) - ({SUM.format('snd(p)', 'snd(q)')})))))",
        1,
    ),
    "a map of both": (f"zip({PRODUCT}, c) |> map(fun(p, zip(fst(p), snd(p)) |> map(add)))", 1),
    "scaled": (OF_PAIRS.format(f"2.0 * ({OF_FIRSTS}) + 3.0 * snd(q)"), 1),
    "used twice": (OF_PAIRS.format(f"(let y = {OF_FIRSTS}; y * y + snd(q))"), 1),
    "a number for each row": (
        f"zip(a, d) |> map(fun(p, b |> transpose |> map(fun(k, ({SUM.format('fst(p)', 'k')}) "
        "+ snd(p)))))",
        1,
    ),
    "of a sum": (
        "zip(a, c) |> map(fun(p, zip(fst(p), snd(p)) |> map(add))) "
        f"|> map(fun(r, b |> transpose |> map(fun(k, {SUM.format('r', 'k')}))))",
        1,
    ),
    "of a product": (
        f"{PRODUCT} |> map(fun(r, c |> transpose |> map(fun(k, {SUM.format('r', 'k')}))))",
        2,
    ),
    "with columns of a product": (
        "a |> map(fun(r, (b |> map(fun(x, c |> transpose |> map(fun(y, "
        f"{SUM.format('x', 'y')}))))) |> transpose |> map(fun(k, {SUM.format('r', 'k')}))))",
        2,
    ),
    "two products": (
        "zip(a, c) |> map(fun(p, zip(b |> transpose, c |> transpose) |> map(fun(q, "
        f"({OF_FIRSTS}) + ({SUM.format('snd(p)', 'snd(q)')})))))",
        2,
    ),
    "of three": (
        f"{PRODUCT} |> map(fun(r, c |> transpose |> map(fun(k, {SUM.format('r', 'k')})))) "
        f"|> map(fun(r, a |> transpose |> map(fun(k, {SUM.format('r', 'k')}))))",
        3,
    ),
}


def program(form: str, size: int) -> Term:
    matrix = f"{size}.{size}.f32"
    arguments = f"(a : {matrix}, b : {matrix}, c : {matrix}, d : {size}.f32)"
    return parse_term(f"fun({arguments}, {FORMS[form][0]})")


@pytest.mark.parametrize("form", FORMS)
def test_each_product_is_a_kernel(form: str) -> None:
    chosen = recognized_computations(program(form, 24), Setting("contract"))
    expected = ["matrix multiplication of 24 x 24 by 24 x 24"] * FORMS[form][1]
    assert [each.description for each in chosen] == expected


@pytest.mark.rotating(5)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [17, *(pytest.param(n, marks=NIGHTLY) for n in (16, 24, 29))])
@pytest.mark.sampled(1)
def test_the_bits_are_those_of_the_source(form: str, size: int) -> None:
    term = program(form, size)
    random = np.random.default_rng(2)
    arrays = [
        (random.standard_normal(shape) * 4).astype(np.float32)
        for shape in ((size, size), (size, size), (size, size), size)
    ]
    expected = TermKernel("f", term, "interpret")(*arrays)
    found = TermKernel("f", term, strategy=DEFAULT)(*arrays)
    assert found.tobytes() == expected.tobytes()


def test_what_has_no_product_stays_in_one_loop() -> None:
    term = parse_term(
        "fun((a : 64.64.f32, c : 64.64.f32), zip(a, c) |> map(fun(p, (let s = fst(p) "
        "|> reduce(add, 0.0); snd(p) |> map(fun(e, e * s))))))"
    )
    assert not recognized_computations(term, Setting("contract"))
