"""`rl.reduce(f, init, order="any")`: reductions that may combine their elements in any order."""

from __future__ import annotations

from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dsl.tracing import value_text
from riselang.dsl.user_locations import user_location
from riselang.support.errors import UserError
from riselang.term import build
from riselang.term.scalar_ops import ANY_ORDER

REDUCTIONS = ("reduce", "reduceSeq", "reduceSeqUnroll", "reducePar", "reduceRank")
ASSOCIATIVE = ("add", "mult", "max", "min", "bitand", "bitor", "bitxor", "fma")
"""The operations by which a reduction in any order may combine its accumulator with an element."""


def check_order(spec: PatternSpec, order: object) -> None:
    """Reject an order that a pattern does not take."""
    if spec.name not in REDUCTIONS:
        raise UserError(
            f"{spec.name}: order={value_text(order)} is not supported; only reductions "
            "have an order",
            user_location(),
        )
    if not isinstance(order, str) or order != ANY_ORDER:
        raise UserError(
            f'{spec.name}: order must be "any", but is {value_text(order)}; without it, a '
            "reduction combines its elements from left to right",
            user_location(),
        )


def permit_order(reduction: build.Node, order: str | None) -> build.Node:
    """Mark the operation of a reduction as one that may be applied in any order."""
    if order is None:
        return reduction
    operation = _accumulating_operation(reduction)
    if operation is None:
        raise UserError(
            'reduce: order="any" needs a function that adds a value to the accumulator, multiplies '
            "them, or returns their maximum or minimum, such as rl.add or "
            "lambda total, x: total + x * x; compute everything else in a map before the reduction",
            user_location(),
        )
    operation.predicate = ANY_ORDER
    return reduction


def _accumulating_operation(reduction: build.Node) -> build.Operation | None:
    """Return the operation that combines the accumulator of a reduction with a value."""
    if not isinstance(reduction, build.Application):
        return None
    function = reduction.arguments[0]
    if not isinstance(function, build.Function) or not isinstance(function.body, build.Operation):
        return None
    operation = function.body
    # The accumulator of an fma is its addend.
    operands = operation.operands[2:] if operation.op == "fma" else operation.operands
    is_combined = operation.op in ASSOCIATIVE and function.parameters[0] in operands
    return operation if is_combined else None
