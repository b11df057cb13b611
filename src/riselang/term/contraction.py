"""Float contraction: a multiplication and an addition become one `fma`, which rounds once.

Contraction happens here, on the source term; no later pass contracts anything. So the results of
all back ends are bitwise identical, and those of the interpreter, which computes `fma` exactly. f16
and bf16 are not contracted: not every CPU has an fma for them. Vectors are contracted like scalars.
"""

from __future__ import annotations

from riselang.dialects.rise.types import f32, f64
from riselang.term.deep_recursion import recursive
from riselang.term.fusion import inline_element_functions
from riselang.term.nodes import ARITHMETIC, Scalar, Term, operation_type, scalar_type
from riselang.term.substitution import map_children


def contract(term: Term) -> Term:
    """Inline element functions, and contract multiplications with additions."""
    return _contract_scalars(inline_element_functions(term))


@recursive
def _contract_scalars(term: Term) -> Term:
    def visit(term: Term) -> Term:
        if not term.patterns & ARITHMETIC:
            return term
        term = map_children(term, visit, visit)
        if isinstance(term, Scalar) and scalar_type(term) in (f32, f64):
            return _contract_sum(term)
        return term

    return visit(term)


def _contract_sum(term: Scalar) -> Scalar:
    """Contract `a * b + c`, `c + a * b`, `a * b - c` or `c - a * b`; if both operands are products,
    the left one."""
    if term.op not in ("arith.addf", "arith.subf"):
        return term
    left, right = term.operands
    is_difference = term.op == "arith.subf"
    if isinstance(left, Scalar) and left.op == "arith.mulf":
        addend = _negate(right) if is_difference else right
        return _fma(left.operands[0], left.operands[1], addend, term)
    if isinstance(right, Scalar) and right.op == "arith.mulf":
        factor = _negate(right.operands[0]) if is_difference else right.operands[0]
        return _fma(factor, right.operands[1], left, term)
    return term


def _fma(a: Term, b: Term, c: Term, term: Scalar) -> Scalar:
    return Scalar("math.fma", [a, b, c], operation_type(term), term.predicate, term.location)


def _negate(term: Term) -> Term:
    return Scalar("arith.negf", [term], operation_type(term), None, term.location)
