"""Plans a program for ranks: evaluates it on views of buffers, and collects the steps that compute
these buffers.

A `mapRank` or an outer map adds an axis of tasks. What is computed in the function of a `mapRank`
is the kernel of its tasks; what is computed outside is computed on all ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riselang.dialects.rise.types import ArrayType, FunType, RiseType, TupleType, components, leaves
from riselang.interpreter.scalar_semantics import make_constant, numpy_dtype, to_numpy
from riselang.ranks.kernels import close_kernel
from riselang.ranks.layout import (
    LAYOUTS,
    RANK_LOOPS,
    RANK_PATTERNS,
    apply_layout,
    computes_nothing,
    function_body,
    map_views,
)
from riselang.ranks.mesh import Axis, Mesh
from riselang.ranks.plan import Pair, Plan, Step, Value, leaf_views
from riselang.ranks.views import Buffer, View, whole
from riselang.support.errors import LimitationError, UserError
from riselang.term.deep_recursion import recursive
from riselang.term.nodes import (
    Bound,
    Lambda,
    Literal,
    Pattern,
    Term,
    apply_all,
    has_pattern,
    spine,
)
from riselang.term.substitution import instantiate

Axes = tuple[Axis, ...]
LOOPS = frozenset((
    "map", "mapSeq", "mapPar", "mapSeqUnroll", "generate", "iterate", "iterateSeq", "reduce",
    "reduceSeq", "reduceSeqUnroll",
))  # fmt: skip
"""Loops that run on one rank unless their function has ranks."""


@dataclass(frozen=True, eq=False)
class _Variable:
    """A variable, and the number of axes of tasks where it is bound."""

    value: Value
    axes: int


Environment = tuple[_Variable, ...]
"""The variables, the innermost first."""


@recursive
def plan_program(term: Term, mesh: Mesh) -> Plan:
    """Plan a closed function of arrays whose sizes are known."""
    return _Planner(mesh).plan(term)


class _Planner:
    def __init__(self, mesh: Mesh):
        self.mesh = mesh
        self.steps: list[Step] = []
        self.shards: dict[object, View] = {}

    def plan(self, term: Term) -> Plan:
        environment: Environment = ()
        inputs: list[Buffer] = []
        while isinstance(term, Lambda):
            buffers = _buffers_of(term.parameter, ())
            inputs += buffers
            value = _assemble(term.parameter, [whole(buffer) for buffer in buffers])
            environment, term = (_Variable(value, 0), *environment), term.body
        results = leaf_views(self.evaluate(term, environment, ()))
        return Plan(self.mesh, tuple(inputs), tuple(self.steps), tuple(results), term.type)

    def evaluate(self, term: Term, environment: Environment, axes: Axes) -> Value:
        """Return a value, whose first dimensions are the axes of tasks."""
        has_ranks = has_pattern(term, *RANK_PATTERNS)
        head, arguments = spine(term)
        if not has_ranks and not computes_nothing(term):
            return self.compute(term, environment, axes)
        match head:
            case Bound(index) if not arguments:
                return _expand(environment[index], axes)
            case Literal():
                return self.constant(head, axes)
            case Lambda() if arguments:
                body = instantiate(head.body, arguments[0])
                return self.evaluate(apply_all(body, arguments[1:]), environment, axes)
            case Pattern() if len(arguments) == head.spec.arity:
                return self.evaluate_pattern(term, head, arguments, environment, axes)
            case _:
                return self.compute(term, environment, axes)

    def evaluate_pattern(
        self, term: Term, head: Pattern, arguments: Sequence[Term], environment: Environment,
        axes: Axes,
    ) -> Value:  # fmt: skip
        name = head.spec.name
        if name in LAYOUTS:
            values = [self.evaluate(each, environment, axes) for each in arguments]
            return apply_layout(head, values, len(axes))
        shards = _match_shards(term)
        if shards is not None:
            return self.shard(*shards, environment, axes)
        if name in LOOPS and not _is_on_ranks(arguments[0]):
            return self.compute(term, environment, axes)
        match name:
            case "map" | "mapSeq" | "mapPar" | "mapSeqUnroll":
                return self.map(Axis(_length(head)), arguments, environment, axes)
            case "mapRank":
                axis = Axis(_length(head), self.mesh_axis(head))
                return self.map(axis, arguments, environment, axes)
            case "generate":
                return self.generate(head, arguments[0], environment, axes)
            case "at":
                index = self.evaluate(arguments[0], environment, axes)
                return self.at(index, self.evaluate(arguments[1], environment, axes), len(axes))
            case "let":
                value, function = arguments
                if isinstance(value.type, FunType) and isinstance(function, Lambda):
                    return self.evaluate(instantiate(function.body, value), environment, axes)
                bound = self.evaluate(value, environment, axes)
                return self.apply(function, bound, environment, axes)
            case "toMem":
                return self.evaluate(arguments[0], environment, axes)
            case "iterate" | "iterateSeq":
                function, state = arguments
                value = self.evaluate(state, environment, axes)
                for _ in range(head.sizes["k"].constant):
                    value = self.apply(function, value, environment, axes)
                return value
            case "reduce" | "reduceSeq" | "reduceSeqUnroll" | "reduceRank":
                return self.reduce(head, arguments, environment, axes)
            case _:
                return self.compute(term, environment, axes)

    def mesh_axis(self, pattern: Pattern) -> int:
        axis = pattern.sizes["d"].constant
        if axis >= len(self.mesh.shape):
            raise UserError(
                f"{pattern.spec.name}({axis}): the mesh has no axis {axis}; its sizes are "
                f"{', '.join(map(str, self.mesh.shape))}",
                pattern.location,
            )
        return axis

    def apply(self, function: Term, value: Value, environment: Environment, axes: Axes) -> Value:
        inner = (_Variable(value, len(axes)), *environment)
        return self.evaluate(function_body(function), inner, axes)

    def map(
        self, axis: Axis, arguments: Sequence[Term], environment: Environment, axes: Axes
    ) -> Value:
        function, array = arguments
        value = self.evaluate(array, environment, axes)
        return self.apply(function, value, environment, (*axes, axis))

    def generate(
        self, head: Pattern, function: Term, environment: Environment, axes: Axes
    ) -> Value:
        length = _length(head)
        numbers = np.arange(length, dtype=np.int64)
        index = whole(Buffer((), (length,), numbers.dtype, numbers))
        index = index.insert(0, [axis.size for axis in axes])
        return self.apply(function, index, environment, (*axes, Axis(length)))

    def at(self, index: Value, array: Value, depth: int) -> Value:
        assert isinstance(index, View)
        (source,) = index.sources
        if source.buffer.constant is None:
            raise LimitationError("between ranks, an index must be a constant")
        positions = source.buffer.constant[source.indices]
        return map_views(array, lambda view: view.pick(depth, positions))

    def reduce(
        self, head: Pattern, arguments: Sequence[Term], environment: Environment, axes: Axes
    ) -> Value:
        """Reduce one element after the other; a `reduceRank` does so on the rank of the element."""
        function, initial, array = arguments
        value = self.evaluate(initial, environment, axes)
        elements = self.evaluate(array, environment, axes)
        depth, is_on_ranks = len(axes), head.spec.name == "reduceRank"
        first = function_body(function)
        for position in range(_length(head)):
            chosen = np.array([position])
            if is_on_ranks:
                inner = (*axes, Axis(1, self.mesh_axis(head), position))
                accumulator = map_views(value, lambda view: view.insert(depth, [1]))
                element = map_views(
                    elements, lambda view, chosen=chosen: view.select(depth, chosen)
                )
            else:
                inner, accumulator = axes, value
                element = map_views(
                    elements, lambda view, position=position: view.select(depth, position)
                )
            outer = (_Variable(accumulator, len(inner)), *environment)
            body = (_Variable(element, len(inner)), *outer)
            value = self.evaluate(function_body(first), body, inner)
            if is_on_ranks:
                value = map_views(value, lambda view: view.select(depth, 0))
        return value

    def shard(
        self, dimensions: dict[int, Pattern], array: Term, environment: Environment, axes: Axes
    ) -> Value:
        """Distribute an array in blocks of its dimensions; the last block may be shorter.

        Arrays that tasks compute are not distributed any further."""
        depth, sizes = len(axes), [axis.size for axis in axes]

        def distribute(view: View) -> View:
            if any(view.depends_on(at) for at in range(depth)):
                return view
            for _ in range(depth):
                view = view.select(0, 0)
            return self.shard_once(view, dimensions).insert(0, sizes)

        return map_views(self.evaluate(array, environment, axes), distribute)

    def shard_once(self, view: View, dimensions: dict[int, Pattern]) -> View:
        """Distribute an array, also if several tasks refer to it."""
        key = (view.key, *((at, pattern.key) for at, pattern in sorted(dimensions.items())))
        if key not in self.shards:
            self.shards[key] = self.shard_view(view, dimensions)
        return self.shards[key]

    def shard_view(self, view: View, dimensions: dict[int, Pattern]) -> View:
        """Copy blocks of a view to the ranks that own them."""
        blocks, shape, split_axes = view, view.shape, []
        for number, (at, pattern) in enumerate(sorted(dimensions.items())):
            axis = self.mesh_axis(pattern)
            count = self.mesh.shape[axis]
            size = -(-shape[at] // count)
            positions = np.minimum(np.arange(size * count), max(0, shape[at] - 1))
            blocks = blocks.select(at + number, positions).unflatten(at + number, count, size)
            for earlier in range(at + number, number, -1):
                blocks = blocks.swap(earlier - 1)
            split_axes.append(Axis(count, axis))
        buffer = Buffer(tuple(split_axes), blocks.shape[len(split_axes) :], view.dtype)
        self.steps.append(Step(None, buffer.axes, (blocks,), (buffer,)))
        result = whole(buffer)
        for number, at in reversed(list(enumerate(sorted(dimensions)))):
            for later in range(number, at + number):
                result = result.swap(later)
            result = result.join(at + number).select(at + number, np.arange(shape[at]))
        return result

    def constant(self, literal: Literal, axes: Axes) -> Value:
        type = literal.attribute.scalar_type
        numbers = [to_numpy(make_constant(each, type), type) for each in literal.attribute.numbers]
        data = np.array(numbers, numpy_dtype(type)).reshape(literal.attribute.shape)
        view = whole(Buffer((), data.shape, data.dtype, data))
        return view.insert(0, [axis.size for axis in axes])

    def compute(self, term: Term, environment: Environment, axes: Axes) -> Value:
        """Compute a value with a kernel for each task."""
        kernel, operands = close_kernel(
            term,
            lambda index: _expand(environment[index], axes),
            lambda part: self.evaluate(part, environment, axes),
        )
        buffers = _buffers_of(term.type, axes)
        self.steps.append(Step(kernel, axes, tuple(operands), tuple(buffers)))
        return _assemble(term.type, [whole(buffer) for buffer in buffers])


def _is_on_ranks(function: Term) -> bool:
    """Whether ranks compute parts of the result of a function, or nobody computes anything."""
    return has_pattern(function, *RANK_LOOPS) or computes_nothing(_result(function))


def _result(function: Term) -> Term:
    while isinstance(function.type, FunType):
        function = function_body(function)
    return function


def _length(pattern: Pattern) -> int:
    return pattern.sizes["n"].constant


def _buffers_of(type: RiseType, axes: Axes) -> list[Buffer]:
    return [
        Buffer(axes, tuple(length.constant for length in lengths), np.dtype(numpy_dtype(leaf)))
        for lengths, leaf in leaves(type)
    ]


def _assemble(type: RiseType, views: list[View]) -> Value:
    """Return the value of a type whose leaves are these views."""
    element = type
    while isinstance(element, ArrayType):
        element = element.element
    if not isinstance(element, TupleType):
        return views[0]
    first, second = components(element)
    count = len(list(leaves(first)))
    return Pair(_assemble(first, views[:count]), _assemble(second, views[count:]))


def _expand(variable: _Variable, axes: Axes) -> Value:
    """Return the value of a variable inside of more axes of tasks."""
    sizes = [axis.size for axis in axes[variable.axes :]]
    return map_views(variable.value, lambda view: view.insert(variable.axes, sizes))


def _match_shards(term: Term) -> tuple[dict[int, Pattern], Term] | None:
    """Match shards of dimensions of an array: `x |> shard(0) |> map(shard(1))`."""
    dimensions: dict[int, Pattern] = {}
    while (found := _match_shard(term)) is not None:
        depth, pattern, term = found
        dimensions[depth] = pattern
    return (dimensions, term) if dimensions else None


def _match_shard(term: Term) -> tuple[int, Pattern, Term] | None:
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or len(arguments) != head.spec.arity:
        return None
    if head.spec.name == "shard":
        return 0, head, arguments[0]
    if head.spec.name != "map":
        return None
    inner = _match_shard(function_body(arguments[0]))
    if inner is None or not isinstance(inner[2], Bound) or inner[2].index != 0:
        return None
    return inner[0] + 1, inner[1], arguments[1]
