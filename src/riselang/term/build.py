"""Open terms under construction: named variables, types with unknowns, sharing by identity.

Front ends build `Node`s; `finish` turns them into a `Term` in one pass: unknown types are filled
in, variables become indices, overloaded operators become ops, and a computed value that is used
more than once in the scope where it was made becomes a `let`.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from riselang.dialects.rise.attributes import LiteralAttr, Number
from riselang.dialects.rise.pattern_registry import MAP, Argument, PatternSpec, Role
from riselang.dialects.rise.types import (
    DepFunType,
    FunType,
    RiseType,
    ScalarType,
    VectorType,
    contains_array,
)
from riselang.nat import Nat
from riselang.support.errors import SourceLocation
from riselang.term.foreign import ForeignRegion

_serials = itertools.count()


class Scope:
    """A place where shared values may be named: the body of a lambda, or a block."""

    __slots__ = ("parent",)

    def __init__(self, parent: Scope | None = None):
        self.parent = parent


@dataclass(eq=False)
class Node:
    """A node with a type that may still have unknowns, and the scope it was made in."""

    type: RiseType
    scope: Scope | None = field(default=None, kw_only=True)
    location: SourceLocation | None = field(default=None, kw_only=True)
    serial: int = field(default_factory=lambda: next(_serials), kw_only=True)
    label: str | None = field(default=None, kw_only=True)
    """What its author calls it, where a let names it."""

    @property
    def children(self) -> tuple[Node, ...]:
        return ()


@dataclass(eq=False)
class Variable(Node):
    name: str


@dataclass(eq=False)
class Function(Node):
    parameters: Sequence[Variable]
    body: Node
    inner: Scope

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.body,)


@dataclass(eq=False)
class DependentFunction(Node):
    """A function of the size or data type that the types in `body` call `name`."""

    kind: str
    name: str
    hint: str
    """What its author calls it."""
    body: Node
    inner: Scope

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.body,)


@dataclass(eq=False)
class DependentApplication(Node):
    function: Node
    argument: Nat | RiseType

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.function,)


@dataclass(eq=False)
class Application(Node):
    function: Node
    arguments: Sequence[Node]

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.function, *self.arguments)


@dataclass(eq=False)
class Constant(Node):
    """A number whose type may come from its use; or a literal attribute with its type."""

    number: Number | LiteralAttr


@dataclass(eq=False)
class PatternUse(Node):
    spec: PatternSpec
    arguments: dict[str, Argument]
    to: str | None = None


@dataclass(eq=False)
class Operation(Node):
    """An operation on scalars or lanes: an MLIR op, or a name (`add`) that `finish` resolves."""

    op: str
    operands: Sequence[Node]
    predicate: str | None = None

    @property
    def children(self) -> tuple[Node, ...]:
        return tuple(self.operands)


@dataclass(eq=False)
class Conversion(Node):
    """A cast of a scalar, or of each lane; the op follows from the two types."""

    operand: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.operand,)


@dataclass(eq=False)
class Foreign(Node):
    region: ForeignRegion
    operands: Sequence[Node]

    @property
    def children(self) -> tuple[Node, ...]:
        return tuple(self.operands)


def mixed_operands(
    operands: Sequence[Node], types: Sequence[RiseType]
) -> tuple[VectorType, Node] | None:
    """A vector among the operands and a scalar among them, where an operation has both."""
    vectors = [type for type in types if isinstance(type, VectorType)]
    scalars = [
        operand
        for operand, type in zip(operands, types, strict=True)
        if isinstance(type, ScalarType) or (type not in vectors and isinstance(operand, Constant))
    ]
    return (vectors[0], scalars[0]) if vectors and scalars else None


def shown_scalar(node: Node) -> tuple[str, str]:
    """What an error calls a scalar, and how that may be written."""
    if isinstance(node, Constant):
        return f"the number {node.number}", str(node.number)
    if isinstance(node, Variable):
        return f"the scalar {node.name}", node.name
    return "a scalar", "a"


def is_view(node: Node, named: Collection[Node] = ()) -> bool:
    """Whether reading the node costs nothing: layout patterns over variables and named nodes.

    A map of such patterns is one itself.
    """
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, Variable | Constant) or current in named:
            continue
        if isinstance(current, PatternUse) and current.spec.role is Role.VIEW:
            continue
        if not isinstance(current, Application) or not isinstance(current.function, PatternUse):
            return False
        spec, arguments = current.function.spec, current.arguments
        if spec is MAP and arguments:
            function, *xs = arguments
            stack += [function.body if isinstance(function, Function) else function, *xs]
            continue
        if spec.role is not Role.VIEW:
            return False
        stack.extend(arguments)
    return True


def shared_nodes(root: Node) -> dict[Scope | None, list[Node]]:
    """The computed values to be named, by the scope they were made in, oldest first.

    These are the values with two or more uses, and those that are used in a scope further inside,
    which may run many times; and functions that give arrays and are called twice or more.
    """
    uses: dict[Node, int] = {}
    used_inside: set[Node] = set()
    stack: list[tuple[Node, Scope | None]] = [(root, root.scope)]
    while stack:
        node, scope = stack.pop()
        uses[node] = uses.get(node, 0) + 1
        if node.scope is not scope and _is_computed(node):
            used_inside.add(node)
            scope = node.scope
        if uses[node] == 1:
            inner = node.inner if isinstance(node, Function | DependentFunction) else scope
            stack.extend((child, inner) for child in node.children)
    shared: dict[Scope | None, list[Node]] = {}
    named: set[Node] = set()
    candidates = [node for node, count in uses.items() if count > 1 or node in used_inside]
    called = _called_often(uses)
    for node in sorted(candidates, key=lambda node: node.serial):
        if node in called or _is_computed(node, named):
            shared.setdefault(node.scope, []).append(node)
            named.add(node)
    return shared


def _called_often(uses: Mapping[Node, int]) -> set[Node]:
    """The functions that give arrays and whose uses are calls with all arguments, two or more."""
    calls: dict[Node, int] = {}
    for node in uses:
        if isinstance(node, Application) and isinstance(node.function, Function):
            function = node.function
            is_whole = len(node.arguments) == len(function.parameters)
            if is_whole and not isinstance(node.type, FunType) and contains_array(node.type):
                calls[function] = calls.get(function, 0) + 1
    return {function for function, count in calls.items() if count > 1 and uses[function] == count}


def _is_computed(node: Node, named: Collection[Node] = ()) -> bool:
    return not isinstance(node.type, FunType | DepFunType) and not is_view(node, named)
