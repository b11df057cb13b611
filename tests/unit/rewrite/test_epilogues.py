"""What is done with the sums of a product is done in its tiles, with the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from riselang.api.kernel import TermKernel
from riselang.notation.program import parse_term
from riselang.rewrite.core import Setting, Strategy, Success
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.derivation import derive
from riselang.rewrite.rules.functions import reductions_first, reductions_first_with
from riselang.rewrite.strategies.contractions import column_tiles, register_tiles
from riselang.rewrite.strategies.default_schedule import prepare_computations
from riselang.rewrite.strategies.matmul_shapes import matmul_shape
from riselang.rewrite.traversals import top_down
from riselang.term.nodes import Lambda, Term
from support.pairwise import each_once

pytestmark = pytest.mark.rotating(4)

Sizes = tuple[int, int, int]
SHAPES = [(1, 65, 70), (64, 24, 8), (13, 31, 17), (50, 29, 11)]
EPILOGUES = {
    "bias": "map(fun(t, zip(t, b) |> map(add)))",
    "bias before": "map(fun(t, zip(b, t) |> map(fun(q, fst(q) - snd(q)))))",
    "relu": "map(fun(t, t |> map(fun(q, max(q, 0.0)))))",
    "bias and relu": "map(fun(t, zip(t, b) |> map(fun(q, max(fst(q) + snd(q), 0.0)))))",
    "used twice": "map(fun(t, zip(t, b) |> map(fun(q, fst(q) * (fst(q) + snd(q))))))",
    "two vectors": "map(fun(t, zip(t, zip(b, c)) |> map(fun(q, fst(q) * fst(snd(q)) + "
    "snd(snd(q))))))",
    "vectors before": "map(fun(t, zip(zip(b, c), t) |> map(fun(q, fst(fst(q)) * snd(q) + "
    "snd(fst(q))))))",
    "a scalar": "map(fun(t, t |> map(fun(q, q * s))))",
}


def program(shape: Sizes, epilogue: str) -> Term:
    rows, columns, depth = shape
    return parse_term(
        f"fun((x : {rows}.{depth}.f32, w : {depth}.{columns}.f32, b : {columns}.f32, "
        f"c : {columns}.f32, s : f32), x |> map(fun(r, w |> transpose |> map(fun(k, zip(r, k) "
        f"|> map(mult) |> reduce(add, 0.0))))) |> toMem(heap) |> {epilogue})"
    )


@pytest.mark.parametrize(("epilogue", "shape"), each_once(EPILOGUES, SHAPES), ids=str)
@pytest.mark.sampled(2)
def test_the_bits_are_those_of_the_source(epilogue: str, shape: Sizes) -> None:
    term = program(shape, EPILOGUES[epilogue])
    check(term, shape, DEFAULT)
    derived = repr(derive(term, DEFAULT).end)
    # Sums that are stored would be stored here.
    assert "|> join |> toMem(heap)" not in derived
    assert "asVector" in derived


@pytest.mark.parametrize(("epilogue", "by_columns"), each_once(EPILOGUES, [False, True]))
@pytest.mark.sampled(2)
def test_either_order_of_the_loops(epilogue: str, by_columns: bool) -> None:
    tiled = column_tiles(4, 8, 4) if by_columns else register_tiles(4, 8, 4, block=2)
    shape = (13, 31, 17)
    check(program(shape, EPILOGUES[epilogue]), shape, prepare_computations() >> top_down(tiled))


def check(term: Term, shape: Sizes, strategy: Strategy) -> None:
    """Compares bits with the interpreter."""
    rows, columns, depth = shape
    random = np.random.default_rng(1)
    arrays = [
        (random.standard_normal(each) * 8).astype(np.float32)
        for each in ((rows, depth), (depth, columns), (columns,), (columns,), ())
    ]
    expected = TermKernel("f", term, "interpret")(*arrays)
    found = TermKernel("f", term, strategy=strategy)(*arrays)
    assert found.tobytes() == expected.tobytes()


OTHERS = {
    "sums over rows": "map(fun(t, t |> reduce(add, 0.0)))",
    "neighbours": "map(fun(t, t |> slide(2, 1) |> map(fun(p, p |> reduce(add, 0.0)))))",
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_takes_other_sums_stays_outside(name: str) -> None:
    derived = repr(derive(program((64, 24, 8), OTHERS[name]), DEFAULT).end)
    assert "toMem(heap)" in derived.rpartition("|> join")[2]


def body(text: str) -> Term:
    term = parse_term(text)
    while isinstance(term, Lambda):
        term = term.body
    return term


def test_sums_come_before_what_is_done_with_them() -> None:
    nest = "fun((x : 4.8.f32), x |> map(fun(r, (r |> reduce(add, 0.0)) * 2.0)))"
    result = reductions_first.run(body(nest), Setting())
    assert isinstance(result, Success)
    assert "|> map(fun(v, v * 2.0))" in repr(result.term)


def test_the_sums_are_zipped_with_the_smallest_component() -> None:
    nest = (
        "fun((x : 4.8.f32, b : 4.f32), zip(x, zip(b, b)) |> map(fun(p, "
        "(fst(p) |> reduce(add, 0.0)) + snd(snd(p)))))"
    )
    result = reductions_first_with.run(body(nest), Setting())
    assert isinstance(result, Success)
    assert "map(fun(p, snd(snd(p))))" in repr(result.term)


def test_the_shape_of_a_product_with_an_epilogue() -> None:
    text = (
        "fun((x : 4.8.f32, w : 6.8.f32, b : 6.f32), x |> map(fun(r, zip(w, b) |> map(fun(p, "
        "max((zip(r, fst(p)) |> reduce(fun((t, q), fst(q) * snd(q) + t), 0.0)) + snd(p), 0.0))))))"
    )
    shape = matmul_shape(body(text))
    assert shape is not None
    assert (shape.rows, shape.columns, shape.depth) == (4, 6, 8)
