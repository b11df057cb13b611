"""Open terms under construction: named variables, types with unknowns, sharing by identity.

Front ends build `Node`s; `finish` turns them into a `Term` in one pass: it fills in unknown types,
replaces variables with de Bruijn indices and overloaded operators with ops, and adds a `let` for
each computed value that is used more than once in the scope where it was created.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.attributes import LiteralAttr, Number
from riselang.dialects.rise.pattern_registry import FST, GATHER, MAP, SND, TUPLE
from riselang.dialects.rise.pattern_spec import PatternSpec, Role
from riselang.dialects.rise.types import (
    DepFunType,
    FunType,
    RiseType,
    ScalarType,
    VectorType,
    contains_array,
    pair,
)
from riselang.nat import Nat
from riselang.support.errors import SourceLocation
from riselang.term.foreign import ForeignRegion

_serials = itertools.count()


def new_serial() -> int:
    """The number of a new node: nodes are numbered in the order of their creation."""
    return next(_serials)


OBSERVED = "observed"
"""The label of values that a let always binds, in the order of the program: the computation of
them has an effect."""


class Scope:
    """The body of a lambda, or a block: where a `let` can bind a shared value."""

    __slots__ = ("parent",)

    def __init__(self, parent: Scope | None = None):
        self.parent = parent


@dataclass(eq=False)
class Node:
    """A node whose type may still contain unknowns, and the scope in which it was created."""

    type: RiseType
    scope: Scope | None = field(default=None, kw_only=True)
    location: SourceLocation | None = field(default=None, kw_only=True)
    serial: int = field(default_factory=_serials.__next__, kw_only=True)
    label: str | None = field(default=None, kw_only=True)
    """Its name in the source, if a let binds it."""

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
    """A function of a size or data type; types in `body` mention it as `name`."""

    kind: str
    name: str
    hint: str
    """The name of the size or data type in the source."""
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
    """A number whose type may be inferred from its uses, or a literal attribute, which has a
    type."""

    number: Number | complex | LiteralAttr


@dataclass(eq=False)
class ArrayConstant(Node):
    """An array of numbers in row-major order, whose shape is that of the type."""

    elements: Sequence[Constant]

    @property
    def children(self) -> tuple[Node, ...]:
        return tuple(self.elements)


def literal_node(
    attribute: LiteralAttr, scope: Scope | None, location: SourceLocation | None
) -> Node:
    """The node of a literal, which is a scalar or an array."""
    if isinstance(attribute.type, ScalarType):
        return Constant(attribute.type, attribute, scope=scope, location=location)
    elements = [
        Constant(each.type, each, scope=scope, location=location) for each in attribute.elements
    ]
    return ArrayConstant(attribute.type, elements, scope=scope, location=location)


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
    """The predicate of a comparison, or `any` if a reduction may apply the operation in any
    order."""

    @property
    def children(self) -> tuple[Node, ...]:
        return tuple(self.operands)


@dataclass(eq=False)
class Conversion(Node):
    """A cast of a scalar, or of each lane; the two types determine the op."""

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
    """The type of a vector operand and a scalar operand, if an operation mixes the two."""
    vectors = [type for type in types if isinstance(type, VectorType)]
    scalars = [
        operand
        for operand, type in zip(operands, types, strict=True)
        if isinstance(type, ScalarType) or (type not in vectors and isinstance(operand, Constant))
    ]
    return (vectors[0], scalars[0]) if vectors and scalars else None


def describe_scalar(node: Node) -> tuple[str, str]:
    """How an error message describes a scalar, and how it spells it in a suggested fix."""
    if isinstance(node, Constant):
        return f"the number {node.number}", str(node.number)
    if isinstance(node, Variable):
        return f"the scalar {node.name}", node.name
    return "a scalar", "a"


def tuple_of(components: Sequence[Node], scope: Scope) -> Node:
    """Make nested pairs, unless the last components are all those of one value: that is the tuple
    already, and is stored once, while its components would be copied."""
    *others, result = components
    for first in reversed(others):
        whole = _argument_of(FST, first)
        if whole is not None and whole is _argument_of(SND, result):
            result = whole
            continue
        arguments: dict[str, Argument] = {"s": first.type, "t": result.type}
        use = PatternUse(TUPLE.instantiate(arguments), TUPLE, arguments, scope=scope)
        type = pair(first.type, result.type)
        result = Application(type, use, [first, result], scope=scope)
    return result


def _argument_of(spec: PatternSpec, node: Node) -> Node | None:
    """Return the argument of a pattern that is applied to one, or None for other nodes."""
    if not isinstance(node, Application) or not isinstance(node.function, PatternUse):
        return None
    is_applied = node.function.spec is spec and len(node.arguments) == 1
    return node.arguments[0] if is_applied else None


def is_view_node(node: Node, let_bound: Collection[Node] = ()) -> bool:
    """Whether reading the node costs nothing: layout patterns over variables and let-bound nodes.

    A map of such patterns is a view, too. Reading a gather loads indices.
    """
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, Variable | Constant | ArrayConstant) or current in let_bound:
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
        if spec.role is not Role.VIEW or spec is GATHER:
            return False
        stack.extend(arguments)
    return True


@dataclass(frozen=True)
class Uses:
    """How often the nodes of a program are used."""

    counts: Mapping[Node, int]
    inside: Collection[Node]
    """The computed values that are used in a scope inside the one where they were created."""


def outer_values(root: Function) -> list[Node]:
    """Return the data of enclosing scopes that a function reads."""
    inside = {root.inner: True}

    def is_inside(scope: Scope | None) -> bool:
        chain: list[Scope] = []
        while scope is not None and scope not in inside:
            chain.append(scope)
            scope = scope.parent
        result = scope is not None and inside[scope]
        inside.update(dict.fromkeys(chain, result))
        return result

    values: dict[Node, None] = {}
    seen: set[Node] = set()
    stack = [root.body]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Function | DependentFunction):
            inside[node.inner] = True  # also of a function of an enclosing scope
        is_constant = isinstance(node, Constant | ArrayConstant)
        is_data = not isinstance(node.type, FunType | DepFunType) and not is_constant
        if is_data and node.scope is not None and not is_inside(node.scope):
            values[node] = None
        else:
            stack.extend(node.children)
    return list(values)


def count_uses(root: Node, given: Collection[Node] = ()) -> Uses:
    """Count the uses of all nodes below a root; nodes below those that are given do not count."""
    counts: dict[Node, int] = {}
    inside: set[Node] = set()
    stack: list[tuple[Node, Scope | None]] = [(root, root.scope)]
    while stack:
        node, scope = stack.pop()
        count = counts[node] = counts.get(node, 0) + 1
        if node.scope is not scope and _is_computed(node):
            inside.add(node)
            scope = node.scope
        if count == 1 and node not in given:
            if isinstance(node, Function | DependentFunction):
                scope = node.inner
            for child in node.children:
                stack.append((child, scope))
    return Uses(counts, inside)


def shared_nodes(uses: Uses) -> dict[Scope | None, list[Node]]:
    """The nodes that get a let, by the scope in which they were created, oldest first.

    These are the computed values that have two or more uses, or a use in a nested scope, which may
    run many times, or whose computation has an effect; and the functions that return arrays and are
    called twice or more.
    """
    shared: dict[Scope | None, list[Node]] = {}
    let_bound: set[Node] = set()
    candidates = [
        node
        for node, count in uses.counts.items()
        if count > 1 or node in uses.inside or node.label == OBSERVED
    ]
    called_functions = _frequently_called_functions(uses.counts)
    for node in sorted(candidates, key=lambda node: node.serial):
        if node in called_functions or _is_computed(node, let_bound):
            shared.setdefault(node.scope, []).append(node)
            let_bound.add(node)
    return shared


def _frequently_called_functions(uses: Mapping[Node, int]) -> set[Node]:
    """The functions that return arrays and have two or more uses, all of them complete calls."""
    calls: dict[Node, int] = {}
    for node in uses:
        if isinstance(node, Application) and isinstance(node.function, Function):
            function = node.function
            is_complete = len(node.arguments) == len(function.parameters)
            if is_complete and not isinstance(node.type, FunType) and contains_array(node.type):
                calls[function] = calls.get(function, 0) + 1
    return {function for function, count in calls.items() if count > 1 and uses[function] == count}


def _is_computed(node: Node, let_bound: Collection[Node] = ()) -> bool:
    return not isinstance(node.type, FunType | DepFunType) and not is_view_node(node, let_bound)
