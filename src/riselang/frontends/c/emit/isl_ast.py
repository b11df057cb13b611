"""Queries about the nodes of isl's AST."""

from __future__ import annotations

from typing import Any

from riselang.frontends.c.model.isl_text import isl

PARALLEL_MARK = "rise.parallel"
"""The mark of loops whose iterations do not depend on each other."""


def statement_calls(node: Any) -> list[Any]:
    """Return the statement calls in a body; none if there is anything else."""
    types = isl().ast_node_type
    kind = node.get_type()
    if kind == types.user:
        return [node.user_get_expr()]
    if kind == types.mark:
        return statement_calls(node.mark_get_node())
    if kind != types.block:
        return []
    children = node.block_get_children()
    found = [
        statement_calls(children.get_at(position)) for position in range(children.n_ast_node())
    ]
    return [call for calls in found for call in calls] if all(found) else []


def callee_name(call: Any) -> str:
    return str(call.get_op_arg(0).get_id().get_name())


def first_statement_call(node: Any) -> Any:
    """Return the first statement inside a node."""
    types = isl().ast_node_type
    while node.get_type() != types.user:
        kind = node.get_type()
        if kind == types.block:
            node = node.block_get_children().get_at(0)
        elif kind == types.for_:
            node = node.for_get_body()
        elif kind == types.if_:
            node = node.if_get_then_node()
        else:
            node = node.mark_get_node()
    return node


def parallel_depth(node: Any, depth: int = 0) -> int:
    """Return the number of parallel loops around each statement call, summed over all calls."""
    if node is None:
        return 0
    types = isl().ast_node_type
    kind = node.get_type()
    if kind == types.user:
        return depth
    if kind == types.block:
        children = node.block_get_children()
        return sum(
            parallel_depth(children.get_at(position), depth)
            for position in range(children.n_ast_node())
        )
    if kind == types.for_:
        is_own = is_parallel_loop(node) and not node.for_is_degenerate()
        return parallel_depth(node.for_get_body(), depth + is_own)
    if kind == types.if_:
        inner = parallel_depth(node.if_get_then_node(), depth)
        has_else = node.if_has_else_node()
        return inner + (parallel_depth(node.if_get_else_node(), depth) if has_else else 0)
    return parallel_depth(node.mark_get_node(), depth)


def is_parallel_loop(node: Any) -> bool:
    try:
        annotation = node.get_annotation()
    except isl().Error:
        return False  # it has no annotation
    return bool(annotation.get_name() == PARALLEL_MARK)
