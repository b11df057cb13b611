"""A graph of all rewrites of a program, which shares their common parts.

A node of the graph is an interned term with the nodes of its parts. An edge says that a node can be
rewritten to another one. A node stands for all terms that edges lead to from it, with all terms for
which its parts stand; their number grows exponentially with the number of nodes.

An edge has a direction, unlike in an e-graph, whose classes are symmetric: laws have side
conditions and permissions and are applied from left to right, so that a path of edges is a
derivation which can be replayed.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from riselang.rewrite.core import Path, Setting, Step, Strategy, Success
from riselang.rewrite.paths import replace_at
from riselang.rewrite.term_parts import view_source
from riselang.term.nodes import Lambda, Pattern, Term, spine

MAX_ALTERNATIVES = 24
"""The number of rewritten versions of each part with which rewrites of a node are tried."""
MAX_COMBINATIONS = 48


class Depth(Enum):
    """What of a term a rewrite depends on."""

    HEAD = "its head"
    """It is applied to the term itself: for other versions of the parts, the result is the same."""
    PARTS = "its head and the parts"
    """It is applied to versions of the term in which the parts are rewritten."""
    LAST = "its head, and no other rewrite depends on the result"
    """As HEAD, for the choice of how a loop runs: other rewrites can be applied before it."""


@dataclass(frozen=True)
class Move:
    """A rewrite that a search tries."""

    strategy: Strategy
    depth: Depth


@dataclass(eq=False)
class Node:
    """A term, and the nodes of its parts."""

    term: Term
    parts: tuple[tuple[Path, Node], ...]
    number: int
    edges: list[Edge] = field(default_factory=list["Edge"])
    tried: set[Term] = field(default_factory=set[Term])
    """The versions of the term to which rewrites were applied."""
    targets: dict[Node, Depth] = field(default_factory=dict["Node", Depth])


@dataclass(frozen=True, eq=False)
class Edge:
    """A rewrite of a node: some parts are replaced, and a strategy is applied to the result."""

    replaced: tuple[tuple[Path, Node, Node], ...]
    """The path of each part, its node, and the node that replaces it."""
    steps: tuple[Step, ...]
    target: Node


class Graph:
    """All rewrites of a term that were found so far."""

    def __init__(self, term: Term, setting: Setting):
        self.setting = setting.quiet
        self.nodes: dict[Term, Node] = {}
        self.root = self.add(term)
        self._results: dict[Term, list[tuple[Move, Term, tuple[Step, ...]]]] = {}

    def add(self, term: Term) -> Node:
        """Return the node of a term."""
        node = self.nodes.get(term)
        if node is None:
            parts: list[tuple[Path, Node]] = []
            for path, part in parts_of(term):
                parts.append((path, self.add(part)))
            node = self.nodes[term] = Node(term, tuple(parts), len(self.nodes))
        return node

    def grow(self, moves: Sequence[Move], max_nodes: int, deadline: float) -> bool:
        """Try all rewrites at every node; return whether there is a new edge.

        Stops early if the graph has too many nodes, or the time is up."""
        has_grown = False
        for node in list(self.nodes.values()):
            for version, replaced in self._new_versions(node):
                for move, result, steps in self._rewrites(version, moves):
                    if move.depth is not Depth.PARTS and replaced:
                        continue
                    if len(self.nodes) > max_nodes or time.monotonic() > deadline:
                        return has_grown
                    target = self.add(result)
                    if target is not node and target not in node.targets:
                        node.targets[target] = move.depth
                        node.edges.append(Edge(replaced, steps, target))
                        has_grown = True
        return has_grown

    def _new_versions(
        self, node: Node
    ) -> Iterator[tuple[Term, tuple[tuple[Path, Node, Node], ...]]]:
        choices = [
            [
                (path, part, other)
                for other in itertools.islice(reachable(part, lowers=False), MAX_ALTERNATIVES)
            ]
            for path, part in node.parts
        ]
        for choice in itertools.islice(itertools.product(*choices), MAX_COMBINATIONS):
            replaced = tuple(each for each in choice if each[1] is not each[2])
            version = node.term
            for path, _, other in replaced:
                version = replace_at(version, path, other.term)
            if version not in node.tried:
                node.tried.add(version)
                yield version, replaced

    def _rewrites(
        self, term: Term, moves: Sequence[Move]
    ) -> list[tuple[Move, Term, tuple[Step, ...]]]:
        if term in self._results:
            return self._results[term]
        name = term.head.name if term.head is not None else ""
        results: list[tuple[Move, Term, tuple[Step, ...]]] = []
        for move in moves:
            if move.strategy.can_apply(name):
                result = move.strategy.run(term, self.setting)
                if isinstance(result, Success) and result.term != term:
                    results.append((move, result.term, result.steps))
        self._results[term] = results
        return results


def parts_of(term: Term) -> Iterator[tuple[Path, Term]]:
    """Yield the arguments of a pattern, or the children of another term.

    Of a function, only the body is a part, and of a view, only what it presents: no rewrite of a
    search applies to functions and views themselves."""
    head, arguments = spine(term)
    pairs: list[tuple[Path, Term]]
    if isinstance(head, Pattern) and arguments:
        last = len(arguments) - 1
        pairs = [((*[0] * (last - k), 1), argument) for k, argument in enumerate(arguments)]
    else:
        pairs = [((k,), child) for k, child in enumerate(term.children)]
    for path, part in pairs:
        while True:
            if isinstance(part, Lambda):
                path, part = (*path, 0), part.body
            elif (source := view_source(part)) is not None:
                path, part = (*path, 1), source
            else:
                break
        yield path, part


def reachable(node: Node, lowers: bool = True) -> Iterator[Node]:
    """Yield the nodes to which a node can be rewritten, itself first, near ones first.

    Without `lowers`, rewrites of depth LAST are not followed."""
    seen, queue = {node}, [node]
    for current in queue:
        yield current
        for target, depth in current.targets.items():
            if target not in seen and (lowers or depth is not Depth.LAST):
                seen.add(target)
                queue.append(target)


def steps_between(source: Node, target: Node) -> tuple[Step, ...]:
    """Return the steps that rewrite the term of a node to that of a reachable one."""
    came_from: dict[Node, tuple[Node, Edge]] = {}
    queue = [source]
    for current in queue:
        if current is target:
            break
        for edge in current.edges:
            if edge.target is not source and edge.target not in came_from:
                came_from[edge.target] = (current, edge)
                queue.append(edge.target)
    edges: list[Edge] = []
    node = target
    while node is not source:
        node, edge = came_from[node]
        edges.append(edge)
    steps: list[Step] = []
    for edge in reversed(edges):
        for path, part, other in edge.replaced:
            steps += [step.prefix_path(path) for step in steps_between(part, other)]
        steps += edge.steps
    return tuple(steps)
