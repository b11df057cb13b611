"""Reverse mode: cotangents of the arguments of a function, from a cotangent of its result.

The entries of a record are visited in the opposite order of their computation. There is no tape at
run time: the derivative of a loop computes the values of its body again where it needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from riselang.autodiff.building import Builder
from riselang.autodiff.contributions import Contribution, Nest, Sparse, nest_of
from riselang.autodiff.costs import EXPENSIVE_OPS
from riselang.autodiff.cotangents import Cotangents, Leaves
from riselang.autodiff.evaluation import Closure, Entry, Record, Value, refuse_foreign
from riselang.autodiff.loops import Loop
from riselang.autodiff.nests import Nests
from riselang.autodiff.scalar_derivatives import partials_of, scale
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.types import ArrayType, RiseType, TupleType
from riselang.nat import Nat
from riselang.support.errors import LimitationError, SourceLocation
from riselang.term import build
from riselang.term.build import Node
from riselang.term.nodes import Scalar

Rule = Callable[["Reverse", Cotangents, Entry, Leaves], None]
"""Adds the cotangents of the operands of an entry, given that of its value."""
RULES: dict[str, Rule] = {}
"""The rule of each pattern."""
Evaluate = Callable[[Record, Sequence[Entry]], Value]
"""Computes the body of a loop from the elements of its arrays."""
Values = Sequence[tuple[Entry, Sequence[Sequence[Contribution]]]]
"""Contributions to the cotangents of entries, for each of their scalars."""
Seed = Callable[[Entry], Leaves]
"""Returns the cotangent of the result of an iteration, in the scope of the loop."""
LOOP_LAW = "the cotangent of each element, from the last to the first"
OPERATION_LAW = "ct * the partial derivative, for each operand"
LAWS: Mapping[str, str] = {
    "map": "zip(xs, ct) |> map(the cotangent of the function)",
    "generate": "zip(indices, ct) |> map(the cotangent of the function)",
    "reduce": "the cotangent of a sum is repeated; other functions go from the last element back",
    "zip": "ct |> unzip", "unzip": "zip(fst(ct), snd(ct))", "tuple": "(fst(ct), snd(ct))",
    "fst": "(ct, 0)", "snd": "(0, ct)", "split": "ct |> join", "join": "ct |> split",
    "transpose": "ct |> transpose", "reverse": "ct |> reverse", "toMem": "ct",
    "take": "ct |> padConst(0, m, 0)", "drop": "ct |> padConst(m, 0, 0)",
    "concat": "ct |> take, ct |> drop", "padConst": "ct |> drop |> take",
    "slide": "the sum of all windows that contain an element",
    "at": "zeros |> scatterWith(add)", "gather": "zeros |> scatterWith(add)",
    "scatterWith": "ct |> gather", "sort": "ct, permuted back",
}  # fmt: skip
"""How the cotangent of an argument is computed from that of the result, by pattern."""


def rule(*specs: PatternSpec) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        for spec in specs:
            RULES[spec.name] = function
        return function

    return register


@dataclass(frozen=True)
class DerivativeStep:
    """An application of a rule to a value of the program."""

    name: str
    """The pattern that computes the value, or the scalar operation."""
    law: str
    depth: int
    """The number of loops around the value."""
    location: SourceLocation | None

    def __str__(self) -> str:
        source = f" ({self.location})" if self.location is not None else ""
        return f"{'  ' * self.depth}{self.name}: {self.law}{source}"


class Reverse:
    """Propagates cotangents through records, and builds the nodes that compute them."""

    def __init__(self, builder: Builder, steps: list[DerivativeStep] | None = None):
        self.builder = builder
        self._steps = steps
        self._depth = 0
        self.nests = Nests(builder)
        self._index_arrays: set[Node] = set()

    def index_array(self, length: Nat) -> Node:
        """Return the array of all indices, over which `generate` loops."""
        node = self.builder.indices(length)
        self._index_arrays.add(node)
        return node

    def is_index_array(self, node: Node | None) -> bool:
        return node in self._index_arrays

    def run(self, record: Record, cotangents: Cotangents) -> None:
        """Propagate cotangents from the values of a record to the values of outer scopes."""
        for entry in reversed(record.entries):
            contributions = cotangents.pop(entry)
            if contributions is None:
                continue
            with self.builder.at_location(entry.location):
                leaves = self.totals(contributions)
                self._add_step(entry)
                self._depth += 1
                if isinstance(entry.operation, Scalar):
                    self._propagate_operation(cotangents, entry, entry.operation, leaves)
                else:
                    self._rule_for(entry)(self, cotangents, entry, leaves)
                self._depth -= 1

    def _add_step(self, entry: Entry) -> None:
        if self._steps is None:
            return
        is_operation = isinstance(entry.operation, Scalar)
        name = entry.operation.op if isinstance(entry.operation, Scalar) else ""
        if entry.spec is not None:
            name = entry.spec.name
        law = OPERATION_LAW if is_operation else LAWS.get(name, LOOP_LAW)
        self._steps.append(DerivativeStep(name, law, self._depth, entry.location))

    def totals(self, contributions: Sequence[Sequence[Contribution]]) -> list[Contribution | None]:
        return [self.nests.total(each) if each else None for each in contributions]

    def _rule_for(self, entry: Entry) -> Rule:
        assert entry.spec is not None
        found = RULES.get(entry.spec.name)
        refuse_foreign(entry)
        if found is None:
            raise LimitationError(
                f"'{entry.spec.name}' has no derivative in reverse mode; differentiate the program "
                "before a strategy introduces low-level patterns, or use rl.jvp",
                entry.location,
            )
        return found

    def _propagate_operation(
        self, cotangents: Cotangents, entry: Entry, operation: Scalar, leaves: Leaves
    ) -> None:
        (leaf,) = leaves
        if leaf is None:
            return
        value = self.nests.dense(leaf)
        nodes = entry.nodes
        for operand, partial in zip(entry.operands, partials_of(operation.op), strict=True):
            if partial is not None and operand.is_active:
                scaled = scale(self.builder, partial, value, nodes, entry.node)
                cotangents.add(operand, [nest_of(self.builder, scaled)])

    # Helpers of the rules

    def dense_leaves(self, leaves: Leaves) -> list[Node | None]:
        return [None if leaf is None else self.nests.dense(leaf) for leaf in leaves]

    def map_leaves(self, leaves: Leaves, function: Callable[[Node], Node]) -> Leaves:
        """Apply a function on arrays to each cotangent."""
        return [
            None if leaf is None else nest_of(self.builder, function(self.nests.dense(leaf)))
            for leaf in leaves
        ]

    def loop(
        self,
        cotangents: Cotangents,
        length: Nat,
        arrays: Sequence[Entry],
        evaluate: Evaluate,
        seed: Seed | Leaves,
        names: Sequence[str] = (),
        results: Node | None = None,
    ) -> None:
        """Propagate cotangents through a loop over arrays, whose iterations are independent.

        `seed` is the cotangent of the array of all results, or returns that of one result. The
        cotangents of the elements become those of the arrays; those of other values are added.
        `results` is the array that the loop computes, if it is known.
        """
        builder, loop = self.builder, Loop(self.builder, length)
        labels = [*names, *("x" for _ in arrays)]
        with builder.in_scope(loop.scope):
            elements = [
                Entry(loop.element(each.node, name), each.active)
                for each, name in zip(arrays, labels, strict=False)
            ]
            record = Record(builder)
            result = evaluate(record, elements)
            if results is not None and isinstance(result, Entry):
                self._read_result(loop, result, results)
            inner = Cotangents()
            if callable(seed):
                assert isinstance(result, Entry)
                inner.add(result, seed(result))
        if not callable(seed):
            inner.add(result, self._enter(seed, loop))
        with builder.in_scope(loop.scope):
            self.run(record, inner)
            values = self.pending_values(inner)
        self.leave(cotangents, loop, dict(zip(elements, arrays, strict=True)), values)

    def pending_values(self, cotangents: Cotangents) -> Values:
        """Return all contributions that are left, those that are not tensor contractions added."""
        return [
            (entry, [self.nests.combine(each) for each in cotangents.pop(entry) or []])
            for entry in cotangents.entries
        ]

    def _enter(self, leaves: Leaves, loop: Loop) -> Leaves:
        return [
            None if leaf is None else self.nests.enter(self.nests.as_dense_nest(leaf), loop)
            for leaf in leaves
        ]

    def _read_result(self, loop: Loop, result: Entry, results: Node) -> None:
        """Read the result of an iteration from memory, if computing it again is expensive."""
        if result.node.scope is not loop.scope:
            # All iterations have the same result, which an outer scope computes.
            return
        operation = result.operation
        if isinstance(operation, Scalar) and operation.op not in EXPENSIVE_OPS:
            return
        is_computed = operation is not None and not build.is_view_node(result.node)
        if is_computed and not contains_tuple(result.type):
            result.node = loop.element(results, "result")

    def leave(
        self, cotangents: Cotangents, loop: Loop, arrays: Mapping[Entry, Entry], values: Values
    ) -> None:
        """Add the cotangents that the body of a loop computes to those of outer values."""
        leaving = _Leaving(self, loop)
        for entry, leaves in values:
            for contributions in leaves:
                for each in contributions:
                    leaving.collect(each, is_element=entry in arrays)
        leaving.finish()
        for entry, leaves in values:
            target = arrays.get(entry)
            for position, contributions in enumerate(leaves):
                for each in contributions:
                    outside: list[Contribution | None] = [None] * len(leaves)
                    outside[position] = leaving.outside(each, is_element=target is not None)
                    cotangents.add(target or entry, outside)


class _Leaving:
    """Moves the cotangents that one iteration computes out of a loop, all at once."""

    def __init__(self, reverse: Reverse, loop: Loop):
        self._reverse = reverse
        self._loop = loop
        self._inside: list[Nest] = []
        self._results: dict[Nest, Nest] = {}
        self._dense: dict[Contribution, Nest] = {}

    def collect(self, leaf: Contribution, *, is_element: bool) -> None:
        if isinstance(leaf, Sparse) and not is_element:
            self._inside += [*leaf.indices, leaf.value]
            return
        if isinstance(leaf, Sparse):
            with self._reverse.builder.in_scope(self._loop.scope):
                self._dense[leaf] = nest_of(self._reverse.builder, self._reverse.nests.dense(leaf))
            leaf = self._dense[leaf]
        self._inside.append(leaf)

    def finish(self) -> None:
        moved = self._reverse.nests.leave(self._inside, self._loop)
        self._results = dict(zip(self._inside, moved, strict=True))

    def outside(self, leaf: Contribution, *, is_element: bool) -> Contribution:
        """Return the cotangent of an array, given that of an element; or the sum of those of a
        value that all iterations read."""
        if isinstance(leaf, Sparse) and not is_element:
            return self._outside_sparse(leaf)
        nest = self._results[self._dense[leaf] if isinstance(leaf, Sparse) else leaf]
        if is_element:
            return Nest((self._loop.label, *nest.labels), nest.body, nest.reads, nest.summed)
        return Nest(nest.labels, nest.body, nest.reads, (self._loop.label, *nest.summed))

    def _outside_sparse(self, leaf: Sparse) -> Contribution:
        label = self._loop.label
        indices, value = [
            [self._stack(self._results[nest]) for nest in nests]
            for nests in (leaf.indices, [leaf.value])
        ]
        if not leaf.loops and self._is_own_index(leaf):
            # Each iteration adds to its own element.
            return value[0]
        return Sparse((label, *leaf.loops), tuple(indices), leaf.bounds, value[0])

    def _is_own_index(self, leaf: Sparse) -> bool:
        if len(leaf.indices) != 1 or leaf.bounds[0] != self._loop.label.length:
            return False
        (read,) = leaf.indices[0].reads
        return self._reverse.is_index_array(self._loop.arrays.get(read.array))

    def _stack(self, nest: Nest) -> Nest:
        return Nest((self._loop.label, *nest.labels), nest.body, nest.reads, nest.summed)


def apply_function(function: Value) -> Evaluate:
    """Return the body of a loop that applies a function to its elements."""
    assert isinstance(function, Closure)
    return lambda record, elements: record.apply(function, elements)


def contains_tuple(type: RiseType) -> bool:
    while isinstance(type, ArrayType):
        type = type.element
    return isinstance(type, TupleType)
