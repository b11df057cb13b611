"""`rl.check`: assertions on values of a program, which raise an error when it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riselang.dialects.rise.pattern_registry import (
    CHECK_IDX,
    CLAMP_IDX,
    FROM_IDX,
    MAP,
    VECTOR_FROM_SCALAR,
)
from riselang.dialects.rise.types import ArrayType, IdxType, TupleType, VectorType, i32, index
from riselang.dsl.conditionals import branch_condition
from riselang.dsl.pattern_application import apply_pattern
from riselang.dsl.selection import select
from riselang.dsl.symbolic_values import Value, as_node, compare
from riselang.dsl.tracing import current_trace, make_pair, value_text
from riselang.dsl.user_locations import user_location
from riselang.nat import Nat
from riselang.support.errors import UserError
from riselang.term import build


def check(condition: Any, message: str, value: Any = None) -> Any:
    """Raise an error with a message, at this line, if a condition is false when the program runs.

    The check is performed where `value` is computed, and returns it. Without a value, the check is
    performed where the result of the enclosing function is computed: for an element function, for
    each element.
    """
    if not isinstance(message, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserError(
            f"check: expected a message as the second argument, but found {value_text(message)}",
            user_location(),
        )
    trace = current_trace()
    zero, one = Value(as_node(0, i32)), Value(as_node(1, i32))
    branch = branch_condition()
    failed = select(condition if branch is None else condition | ~branch, zero, one)
    passed = Value(apply_pattern(CHECK_IDX, {"n": Nat.const(1), "t": i32}, [failed], None))
    trace.add_message(user_location(), message)
    if value is not None:
        return Value(guard_by_check(as_node(value), passed))
    trace.scope_checks.setdefault(trace.scope, []).append(passed)
    return None


def guard_by_check(node: build.Node, passed: Value) -> build.Node:
    """Return a value whose computation performs a check."""

    def is_passed() -> Value:
        return compare("eq", "==", Value(apply_pattern(FROM_IDX, {}, [passed], None)), 0)

    return _guard(node, is_passed)


def guard_by_token(node: build.Node, token: Value) -> build.Node:
    """Return a value whose computation performs the observations of a token."""
    return _guard(node, lambda: compare("eq", "==", token, 0))


def _guard(node: build.Node, make_condition: Callable[[], Value]) -> build.Node:
    """Return a value whose computation computes a condition."""
    trace = current_trace()
    value, type = Value(node), trace.inference.resolve(node.type)
    if isinstance(type, ArrayType):
        return apply_pattern(
            MAP, {}, [lambda x: Value(_guard(x.node, make_condition)), value], None
        )
    if isinstance(type, TupleType):
        parts = [_guard(part.node, make_condition) for part in (value.fst, value.snd)]
        return make_pair(trace, *parts)
    condition = make_condition()
    if isinstance(type, IdxType):
        number = Value(apply_pattern(FROM_IDX, {}, [value], None))
        chosen = select(condition, number, number)
        return apply_pattern(CLAMP_IDX, {"n": type.bound, "t": index}, [chosen], None)
    if isinstance(type, VectorType):
        condition = Value(apply_pattern(VECTOR_FROM_SCALAR, {"k": type.length}, [condition], None))
    return select(condition, value, value).node
