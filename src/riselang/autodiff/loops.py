"""Loops of a derivative under construction: maps whose arrays are added as they are needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from riselang.autodiff.building import Builder, arguments_of
from riselang.autodiff.copying import copy_nodes
from riselang.autodiff.costs import is_cheap_expansion
from riselang.dialects.rise.pattern_registry import MAP, ZIP
from riselang.dialects.rise.types import element_of
from riselang.nat import Nat
from riselang.term import build
from riselang.term.build import Node


class Label:
    """An axis of a nest, with its length."""

    __slots__ = ("length",)

    def __init__(self, length: Nat):
        self.length = length


class Loop:
    """A map over arrays of one length, whose body is built in its scope."""

    def __init__(self, builder: Builder, length: Nat, name: str = "x"):
        self.label = Label(length)
        self.scope = builder.inner_scope()
        self.arrays: dict[Node, Node] = {}
        """The array of each element variable."""
        self._builder = builder
        self._name = name
        self._elements: dict[Node, Node] = {}
        self._maps: dict[Node, Node] = {}
        self._hoisted: dict[Node, Node] = {}
        self._applied: dict[tuple[Node, Node], Node] = {}

    def element(self, xs: Node, name: str | None = None) -> Node:
        """Return the elements of an array, which is a node of an outer scope: a variable, or a pair
        of the elements of zipped arrays."""
        zipped = arguments_of(xs, ZIP)
        if zipped is not None:
            parts = [self.element(each, name) for each in zipped]
            with self._builder.in_scope(self.scope):
                return self._builder.pair(*parts)
        computed = _expansion(xs)
        if computed is not None:
            return self._apply(*computed)
        if xs not in self._elements:
            type = element_of(xs.type)
            variable = self._builder.variable(type, name or self._name, self.scope)
            self._elements[xs] = variable
            self.arrays[variable] = xs
        return self._elements[xs]

    def element_arrays(self, xs: Node) -> dict[Node, Node]:
        """Return the variables that the element of an array is computed from, with their arrays."""
        zipped = arguments_of(xs, ZIP)
        if zipped is not None:
            return {
                name: array for each in zipped for name, array in self.element_arrays(each).items()
            }
        computed = _expansion(xs)
        if computed is not None:
            return self.element_arrays(computed[1])
        return {self._elements[xs]: xs}

    def _apply(self, function: Node, xs: Node) -> Node:
        """Return the element of a mapped array, computed in the scope of this loop."""
        key = (function, xs)
        if key not in self._applied:
            assert isinstance(function, build.Function)
            values: dict[Node, Node] = {function.parameters[0]: self.element(xs)}
            self._applied[key] = copy_nodes(function.body, function.inner, self.scope, values)
        return self._applied[key]

    def map(self, body: Node) -> Node:
        """Return the array of the values of a node of this scope, in all iterations."""
        if body in self.arrays:
            return self.arrays[body]
        if body not in self._maps:
            self._maps[body] = self._new_map(body)
        return self._maps[body]

    def map_all(self, bodies: Sequence[Node]) -> list[Node]:
        """Return the arrays of several nodes; one map computes all that are not views."""
        computed = [each for each in dict.fromkeys(bodies) if self._is_new(each)]
        if len(computed) > 1:
            with self._builder.in_scope(self.scope):
                body = self._builder.tuple(computed)
            arrays = self._builder.unzip_all(self._new_map(body), len(computed))
            self._maps.update(zip(computed, arrays, strict=True))
        return [self.map(each) for each in bodies]

    def is_invariant(self, body: Node) -> bool:
        """Return whether a node of this scope has the same value in all iterations."""
        return not self._used(body)

    def hoist(self, body: Node) -> Node:
        """Return an invariant node of this scope as a node of the outer scope."""
        if body not in self._hoisted:
            self._hoisted[body] = copy_nodes(body, self.scope, self._builder.scope, {})
        return self._hoisted[body]

    def _used(self, body: Node) -> list[Node]:
        return nodes_in(body, [*self.arrays])

    def _is_new(self, body: Node) -> bool:
        return body not in self.arrays and body not in self._maps and not build.is_view_node(body)

    def _new_map(self, body: Node) -> Node:
        builder = self._builder
        used = self._used(body)
        if not used:
            return builder.generate(self.label.length, lambda _: self._copy(body, {}))
        arrays = [self.arrays[each] for each in used]
        if len(used) == 1:
            return builder.map(lambda x: self._copy(body, {used[0]: x}), arrays[0], _name(used[0]))

        def unpack(elements: Node) -> Node:
            parts = builder.unpack(elements, len(used))
            return self._copy(body, dict(zip(used, parts, strict=True)))

        return builder.map(unpack, builder.zip_all(arrays))

    def _copy(self, body: Node, values: Mapping[Node, Node]) -> Node:
        """Copy a body to the current scope: each map has a scope of its own."""
        return copy_nodes(body, self.scope, self._builder.scope, values)


def _expansion(xs: Node) -> Sequence[Node] | None:
    """Return the function and the array of a map whose elements are cheaper to compute than to
    read."""
    computed = arguments_of(xs, MAP)
    return computed if computed is not None and is_cheap_expansion(xs, *computed) else None


def _name(node: Node) -> str:
    return node.name if isinstance(node, build.Variable) else "x"


def nodes_in(root: Node, nodes: Sequence[Node]) -> list[Node]:
    """Return those of the nodes that a node is computed from, in their order."""
    wanted, mentioned = set[Node](nodes), set[Node]()
    seen: set[Node] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node in wanted:
            mentioned.add(node)
        stack.extend(node.children)
    return [each for each in nodes if each in mentioned]
