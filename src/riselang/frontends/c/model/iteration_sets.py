"""Iteration domains of C loops."""

from __future__ import annotations

from typing import Any

from riselang.frontends.c.model.affine_arithmetic import NotAffine
from riselang.frontends.c.model.isl_text import isl, join_conditions
from riselang.frontends.c.model.quasi_affine import AffineReader
from riselang.frontends.c.model.scop_parameters import LoopNest
from riselang.frontends.c.parse.c_types import INT
from riselang.frontends.c.parse.syntax import (
    Access,
    Assign,
    Binary,
    Conditional,
    Convert,
    Expression,
    For,
    Literal,
    Statement,
    walk_statement,
)
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!=", "==": "=="}


def check_loop_variable(loop: For, nest: LoopNest) -> None:
    """Check that only its head changes a loop variable."""
    if nest.iterator_name(loop.variable) is not None:
        raise UnsupportedConstruct(
            loop.location, f"{loop.variable.name} is also the variable of an enclosing loop",
            "use a different variable",
        )  # fmt: skip
    for inner in walk_statement(loop.body):
        if isinstance(inner, Assign) and inner.target.variable is loop.variable:
            raise UnsupportedConstruct(
                inner.location, f"{loop.variable.name} is changed in the body of its loop",
                "use a different variable, or a for loop with the right step",
            )  # fmt: skip


def loop_nest(loop: For, iterator: str, outer: AffineReader) -> LoopNest:
    """Return the iterations of a loop: from the first, as long as its condition holds."""
    start = _start_condition(loop, iterator, outer)
    iterators = (*outer.nest.iterators, (loop.variable, iterator))
    begun = outer.with_nest(LoopNest(iterators, (*outer.nest.conditions, start)))
    condition = begun.read_condition(_normalized_condition(loop))
    nest = begun.nest.with_condition(condition)
    _check_iterations(loop, iterator, begun, nest, condition)
    return nest


def _start_condition(loop: For, iterator: str, outer: AffineReader) -> str:
    """Constrain the variable to the first value plus a multiple of the step."""
    comparison = ">=" if loop.step > 0 else "<="
    cases: list[str] = []
    for condition, first in outer.read_linear(loop.first):
        stride = abs(loop.step)
        steps = f"({iterator} - ({first})) mod {stride} = 0" if stride != 1 else ""
        cases.append(join_conditions([condition, f"{iterator} {comparison} {first}", steps]))
    return " or ".join(f"({each})" for each in cases)


def _normalized_condition(loop: For) -> Expression:
    """Return the condition; `i != n` with a step of one means that i has not reached n."""
    bound = loop_bound(loop)
    if bound is None or bound[0] != "!=" or abs(loop.step) != 1:
        return loop.condition
    if not loop.variable.type.is_signed:
        return loop.condition
    condition = loop.condition
    assert isinstance(condition, Binary)
    variable = Access(condition.location, loop.variable.type, loop.variable, ())
    operator = "<" if loop.step > 0 else ">"
    return Binary(condition.location, INT, operator, _convert_like(variable, bound[1]), bound[1])


def _convert_like(expression: Expression, like: Expression) -> Expression:
    if expression.type == like.type:
        return expression
    return Convert(expression.location, like.type, expression)


def _check_iterations(
    loop: For, iterator: str, begun: AffineReader, nest: LoopNest, condition: str
) -> None:
    """Check that the condition stays false once it has failed, so that it describes the
    iterations."""
    running = begun.points_where(condition)
    failing = begun.points_where(f"not ({condition})")
    last = len(nest.names) - 1
    later = _later_points(failing, last, upwards=loop.step > 0)
    if not running.intersect(later).is_empty():
        raise NotAffine(
            loop.location, "the condition of this loop may hold again after it has failed"
        )
    type = loop.variable.type
    is_int = type.is_signed and type.bits >= INT.bits
    # Signed overflow is undefined, so it does not happen; all other arithmetic wraps.
    outside = " or ".join(
        f"{iterator} + {distance} < {type.smallest} or {iterator} + {distance} > {type.largest}"
        for distance in (0, loop.step)
    )
    if not is_int and not begun.restrict(condition).is_impossible(outside):
        raise UnsupportedConstruct(
            loop.location, f"{loop.variable.name} is {type} and may wrap around in this loop",
            "count with int or long",
        )  # fmt: skip
    position = (isl().dim_type.set, last)
    has_end = running.dim_has_upper_bound if loop.step > 0 else running.dim_has_lower_bound
    if not running.is_empty() and not has_end(*position):
        raise UnsupportedConstruct(
            loop.location, "this loop does not terminate",
            f"compare {loop.variable.name} with its end",
        )  # fmt: skip


def _later_points(points: Any, last: int, *, upwards: bool) -> Any:
    """Return the points after others in the same iteration of the outer loops."""
    space = points.get_space()
    dims = isl().dim_type
    relation = isl().Map.universe(space.map_from_set())
    for position in range(last):
        relation = relation.equate(dims.in_, position, dims.out, position)
    if upwards:
        relation = relation.order_lt(dims.in_, last, dims.out, last)
    else:
        relation = relation.order_gt(dims.in_, last, dims.out, last)
    return points.apply(relation)


def loop_bound(loop: For) -> tuple[str, Expression] | None:
    """Return `(operator, end)` of a condition that compares the variable with something else."""
    condition = loop.condition
    if not isinstance(condition, Binary) or condition.operator not in _MIRRORED:
        return None
    for operator, side, other in (
        (condition.operator, condition.left, condition.right),
        (_MIRRORED[condition.operator], condition.right, condition.left),
    ):
        operand = side
        while isinstance(operand, Convert) and operand.operand.type.bits <= operand.type.bits:
            operand = operand.operand
        if isinstance(operand, Access) and operand.variable is loop.variable:
            return operator, other
    return None


def assign_final_value(loop: For) -> Statement:
    """Return an assignment of the value that the variable has after the loop."""
    bound = loop_bound(loop)
    operators = ("<", "<=", "!=") if loop.step > 0 else (">", ">=", "!=")
    is_exact = abs(loop.step) == 1 or (bound is not None and bound[0] != "!=")
    if bound is None or bound[0] not in operators or not is_exact:
        raise UnsupportedConstruct(
            loop.location,
            f"{loop.variable.name} is used after this loop, but its value there is not known",
            "use a different variable after the loop",
        )
    operator, end = bound
    location, type = loop.location, loop.variable.type
    end = end if end.type == type else Convert(location, type, end)
    first, is_up = loop.first, loop.step > 0
    if operator in ("<=", ">="):
        end = _binary(end, "+" if is_up else "-", _literal(end, 1))
    is_run = Binary(location, INT, "<" if is_up else ">", first, end)
    if abs(loop.step) != 1:
        # The first value at or beyond the end.
        low, high = (first, end) if is_up else (end, first)
        distance = _binary(high, "-", low)
        rest = _binary(_binary(distance, "-", _literal(end, 1)), "%", _literal(end, abs(loop.step)))
        beyond = _binary(_literal(end, abs(loop.step) - 1), "-", rest)
        end = _binary(end, "+" if is_up else "-", beyond)
    value = Conditional(location, type, is_run, end, first)
    return Assign(location, Access(location, type, loop.variable, ()), value)


def _literal(like: Expression, value: int) -> Literal:
    return Literal(like.location, like.type, value)


def _binary(left: Expression, operator: str, right: Expression) -> Binary:
    return Binary(left.location, left.type, operator, left, right)
