"""Find the smallest term in a graph of rewrites that matches a sketch.

For each node, and each set of parts of the sketch that one of its terms matches, the smallest such
term is kept. These sets follow from those of the parts of a node, so no term is built before the
end, and a sketch may demand several things of one term.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from riselang.rewrite.core import Step
from riselang.rewrite.saturation.graph import Graph, Node, reachable, steps_between
from riselang.rewrite.saturation.sketches import Applied, Both, Contains, Either, Hole, Sketch
from riselang.rewrite.term_parts import view_source
from riselang.term.nodes import Lambda, Pattern, Term, spine

Matched = frozenset[int]
"""The numbers of the parts of a sketch that a term matches."""
MAX_ENTRIES = 16
"""The number of sets for which a node keeps a term."""
MAX_PRODUCTS = 256


@dataclass(frozen=True)
class Entry:
    """The smallest term known for a set: its node, and the choice for each part."""

    size: int
    node: Node
    choices: tuple[Matched, ...]


class Extraction:
    """The smallest terms of each node of a graph, for a sketch."""

    def __init__(self, graph: Graph, sketch: Sketch):
        self.parts = list(dict.fromkeys(sketch.all_parts()))
        self.numbers = {part: number for number, part in enumerate(self.parts)}
        self.goal = self.numbers[sketch]
        self.graph = graph
        self.entries: dict[Node, dict[Matched, Entry]] = {}
        self._shapes = {node: _Shape.of(node) for node in graph.nodes.values()}
        self._solve()

    def best(self) -> Matched | None:
        """Return the set of the smallest term of the root that matches the sketch."""
        found = [
            (entry.size, sorted(matched), matched)
            for matched, entry in self.entries[self.graph.root].items()
            if self.goal in matched
        ]
        return min(found)[2] if found else None

    def steps(self, node: Node, matched: Matched) -> tuple[Step, ...]:
        """Return the steps that rewrite the term of a node to the term of this entry."""
        entry = self.entries[node][matched]
        steps = list(steps_between(node, entry.node))
        for (path, part), choice in zip(entry.node.parts, entry.choices, strict=True):
            steps += [step.prefix_path(path) for step in self.steps(part, choice)]
        return tuple(steps)

    def _solve(self) -> None:
        """Compute the entries of all nodes, until none changes."""
        nodes = sorted(self.graph.nodes.values(), key=lambda node: node.number)
        own: dict[Node, dict[Matched, Entry]] = {node: {} for node in nodes}
        reach = {node: list(reachable(node)) for node in nodes}
        self.entries = {node: {} for node in nodes}
        readers: dict[Node, set[Node]] = {node: set() for node in nodes}
        sources: dict[Node, list[Node]] = {node: [] for node in nodes}
        for node in nodes:
            for _, part in node.parts:
                readers[part].add(node)
            for target in reach[node]:
                sources[target].append(node)
        pending = dict.fromkeys(nodes)
        while pending:
            node = next(iter(pending))
            del pending[node]
            for matched, entry in self._combine(node):
                known = own[node].get(matched)
                if known is not None and known.size <= entry.size:
                    continue
                own[node][matched] = entry
                for source in sources[node]:
                    if self._offer(source, matched, entry):
                        pending.update(dict.fromkeys(readers[source]))

    def _offer(self, node: Node, matched: Matched, entry: Entry) -> bool:
        """Add an entry unless one that is as small matches as much."""
        entries = self.entries[node]
        for other, known in entries.items():
            if matched <= other and known.size <= entry.size:
                return False
        for other in [each for each in entries if each < matched]:
            if entries[other].size > entry.size:
                del entries[other]
        entries[matched] = entry
        if len(entries) > MAX_ENTRIES:
            del entries[min(entries, key=lambda each: (len(each), -entries[each].size))]
        return True

    def _combine(self, node: Node) -> list[tuple[Matched, Entry]]:
        options = [list(self.entries[part].items()) for _, part in node.parts]
        results: list[tuple[Matched, Entry]] = []
        for choice in itertools.islice(itertools.product(*options), MAX_PRODUCTS):
            matched = self._match(self._shapes[node], [each[0] for each in choice])
            size = 1 + len(self._shapes[node].views) + sum(each[1].size for each in choice)
            results.append((matched, Entry(size, node, tuple(each[0] for each in choice))))
        return results

    def _match(self, shape: _Shape, parts: list[Matched]) -> Matched:
        """Return which parts of the sketch a term matches, given those that its parts match."""
        matched: set[int] = set() if shape.source is None else set(parts[shape.source])
        for number, part in enumerate(self.parts):
            if self._matches(part, shape, parts, matched):
                matched.add(number)
        return frozenset(matched)

    def _matches(
        self, sketch: Sketch, shape: _Shape, parts: list[Matched], matched: set[int]
    ) -> bool:
        match sketch:
            case Hole():
                return True
            case Both(first, second):
                return self.numbers[first] in matched and self.numbers[second] in matched
            case Either(first, second):
                return self.numbers[first] in matched or self.numbers[second] in matched
            case Contains(inner):
                number = self.numbers[sketch]
                if self.numbers[inner] in matched or any(number in each for each in parts):
                    return True
                if not isinstance(inner, Applied) or inner.inner is not None:
                    return False
                return any(inner.is_pattern(view) for view in shape.views)
            case Applied(_, _, inner):
                if shape.pattern is None or not sketch.is_pattern(shape.pattern):
                    return False
                if inner is None:
                    return True
                numbers = shape.functions or range(len(parts))
                return any(self.numbers[inner] in parts[k] for k in numbers)
            case _:
                return False


@dataclass(frozen=True)
class _Shape:
    """What a sketch can demand of a node itself."""

    pattern: Pattern | None
    """The pattern that is applied."""
    functions: tuple[int, ...]
    """The numbers of the parts that are bodies of functions."""
    source: int | None
    """The number of the part that the node only presents, or evaluates at the end."""
    views: tuple[Pattern, ...]
    """The patterns between the node and its parts."""

    @staticmethod
    def of(node: Node) -> _Shape:
        term = node.term
        head, arguments = spine(term)
        views = tuple(_patterns_between(node))
        if isinstance(term, Lambda):
            return _Shape(None, (), 0, views)
        if not isinstance(head, Pattern) or len(arguments) != head.spec.arity:
            return _Shape(None, (), None, views)
        functions = tuple(k for k, each in enumerate(arguments) if isinstance(each, Lambda))
        return _Shape(head, functions, _source(term, head.spec.name, len(arguments)), views)


def _patterns_between(node: Node) -> Iterator[Pattern]:
    """Yield the patterns in a term that are not in its parts, except for its head."""
    inner = {part.term for _, part in node.parts}
    stack = list(node.term.children)
    while stack:
        term = stack.pop()
        if isinstance(term, Pattern) and term is not spine(node.term)[0]:
            yield term
        if term not in inner:
            stack += term.children


def _source(term: Term, name: str, count: int) -> int | None:
    if name == "let":
        return 1
    return None if name != "toMem" and view_source(term) is None else count - 1
