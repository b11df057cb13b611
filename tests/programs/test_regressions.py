"""Programs that random testing found to go wrong, each with what was wrong."""

from __future__ import annotations

import numpy as np

import riselang as rl
from riselang.notation.program import parse_term
from riselang.term.from_dialect import units
from riselang.term.nodes import Term
from riselang.term.to_dialect import program_module


def test_a_chain_of_divisions_on_threads_compiles() -> None:
    """LLVM's vectoriser took minutes for the selects around eleven divisions."""

    @rl.jit
    def divide(v: rl.Array[5, rl.i32], x: rl.Array[11, rl.i32]):
        return v | rl.map_par(lambda e: x | rl.reduce(lambda a, b: a // b, -5))

    v, x = np.arange(5, dtype=np.int32), np.arange(11, dtype=np.int32)
    assert np.array_equal(divide(v, x), rl.jit(divide, backend="interpret")(v, x))
    assert "func.call @rise_floordivsi_i32" in divide.lower(v, x).as_text("affine")


def test_a_division_by_a_constant_stays_in_line() -> None:
    @rl.jit
    def halve(x: rl.Array[4, rl.i32]):
        return x | rl.map(lambda a: a // 2)

    assert "func.call" not in halve.lower().as_text("affine")


def reread(term: Term) -> Term:
    module = program_module(term, "f")
    function = module.body.block.first_op
    assert function is not None
    return units(function)[0][1].term


def test_projections_of_a_named_pair_are_not_named() -> None:
    """Reading back what was emitted named `fst(fst(s))`, and named more each time."""
    term = parse_term(
        "fun((v : 4.f32, w : 5.f32, p : (f32 x f32)), let s = (p, v |> map(fun(x, w)));"
        " min(fst(fst(s)), let y = fst(fst(s)); y))"
    )
    once = reread(term)
    assert reread(once) == once
