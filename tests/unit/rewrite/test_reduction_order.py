"""Reductions with order="any", which may combine floats in any order under every permission."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.notation.printer import show_term
from riselang.notation.program import parse_term
from riselang.rewrite.core import Setting
from riselang.rewrite.default import default_derivation
from riselang.rewrite.derivation import derive
from riselang.rewrite.derivation_checks import check
from riselang.rewrite.selectors import outermost
from riselang.rewrite.strategies.reduction_schedules import partial_sums
from riselang.support.errors import UserError
from riselang.term.contraction import contract
from riselang.term.to_dialect import program_module
from support.checking import term_in
from support.programs import Program
from support.round_trips import through_generic_text, through_notation, through_the_dialect

pytestmark = pytest.mark.rotating(4)

DOT = "fun((x : {0}.f32, y : {0}.f32), zip(x, y) |> map(mult) |> reduce({1}, 0.0))"
N = 4096


@rl.jit
def total(x: rl.Array["N", rl.f32]) -> Any:
    return x | rl.reduce(rl.add, 0.0, order="any")


def inputs(count: int) -> list[np.ndarray[Any, Any]]:
    source = np.random.default_rng(3)
    return [source.standard_normal(N).astype(np.float32) for _ in range(count)]


@pytest.mark.parametrize("float", ["strict", "contract", "relaxed"])
def test_the_sum_is_vectorized_under_every_permission(float: str) -> None:
    kernel = rl.jit(total.function, float=float)
    assert "asVector" in kernel.lower(N=1 << 17).as_text("notation")
    (x,) = inputs(1)
    assert np.isclose(kernel(x), x.sum(dtype=np.float64), rtol=1e-4, atol=1e-3)


def test_only_the_marked_reduction_is_reordered() -> None:
    text = f"""fun((x : {N}.f32, y : {N}.f32),
      (x |> reduce(add[any], 0.0), y |> reduce(add, 0.0)))"""
    kernel: Any = rl.loads(text, name="program.rise")
    reference: Any = rl.loads(text, name="program.rise", backend="interpret")
    x, y = (np.tile(each, 1) for each in inputs(2))
    (first, second), (first_wanted, second_wanted) = kernel.main(x, y), reference.main(x, y)
    assert second.tobytes() == second_wanted.tobytes()
    assert np.isclose(first, first_wanted, rtol=1e-4, atol=1e-3)


def test_the_interpreter_adds_from_left_to_right() -> None:
    x = np.array([1e8, 1, -1e8, 1], np.float32)
    assert rl.jit(total.function, backend="interpret")(x) == 1.0


@pytest.mark.parametrize("operator", ["add[any]", "mult[any]", "fun((a, b), add[any](b, a * b))"])
def test_the_option_survives_each_text_form(operator: str) -> None:
    term = parse_term(DOT.format(64, operator))
    for each in (term, contract(term)):
        assert "[any]" in show_term(each)
        through_notation(Program(each, 1))
        through_generic_text(Program(each, 1))
        through_the_dialect(Program(each, 1))
        assert term_in(program_module(each, "f", 1)) == each


def test_the_option_is_a_fastmath_flag_in_the_dialect() -> None:
    text = total.lower(N=8).as_text("rise")
    assert "fastmath<reassoc>" in text
    module: Any = rl.loads(text, name="program.mlir")
    assert module.as_text("rise") == text
    x = np.arange(8, dtype=np.float32)
    out = np.zeros((), np.float32)
    module.total(out, x)
    assert out == 28


def test_integers_need_no_option() -> None:
    term = parse_term("fun((x : 8.i32), x |> reduce(add[any], 0))")
    assert term == parse_term("fun((x : 8.i32), x |> reduce(add, 0))")


def test_contraction_keeps_the_option() -> None:
    assert "fma[any](fst(x1), snd(x1), x0)" in show_term(
        contract(parse_term(DOT.format(64, "add[any]")))
    )


@pytest.mark.rotating(5)
@pytest.mark.sampled(1)
@pytest.mark.parametrize("float", ["strict", "contract"])
def test_a_strategy_may_reorder_a_marked_reduction(float: str) -> None:
    """The steps are checked with a tolerance, as in relaxed programs."""
    term = parse_term(DOT.format(64, "add[any]"))
    body = parse_term(DOT.format(64, "add"))
    strategy = partial_sums(2, 4) @ outermost("reduce")
    derivation = derive(term if float == "strict" else contract(term), strategy, float)
    assert check(derivation).is_right
    assert ("fma" in show_term(derivation.end)) == (float == "contract")
    with pytest.raises(UserError, match='or if the reduction has order="any"'):
        derive(body, strategy, float)


def test_rows_in_any_order_are_not_interleaved() -> None:
    """Each row is reduced in vectors, as in relaxed programs."""
    text = """fun((A : 512.512.f32, x : 512.f32), A |> map(fun(row,
      zip(row, x) |> map(mult) |> reduce(add[any], 0.0))))"""
    derivation = default_derivation(contract(parse_term(text)), Setting("contract"))
    assert derivation is not None
    assert any(step.rule.name == "interleaved_reduce" for step in derivation.steps)


def test_what_cannot_be_reordered_is_rejected() -> None:
    def difference(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.reduce(lambda a, b: a - b, 0.0, order="any")

    def without_accumulator(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.reduce(lambda a, b: b * b, 0.0, order="any")

    for function in (difference, without_accumulator):
        with pytest.raises(UserError, match='order="any" needs a function that adds'):
            rl.jit(function).lower(N=8)


def test_a_wrong_order_is_rejected() -> None:
    def backwards(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.reduce(rl.add, 0.0, order="backwards")

    def mapped(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.map(lambda a: a, order="any")

    with pytest.raises(UserError, match="order must be \"any\", but is 'backwards'"):
        rl.jit(backwards).lower(N=8)
    with pytest.raises(UserError, match="only reductions have an order"):
        rl.jit(mapped).lower(N=8)


def test_a_wrong_option_in_notation_is_rejected() -> None:
    with pytest.raises(UserError, match=r"it takes only \[any\]"):
        parse_term("fun((x : 8.f32), x |> reduce(add[fast], 0.0))")
    with pytest.raises(UserError, match="it takes no brackets"):
        parse_term("fun((x : 8.f32), x |> reduce(sub[any], 0.0))")


@pytest.mark.parametrize("length", [300, 77])
def test_elements_that_do_not_fill_the_accumulators_are_reduced_in_shorter_vectors(
    length: int,
) -> None:
    strategy = partial_sums(4, 8) @ outermost("reduce")
    term = derive(parse_term(DOT.format(length, "add[any]")), strategy).end
    text = show_term(term)
    assert all(f"asVector({lanes})" in text for lanes in (8, 4))
    kernel: Any = rl.loads(text, name="program.rise", strategy="none").main
    x, y = (each[:length] for each in inputs(2))
    assert np.isclose(kernel(x, y), x @ y, rtol=1e-4, atol=1e-4)


IN_BLOCKS = "top_down({}blocked_reduction(4, 2, 4){})"


def test_an_array_that_may_be_shorter_than_the_blocks_is_not_divided() -> None:
    message = r"may be less than 32; by_size\('N', 32, blocked_reduction\(4, 2, 4\), small\)"
    for before, after in (("", ""), ("by_size('N', 31, ", ", partial_sums(2, 4))")):
        strategy = IN_BLOCKS.format(before, after)
        with pytest.raises(UserError, match=message):
            rl.jit(total.function, strategy=strategy, sizes="symbolic")(*inputs(1))


def test_a_version_for_long_arrays_is_divided_into_blocks() -> None:
    strategy = IN_BLOCKS.format("by_size('N', 32, ", ", partial_sums(2, 4))")
    kernel = rl.jit(total.function, strategy=strategy, sizes="symbolic")
    for length in (1, 31, 32, 1000):
        (x,) = (each[:length] for each in inputs(1))
        assert np.isclose(kernel(x), x.sum(dtype=np.float64), rtol=1e-4, atol=1e-4)
