"""`rl.if_`: the value of one of two branches."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from riselang.dialects.rise.types import ArrayType, RiseType, TupleType, i1
from riselang.dsl.captures import is_array_like
from riselang.dsl.diagnostics import refuse
from riselang.dsl.selection import select
from riselang.dsl.symbolic_values import Value, as_node, build_operation
from riselang.dsl.tracing import current_trace, type_text
from riselang.support.structures import flatten


def if_(condition: Any, chosen: Any, other: Any) -> Any:
    """Return `chosen` if a Boolean is true, else `other`: values, or structures of values.

    A branch may be a function without arguments that returns them. The program computes both
    branches, and performs the checks of the one that is chosen. If the condition is known while
    the function is traced, it contains only this branch.
    """
    if isinstance(condition, bool | np.bool_):
        branch = chosen if condition else other
        return branch() if callable(branch) else branch
    if not isinstance(condition, Value) or condition.type != i1:
        found = type_text(condition.type) if isinstance(condition, Value) else repr(condition)
        refuse(
            f"if_: expected a Boolean as the condition, but found {found}; "
            "rl.where(mask, a, b) chooses by element"
        )
    first = _call_branch(chosen, condition)
    second = _call_branch(other, build_operation("bitnot", condition))
    leaves, structure = flatten(first, is_array_like)
    other_leaves, other_structure = flatten(second, is_array_like)
    if structure != other_structure:
        refuse(
            f"if_: the branches have different structures, {_describe(first)} and "
            f"{_describe(second)}"
        )
    results = [_choose(condition, *pair) for pair in zip(leaves, other_leaves, strict=True)]
    return structure.unflatten(results)


def _call_branch(branch: Any, condition: Value) -> Any:
    """Return the value of a branch, whose checks are performed if the condition holds."""
    if not callable(branch):
        return branch
    conditions = current_trace().branch_conditions
    conditions.append(condition)
    try:
        return branch()
    finally:
        conditions.pop()


def branch_condition() -> Value | None:
    """Return the condition of all branches that are being traced; None outside of branches."""
    conditions = current_trace().branch_conditions
    if not conditions:
        return None
    return reduce(lambda outer, inner: outer & inner, conditions)


def _choose(condition: Value, chosen: Any, other: Any) -> Value:
    trace = current_trace()
    types = [_type_of(chosen), _type_of(other)]
    kinds = [isinstance(each, ArrayType | TupleType) for each in types]
    if kinds[0] != kinds[1]:
        texts = [type_text(each) if each is not None else "a number" for each in types]
        refuse(
            f"if_: the branches have different types, {texts[0]} and {texts[1]}; rl.where "
            "broadcasts its operands"
        )
    first, second = (
        each if isinstance(each, Value) else Value(as_node(each, type))
        for each, type in ((chosen, types[1]), (other, types[0]))
    )
    trace.unify(first.node.type, second.node.type, "branches of 'if_'")
    return select(condition, first, second)


def _type_of(value: Any) -> RiseType | None:
    """Return the type of a value of the program, or of an array that it captures."""
    if isinstance(value, Value):
        return value.type
    return Value(as_node(value)).type if is_array_like(value) else None


def _describe(value: Any) -> str:
    if isinstance(value, Value):
        return type_text(value.type)
    return f"a {type(value).__name__}"
