"""Selection: one of two values by a condition."""

from __future__ import annotations

from typing import Any

from riselang.dialects.rise.pattern_registry import CLAMP_IDX, FROM_IDX
from riselang.dialects.rise.types import IdxType, TupleType, i1, index
from riselang.dsl.diagnostics import refuse
from riselang.dsl.pattern_application import apply_pattern
from riselang.dsl.symbolic_values import Value, as_node, convert_operands, has_arrays, map_arrays
from riselang.dsl.tracing import current_trace
from riselang.dsl.type_promotion import promote_nodes
from riselang.dsl.user_locations import user_location
from riselang.term import build

Operand = Any


def select(condition: Operand, chosen: Operand, other: Operand) -> Value:
    """Return `chosen` where the condition holds, else `other`; by element, and by component."""
    trace = current_trace()
    if _is_pair(chosen) and _is_pair(other):
        return _select_components(condition, chosen, other)
    if has_arrays((condition, chosen, other)):
        return map_arrays("where", select, (condition, chosen, other))
    if _is_index(chosen) and _is_index(other):
        return _select_index(condition, chosen, other)
    if _is_pair(chosen) or _is_pair(other):
        refuse("'where': the branches have different types, because only one of them is a pair")
    test, *branches = convert_operands("where", (condition, chosen, other))
    first, second = promote_nodes(branches)
    wanted = trace.inference.with_lane(first.type, i1)
    trace.unify(wanted, test.type, "condition of 'where'")
    trace.unify(first.type, second.type, "branches of 'where'")
    type = trace.inference.resolve(first.type)
    nodes = [test, first, second]
    return Value(
        build.Operation(type, "arith.select", nodes, scope=trace.scope, location=user_location())
    )


def _is_pair(value: Operand) -> bool:
    is_pair_value = isinstance(value, Value) and isinstance(value.type, TupleType)
    return is_pair_value or (isinstance(value, tuple) and len(value) >= 2)


def _is_index(value: Operand) -> bool:
    return isinstance(value, Value) and isinstance(value.type, IdxType)


def _select_index(condition: Operand, chosen: Value, other: Value) -> Value:
    current_trace().unify(chosen.node.type, other.node.type, "branches of 'where'")
    numbers = [Value(apply_pattern(FROM_IDX, {}, [each], None)) for each in (chosen, other)]
    arguments = {"n": chosen.type.bound, "t": index}  # pyright: ignore
    return Value(apply_pattern(CLAMP_IDX, arguments, [select(condition, *numbers)], None))


def _select_components(condition: Operand, chosen: Operand, other: Operand) -> Value:
    pairs = zip(_components(chosen), _components(other), strict=True)
    return Value(as_node(tuple(select(condition, first, second) for first, second in pairs)))


def _components(pair: Operand) -> tuple[Operand, Operand]:
    if isinstance(pair, Value):
        return pair.fst, pair.snd
    first, *remaining = pair
    return first, remaining[0] if len(remaining) == 1 else tuple(remaining)
