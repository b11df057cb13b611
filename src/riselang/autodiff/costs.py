"""Which nodes are cheap to compute again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from riselang.dialects.rise import pattern_registry as patterns
from riselang.dialects.rise.pattern_spec import Role
from riselang.dialects.rise.types import (
    DepFunType,
    FunType,
    RiseType,
    is_float,
    leaves,
)
from riselang.term import build
from riselang.term.build import Node
from riselang.term.mathlib import LIBRARY_FUNCTIONS

EXPENSIVE_OPS = frozenset({"arith.divf", "math.sqrt", *LIBRARY_FUNCTIONS})
"""The ops whose results are read from memory rather than computed again."""
CHEAP_PATTERNS = frozenset({
    patterns.MAP, patterns.GENERATE, patterns.TUPLE, patterns.UPDATE_AT, patterns.CLAMP_IDX,
    patterns.CHECK_IDX, patterns.FROM_IDX, patterns.SIZE_OF,
})  # fmt: skip
"""The patterns, other than views, that take no time of their own."""


def frontier(
    roots: Sequence[Node], scope: build.Scope, is_leaf: Callable[[Node], bool]
) -> dict[Node, None]:
    """Return the first nodes below these that satisfy a condition, within a scope."""
    found: dict[Node, None] = {}
    seen: set[Node] = set()
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node in seen or not is_inside(node, scope):
            continue
        seen.add(node)
        if is_leaf(node):
            found[node] = None
        else:
            stack.extend(reversed(node.children))
    return found


def nodes_inside(root: Node, scope: build.Scope) -> set[Node]:
    """Return the nodes of a scope that a node is computed from."""
    nodes: set[Node] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node not in nodes and is_inside(node, scope):
            nodes.add(node)
            stack.extend(node.children)
    return {each for each in nodes if each.scope is scope}


def is_inside(node: Node, scope: build.Scope) -> bool:
    current = node.scope
    while current is not None and current is not scope:
        current = current.parent
    return current is scope or isinstance(node, build.PatternUse)


def is_expensive(root: Node) -> bool:
    """Return whether a value consists of floats, and is not cheap to compute from its operands."""
    if isinstance(root.type, FunType | DepFunType):
        return False
    if not all(is_float(leaf) for _, leaf in leaves(root.type)):
        return False
    if is_expensive_step(root):
        return True
    functions = [each for each in root.children if isinstance(each, build.Function)]
    return any(frontier([each.body], each.inner, is_expensive_step) for each in functions)


def is_expensive_step(node: Node) -> bool:
    if isinstance(node, build.Operation):
        return node.op in EXPENSIVE_OPS
    if isinstance(node, build.Application):
        spec = node.function.spec if isinstance(node.function, build.PatternUse) else None
        is_cheap = spec is not None and (spec.role is Role.VIEW or spec in CHEAP_PATTERNS)
        return not is_cheap
    return isinstance(node, build.Foreign)


def is_cheap_expansion(mapped: Node, function: Node, xs: Node) -> bool:
    """Return whether a map returns more scalars than it reads, each by at most one operation:
    computing them again takes less time than reading them from memory."""
    if not isinstance(function, build.Function):
        return False
    count, source = _scalar_count(mapped.type), _scalar_count(xs.type)
    if count is None or source is None or count <= source:
        return False
    operations: list[Node] = []

    def is_costly(node: Node) -> bool:
        if isinstance(node, build.Operation):
            operations.append(node)
        return len(operations) > 1 or is_expensive_step(node)

    return not frontier([function.body], function.inner, is_costly)


def _scalar_count(type: RiseType) -> int | None:
    """Return the number of scalars of a value, if it is known."""
    total = 0
    for lengths, _ in leaves(type):
        count = 1
        for length in lengths:
            if not length.is_constant:
                return None
            count *= length.constant
        total += count
    return total
