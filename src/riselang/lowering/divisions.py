"""Replaces divisions by powers of two that round down with shifts, which have vector instructions.

MLIR lowers such a division to comparisons that LLVM does not recognize.
"""

from __future__ import annotations

from riselang.dialects.rise.attributes import literal
from riselang.dialects.rise.pattern_registry import VECTOR_FROM_SCALAR
from riselang.term.deep_recursion import recursive
from riselang.term.lane_ops import SHIFT_FOR_DIVISION, shift_amount
from riselang.term.nodes import (
    Apply,
    Literal,
    Pattern,
    Scalar,
    Term,
    operation_type,
    scalar_type,
    subterms,
)
from riselang.term.substitution import map_children


def divide_by_shifts(term: Term) -> Term:
    """Replace divisions by powers of two in a term, of scalars and of the lanes of vectors."""
    has_division = any(
        isinstance(part, Scalar) and part.op in SHIFT_FOR_DIVISION for part in subterms(term)
    )
    return _replace_divisions(term) if has_division else term


@recursive
def _replace_divisions(term: Term) -> Term:
    def visit(term: Term) -> Term:
        term = map_children(term, visit, visit)
        if not isinstance(term, Scalar) or term.op not in SHIFT_FOR_DIVISION:
            return term
        dividend, divisor = term.operands
        amount = _amount(divisor)
        if amount is None:
            return term
        operands = [dividend, amount]
        shift = SHIFT_FOR_DIVISION[term.op]
        return Scalar(shift, operands, operation_type(term), None, term.location)

    return visit(term)


def _amount(divisor: Term) -> Term | None:
    """Return the literal k for the divisor 2**k, or a vector of it, else None."""
    if (
        isinstance(divisor, Apply)
        and isinstance(divisor.function, Pattern)
        and divisor.function.spec is VECTOR_FROM_SCALAR
    ):
        amount = _amount(divisor.argument)
        return None if amount is None else Apply(divisor.function, amount, divisor.location)
    exponent = shift_amount(divisor)
    if exponent is None:
        return None
    return Literal(literal(exponent, scalar_type(divisor)), divisor.location)
