"""Nodes of known types, with simplifications that keep derivatives small."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from riselang.dialects.rise import pattern_registry as patterns
from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.attributes import LiteralAttr, literal
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.types import (
    ArrayType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    VectorType,
    array,
    components,
    element_of,
    fun,
    i1,
    idx,
    index,
    is_float,
    uncurry,
)
from riselang.nat import Nat
from riselang.support.errors import SourceLocation
from riselang.term import build
from riselang.term.build import Node

UnaryFunction = Callable[[Node], Node]


def length_of(node: Node) -> Nat:
    assert isinstance(node.type, ArrayType), node.type
    return node.type.length


def scalar_of(type: RiseType) -> ScalarType:
    """Return the scalar type at the bottom of nested arrays."""
    while isinstance(type, ArrayType):
        type = type.element
    assert isinstance(type, ScalarType), type
    return type


def nest_type(lengths: Sequence[Nat], type: RiseType) -> RiseType:
    for length in reversed(lengths):
        type = array(length, type)
    return type


def is_use_of(node: Node, spec: PatternSpec) -> bool:
    """Return whether a node is a pattern, applied to all of its arguments."""
    return (
        isinstance(node, build.Application)
        and isinstance(node.function, build.PatternUse)
        and node.function.spec is spec
        and len(node.arguments) == spec.arity
    )


def arguments_of(node: Node, spec: PatternSpec) -> Sequence[Node] | None:
    """Return the arguments of a complete application of a pattern."""
    if not is_use_of(node, spec):
        return None
    assert isinstance(node, build.Application)
    return node.arguments


def number_of(node: Node) -> float | None:
    """Return the value of a literal that is not complex; None for other nodes."""
    if not isinstance(node, build.Constant):
        return None
    value = node.number.scalar if isinstance(node.number, LiteralAttr) else node.number
    return None if isinstance(value, complex) else float(value)


def is_number(node: Node, number: float) -> bool:
    return number_of(node) == number


class Builder:
    """Creates nodes in the current scope, at the current location."""

    def __init__(self) -> None:
        self.scope = build.Scope()
        self.location: SourceLocation | None = None
        self.is_reverse = False
        """Whether the nodes belong to a derivative in reverse mode."""
        self.has_replaced_nodes = False
        """Whether a node reads nodes that are newer than itself."""
        self._operations: dict[tuple[object, ...], Node] = {}
        self._stored: dict[Node, Node] = {}
        self._in_memory: set[Node] = set()
        """The nodes that store a value."""

    @contextmanager
    def in_scope(self, scope: build.Scope) -> Generator[build.Scope]:
        outer, self.scope = self.scope, scope
        try:
            yield scope
        finally:
            self.scope = outer

    def inner_scope(self) -> build.Scope:
        return build.Scope(self.scope)

    @contextmanager
    def at_location(self, location: SourceLocation | None) -> Generator[None]:
        """Locate the nodes that are built in this context, if the location is known."""
        outer = self.location
        self.location = location or outer
        try:
            yield
        finally:
            self.location = outer

    # Scalars

    def number(self, number: float, type: ScalarType) -> Node:
        value = float(number) if is_float(type) else int(number)
        return build.Constant(type, literal(value, type), scope=self.scope, location=self.location)

    def operation(
        self, op: str, operands: Sequence[Node], type: RiseType, predicate: str | None = None
    ) -> Node:
        """Build a scalar operation; equal ones in a scope are one node."""
        key = (op, tuple(operands), type, predicate, self.scope)
        if key not in self._operations:
            self._operations[key] = build.Operation(
                type, op, operands, predicate, scope=self.scope, location=self.location
            )
        return self._operations[key]

    def add(self, left: Node, right: Node) -> Node:
        return self.operation("arith.addf", [left, right], left.type)

    def subtract(self, left: Node, right: Node) -> Node:
        return self.operation("arith.subf", [left, right], left.type)

    def multiply(self, left: Node, right: Node) -> Node:
        for factor, other in ((left, right), (right, left)):
            if is_number(factor, 1.0):
                return other
        return self.operation("arith.mulf", [left, right], left.type)

    def divide(self, left: Node, right: Node) -> Node:
        return self.operation("arith.divf", [left, right], left.type)

    def negate(self, value: Node) -> Node:
        return self.operation("arith.negf", [value], value.type)

    def math(self, name: str, *operands: Node) -> Node:
        return self.operation(f"math.{name}", operands, operands[0].type)

    def compare(self, predicate: str, left: Node, right: Node) -> Node:
        """Compare floats or integers, by the name of a predicate of the language."""
        return self.operation("compare", [left, right], i1, predicate)

    def select(self, condition: Node, chosen: Node, other: Node) -> Node:
        return self.operation("arith.select", [condition, chosen, other], chosen.type)

    def convert(self, value: Node, type: ScalarType) -> Node:
        if value.type == type:
            return value
        return build.Conversion(type, value, scope=self.scope, location=self.location)

    # Functions

    def variable(self, type: RiseType, name: str, scope: build.Scope | None = None) -> Node:
        return build.Variable(type, name, scope=scope or self.scope, location=self.location)

    def function(
        self, types: Sequence[RiseType], names: Sequence[str], body: Callable[..., Node]
    ) -> build.Function:
        scope = self.inner_scope()
        with self.in_scope(scope):
            variables = [
                build.Variable(type, name, scope=scope, location=self.location)
                for type, name in zip(types, names, strict=True)
            ]
            result = body(*variables)
        return self.close_function(variables, result, scope)

    def close_function(
        self, variables: Sequence[build.Variable], body: Node, scope: build.Scope
    ) -> build.Function:
        return build.Function(
            fun(*(each.type for each in variables), body.type), variables, body, scope,
            scope=self.scope, location=self.location,
        )  # fmt: skip

    def call(self, function: Node, arguments: Sequence[Node]) -> Node:
        _, result = uncurry(function.type)
        call = build.Application(
            result, function, list(arguments), scope=self.scope, location=self.location
        )
        if is_use_of(call, patterns.TO_MEM):
            self._in_memory.add(call)
        return call

    def replace_call(self, call: Node, other: Node) -> None:
        """Let a call compute what another call of the same type computes."""
        if isinstance(call, build.Application) and isinstance(other, build.Application):
            call.function, call.arguments = other.function, other.arguments
            self.has_replaced_nodes = True

    # Patterns

    def apply(self, spec: PatternSpec, sizes: Sequence[Argument], *arguments: Node) -> Node:
        parameters = dict(zip(spec.parameters, sizes, strict=True))
        type = spec.instantiate(parameters)
        use = build.PatternUse(type, spec, parameters, scope=self.scope, location=self.location)
        return self.call(use, arguments)

    def map_function(self, function: Node, xs: Node) -> Node:
        _, output = uncurry(function.type)
        sizes = [length_of(xs), element_of(xs.type), output]
        return self.apply(patterns.MAP, sizes, function, xs)

    def map(self, function: UnaryFunction, xs: Node, name: str = "x") -> Node:
        return self.map_function(self.function([element_of(xs.type)], [name], function), xs)

    def map_at(self, depth: int, function: UnaryFunction, xs: Node) -> Node:
        """Map a function under `depth` dimensions."""
        if depth == 0:
            return function(xs)
        return self.map(lambda x: self.map_at(depth - 1, function, x), xs)

    def map_scalars(self, function: UnaryFunction, xs: Node) -> Node:
        """Map a function over all scalars of nested arrays."""
        if not isinstance(xs.type, ArrayType):
            return function(xs)
        return self.map(lambda x: self.map_scalars(function, x), xs)

    def zip_all(self, arrays: Sequence[Node]) -> Node:
        *first, result = arrays
        for xs in reversed(first):
            sizes = [length_of(xs), element_of(xs.type), element_of(result.type)]
            result = self.apply(patterns.ZIP, sizes, xs, result)
        return result

    def pair(self, first: Node, second: Node) -> Node:
        sources = arguments_of(first, patterns.FST), arguments_of(second, patterns.SND)
        if sources[0] is not None and sources[1] is not None and sources[0][0] is sources[1][0]:
            return sources[0][0]
        return self.apply(patterns.TUPLE, [first.type, second.type], first, second)

    def tuple(self, parts: Sequence[Node]) -> Node:
        *first, result = parts
        for part in reversed(first):
            result = self.pair(part, result)
        return result

    def first(self, value: Node) -> Node:
        parts = arguments_of(value, patterns.TUPLE)
        return parts[0] if parts else self.apply(patterns.FST, components(value.type), value)

    def second(self, value: Node) -> Node:
        parts = arguments_of(value, patterns.TUPLE)
        return parts[1] if parts else self.apply(patterns.SND, components(value.type), value)

    def unpack(self, value: Node, count: int) -> list[Node]:
        parts: list[Node] = []
        for _ in range(count - 1):
            parts.append(self.first(value))
            value = self.second(value)
        return [*parts, value]

    def unzip(self, pairs: Node) -> Node:
        first, second = components(element_of(pairs.type))
        return self.apply(patterns.UNZIP, [length_of(pairs), first, second], pairs)

    def unzip_all(self, xs: Node, count: int) -> list[Node]:
        """Split an array of tuples into `count` arrays."""
        parts: list[Node] = []
        for _ in range(count - 1):
            pair = self.unzip(xs)
            parts.append(self.first(pair))
            xs = self.second(pair)
        return [*parts, xs]

    def generate(self, length: Nat, function: UnaryFunction, name: str = "i") -> Node:
        made = self.function([idx(length)], [name], function)
        return self.apply(patterns.GENERATE, [length, uncurry(made.type)[1]], made)

    def indices(self, length: Nat) -> Node:
        """Return the array of all indices of an array with this length."""
        return self.generate(length, lambda i: i)

    def singleton(self, value: Node) -> Node:
        return self.generate(Nat.const(1), lambda _: value)

    def reduce(self, function: Node, start: Node, xs: Node) -> Node:
        sizes = [length_of(xs), element_of(xs.type), start.type]
        return self.apply(patterns.REDUCE, sizes, function, start, xs)

    def scan(self, function: Node, start: Node, xs: Node) -> Node:
        sizes = [length_of(xs), element_of(xs.type), start.type]
        return self.apply(patterns.SCAN, sizes, function, start, xs)

    def sum(self, xs: Node) -> Node:
        """Add the elements of an array of scalars."""
        type = scalar_of(element_of(xs.type))
        function = self.function([type, type], ["total", "x"], self.add)
        return self.reduce(function, self.number(0, type), xs)

    # Views

    def transpose(self, xss: Node) -> Node:
        source = arguments_of(xss, patterns.TRANSPOSE)
        if source is not None:
            return source[0]
        inner = element_of(xss.type)
        assert isinstance(inner, ArrayType)
        sizes = [length_of(xss), inner.length, inner.element]
        return self.apply(patterns.TRANSPOSE, sizes, xss)

    def join(self, xss: Node) -> Node:
        inner = element_of(xss.type)
        assert isinstance(inner, ArrayType)
        return self.apply(patterns.JOIN, [length_of(xss), inner.length, inner.element], xss)

    def split(self, chunk: Nat, count: Nat, xs: Node) -> Node:
        if chunk == Nat.const(0):
            # There is nothing to split, but there are empty chunks.
            return self.generate(count, lambda _: xs)
        return self.apply(patterns.SPLIT, [chunk, count, element_of(xs.type)], xs)

    def reverse(self, xs: Node) -> Node:
        return self.apply(patterns.REVERSE, [length_of(xs), element_of(xs.type)], xs)

    def take(self, count: Nat, xs: Node) -> Node:
        rest = length_of(xs) - count
        return self.apply(patterns.TAKE, [count, rest, element_of(xs.type)], xs)

    def drop(self, count: Nat, xs: Node) -> Node:
        rest = length_of(xs) - count
        return self.apply(patterns.DROP, [count, rest, element_of(xs.type)], xs)

    def concat(self, xs: Node, ys: Node) -> Node:
        sizes = [length_of(xs), length_of(ys), element_of(xs.type)]
        return self.apply(patterns.CONCAT, sizes, xs, ys)

    def pad_zeros(self, before: Nat, after: Nat, xs: Node) -> Node:
        element = element_of(xs.type)
        sizes = [length_of(xs), before, after, element]
        return self.apply(patterns.PAD_CONST, sizes, self.zeros(element), xs)

    def at(self, position: Node, xs: Node) -> Node:
        return self.apply(patterns.AT, [length_of(xs), element_of(xs.type)], position, xs)

    def gather(self, indices: Node, xs: Node) -> Node:
        sizes = [length_of(xs), length_of(indices), element_of(xs.type)]
        return self.apply(patterns.GATHER, sizes, indices, xs)

    def from_idx(self, value: Node) -> Node:
        assert isinstance(value.type, IdxType)
        return self.apply(patterns.FROM_IDX, [value.type.bound], value)

    def clamp_idx(self, bound: Nat, value: Node) -> Node:
        return self.apply(patterns.CLAMP_IDX, [bound, index], value)

    def store(self, value: Node) -> Node:
        """Store a computed array in memory, since it is read often; equal ones share a node."""
        is_view = build.is_view_node(value, self._in_memory)
        if is_view or not isinstance(value.type, ArrayType):
            return value
        if value not in self._stored:
            self._stored[value] = self.apply(patterns.TO_MEM, ["heap", value.type], value)
        return self._stored[value]

    def copy(self, value: Node) -> Node:
        """Copy an array to other memory."""
        if not isinstance(value.type, ArrayType):
            return value
        return self.apply(patterns.TO_MEM, ["heap", value.type], value)

    # Values of every type

    def zeros(self, type: RiseType, no_index: Node | None = None) -> Node:
        """Return the zero of a type that consists of numbers and indices.

        `no_index` is the index of an array without elements; others of its type do not exist.
        """
        if isinstance(type, ScalarType):
            return self.number(0, type)
        if isinstance(type, IdxType):
            if no_index is not None and type == no_index.type:
                return no_index
            return self.clamp_idx(type.bound, self.number(0, index))
        if isinstance(type, TupleType):
            first, second = components(type)
            return self.pair(self.zeros(first, no_index), self.zeros(second, no_index))
        if isinstance(type, VectorType):
            scalar = self.zeros(type.element)
            return self.apply(patterns.VECTOR_FROM_SCALAR, [type.length, type.element], scalar)
        assert isinstance(type, ArrayType), type
        is_empty = type.length == Nat.const(0)
        return self.generate(
            type.length, lambda i: self.zeros(type.element, i if is_empty else no_index)
        )

    def add_arrays(self, left: Node, right: Node) -> Node:
        """Add two scalars, or two arrays of floats element by element."""
        if not isinstance(left.type, ArrayType):
            return self.add(left, right)
        pairs = self.zip_all([left, right])
        return self.map(lambda both: self.add_arrays(self.first(both), self.second(both)), pairs)

    def scatter_add(self, indices: Node, start: Node, values: Node) -> Node:
        element = element_of(start.type)
        function = self.function([element, element], ["old", "new"], self.add_arrays)
        sizes = [length_of(start), length_of(values), element]
        return self.apply(patterns.SCATTER_WITH, sizes, function, indices, start, values)
