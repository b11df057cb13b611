"""Recognizes functions that add the product of two numbers to an accumulator."""

from __future__ import annotations

from collections.abc import Sequence

from riselang.dialects.rise.pattern_registry import FST, SND
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.term.nodes import Bound, Lambda, Pattern, Scalar, Term, spine

WIDENINGS = ("arith.extsi", "arith.extf")
"""Conversions to a wider type that keep the value."""


def is_multiply_add(function: Term) -> bool:
    """Whether a function is `fun((a, p), a + cast(fst(p)) * cast(snd(p)))`, up to the order of
    operands; the casts are optional, and fma counts."""
    if not isinstance(function, Lambda) or not isinstance(function.body, Lambda):
        return False
    body = function.body.body
    if not isinstance(body, Scalar):
        return False
    if body.op == "math.fma":
        return _is_accumulator(body.operands[2]) and _are_components(body.operands[:2])
    if body.op not in ("arith.addi", "arith.addf"):
        return False
    return any(
        _is_accumulator(one) and _is_product(other)
        for one, other in (body.operands, tuple(body.operands)[::-1])
    )


def _is_accumulator(term: Term) -> bool:
    return isinstance(term, Bound) and term.index == 1


def _is_product(term: Term) -> bool:
    is_product = isinstance(term, Scalar) and term.op in ("arith.muli", "arith.mulf")
    return is_product and _are_components(term.children)


def _are_components(factors: Sequence[Term]) -> bool:
    """Whether two factors are the components of the innermost variable, possibly widened."""
    specs = {_component(factor) for factor in factors}
    return specs == {FST, SND}


def _component(factor: Term) -> PatternSpec | None:
    if isinstance(factor, Scalar) and factor.op in WIDENINGS:
        (factor,) = factor.operands
    head, arguments = spine(factor)
    if not isinstance(head, Pattern) or len(arguments) != 1:
        return None
    pair = arguments[0]
    return head.spec if isinstance(pair, Bound) and pair.index == 0 else None
