"""Copying the nodes of a scope, with other values for its variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from riselang.term import build
from riselang.term.build import Node, Scope


def copy_nodes(root: Node, scope: Scope, target: Scope, values: Mapping[Node, Node]) -> Node:
    """Copy a node of a scope to another scope, with other nodes for variables of the scope."""
    return _Copy(scope, target, values).copy(root)


def renumber_nodes(root: Node) -> None:
    """Number nodes in an order in which each one follows those that it is computed from."""
    order: dict[Node, None] = {}
    stack = [(root, False)]
    while stack:
        node, is_last = stack.pop()
        if node in order:
            continue
        if is_last:
            order[node] = None
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children))
    serials = sorted(node.serial for node in order)
    for node, serial in zip(order, serials, strict=True):
        node.serial = serial


class _Copy:
    def __init__(self, scope: Scope, target: Scope, values: Mapping[Node, Node]):
        self._scopes: dict[Scope | None, Scope | None] = {scope: target, None: None}
        self._copies: dict[Node, Node] = dict(values)

    def copy(self, root: Node) -> Node:
        stack = [root]
        while stack:
            node = stack[-1]
            if node in self._copies:
                stack.pop()
                continue
            if self._scope(node.scope) is node.scope or isinstance(node, build.PatternUse):
                self._copies[node] = node
                continue
            if isinstance(node, build.Function):
                self._copy_parameters(node)
            pending = [child for child in node.children if child not in self._copies]
            if pending:
                stack.extend(pending)
                continue
            self._copies[node] = self._copy_node(node)
        return self._copies[root]

    def _scope(self, scope: Scope | None) -> Scope | None:
        """Return the copy of a scope; one that does not belong to the copied scope is itself."""
        chain: list[Scope] = []
        current = scope
        while current is not None and current not in self._scopes:
            chain.append(current)
            current = current.parent
        for each in reversed(chain):
            parent = self._scopes[each.parent]
            self._scopes[each] = each if parent is each.parent else Scope(parent)
        return self._scopes[scope]

    def _copy_parameters(self, node: build.Function) -> None:
        inner = self._scope(node.inner)
        for parameter in node.parameters:
            if parameter not in self._copies:
                self._copies[parameter] = build.Variable(
                    parameter.type, parameter.name, scope=inner, location=parameter.location
                )

    def _copy_node(self, node: Node) -> Node:
        scope, location = self._scope(node.scope), node.location
        children = [self._copies[child] for child in node.children]
        match node:
            case build.Application():
                function, *arguments = children
                return build.Application(
                    node.type, function, arguments, scope=scope, location=location
                )
            case build.Operation():
                return build.Operation(
                    node.type, node.op, children, node.predicate, scope=scope, location=location
                )
            case build.Conversion():
                return build.Conversion(node.type, children[0], scope=scope, location=location)
            case build.Foreign():
                return build.Foreign(
                    node.type, node.region, children, scope=scope, location=location
                )
            case build.Constant():
                return build.Constant(node.type, node.number, scope=scope, location=location)
            case build.ArrayConstant():
                elements = [each for each in children if isinstance(each, build.Constant)]
                return build.ArrayConstant(node.type, elements, scope=scope, location=location)
            case build.Function():
                return self._copy_function(node, children[0])
            case _:
                assert isinstance(node, build.Variable), node
                return node

    def _copy_function(self, node: build.Function, body: Node) -> Node:
        parameters: list[build.Variable] = []
        for parameter in node.parameters:
            copy = self._copies[parameter]
            assert isinstance(copy, build.Variable)
            parameters.append(copy)
        inner = self._scope(node.inner)
        assert inner is not None
        scope = self._scope(node.scope)
        return replace(node, parameters=parameters, body=body, inner=inner, scope=scope)
