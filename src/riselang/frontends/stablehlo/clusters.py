"""Clustering of elementwise ops: an op joins the map of its only user."""

from __future__ import annotations

from collections.abc import Callable

from riselang.native.mlir.stablehlo_graph import GraphBlock, GraphOp, GraphValue, TensorKind


def cluster_roots(
    block: GraphBlock, is_elementwise: Callable[[GraphOp], bool]
) -> dict[GraphOp, GraphOp]:
    """Return, for each elementwise op, the op in whose map it is computed, which may be itself.

    An op joins its users if all of them are in one map of its own shape.
    """
    users = _users_of_values(block)
    found: dict[GraphOp, GraphOp] = {}
    for op in reversed(block.operations):
        if not is_elementwise(op):
            continue
        found[op] = op
        using = users.get(op.results[0], [])
        homes = {found.get(user) for user in using if user is not None}
        if None in using or len(homes) != 1:
            continue
        (home,) = homes
        if home is not None and _result_shape(home) == _result_shape(op):
            found[op] = home
    return found


def _users_of_values(block: GraphBlock) -> dict[GraphValue, list[GraphOp | None]]:
    """Return the ops of a block that use each value; None for one in a nested region."""
    users: dict[GraphValue, list[GraphOp | None]] = {}
    for op in block.operations:
        for operand in op.operands:
            users.setdefault(operand, []).append(op)
        for region in op.regions:
            for inner in region.walk():
                for operand in inner.operands:
                    users.setdefault(operand, []).append(None)
    return users


def _result_shape(op: GraphOp) -> tuple[int | None, ...] | None:
    type = op.results[0].type
    return type.shape if isinstance(type, TensorKind) else None
