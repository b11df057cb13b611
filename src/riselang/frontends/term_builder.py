"""Typed pattern nodes, from which front ends build programs whose types are all known.

A `Builder` tracks the scope in which new values are created. Functions are passed as Python
functions from nodes to nodes, and become lambdas; one that only passes its argument to a pattern
becomes that pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from typing import TypeGuard

import numpy as np

from riselang.dialects.rise import pattern_registry
from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.attributes import LiteralAttr, Number, literal
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    ScalarType,
    bf16,
    components,
    element_of,
    f16,
    f32,
    f64,
    fun,
    i1,
    idx,
    index,
    innermost,
    uncurry,
)
from riselang.nat import Nat, as_nat
from riselang.support.errors import SourceLocation
from riselang.term import build
from riselang.term.build import Node

UnaryFunction = Callable[[Node], Node]
BinaryFunction = Callable[[Node, Node], Node]


def length_of(node: Node) -> Nat:
    assert isinstance(node.type, ArrayType), node.type
    return node.type.length


def shape_of(node: Node) -> list[int]:
    """Return the known lengths of an array."""
    lengths: list[int] = []
    type = node.type
    while isinstance(type, ArrayType):
        lengths.append(type.length.constant)
        type = type.element
    return lengths


class Builder:
    """Creates nodes in the current scope, at the current location."""

    def __init__(self) -> None:
        self.scope = build.Scope()
        self.location: SourceLocation | None = None

    @contextmanager
    def inner_scope(self) -> Generator[build.Scope]:
        outer, self.scope = self.scope, build.Scope(self.scope)
        try:
            yield self.scope
        finally:
            self.scope = outer

    @contextmanager
    def at_location(self, location: SourceLocation | None) -> Generator[None]:
        """Set the location of everything that is built in this context."""
        outer, self.location = self.location, location
        try:
            yield
        finally:
            self.location = outer

    # Scalars

    def literal(self, number: Number | complex, type: ScalarType) -> build.Constant:
        if type.is_complex or isinstance(number, complex):
            return build.Constant(type, complex(number), scope=self.scope, location=self.location)
        return build.Constant(type, literal(number, type), scope=self.scope, location=self.location)

    def literal_array(self, numbers: Sequence[Number | complex], type: RiseType) -> Node:
        """Build an array of constants, in row-major order, whose type is given."""
        scalar = innermost(type)
        assert isinstance(scalar, ScalarType)
        elements = [self.literal(number, scalar) for number in numbers]
        return build.ArrayConstant(type, elements, scope=self.scope, location=self.location)

    def operation(
        self, op: str, operands: Sequence[Node], type: ScalarType, predicate: str | None = None
    ) -> Node:
        """Build an arith or math op by its MLIR name, or by a generic name (`add`)."""
        return build.Operation(
            type, op, operands, predicate, scope=self.scope, location=self.location
        )

    def convert(self, value: Node, type: ScalarType) -> Node:
        """Convert a signed integer, Boolean or float to another type."""
        if value.type == type:
            return value
        converted = _converted_literal(value, type)
        if converted is not None:
            return self.literal(converted, type)
        return build.Conversion(type, value, scope=self.scope, location=self.location)

    def select(self, condition: Node, chosen: Node, other: Node) -> Node:
        assert isinstance(chosen.type, ScalarType)
        return self.operation("arith.select", [condition, chosen, other], chosen.type)

    def compare(self, relation: str, left: Node, right: Node) -> Node:
        return self.operation("compare", [left, right], i1, relation)

    # Functions

    def function(
        self, types: Sequence[RiseType], names: Sequence[str], body: Callable[..., Node]
    ) -> Node:
        with self.inner_scope() as scope:
            variables = [
                build.Variable(type, name, scope=scope, location=self.location)
                for type, name in zip(types, names, strict=True)
            ]
            result = body(*variables)
        shorter = _eta_reduce(variables, result)
        if shorter is not None:
            return shorter
        return build.Function(
            fun(*types, result.type), variables, result, scope,
            scope=self.scope, location=self.location,
        )  # fmt: skip

    def parameter(self, name: str, type: RiseType) -> build.Variable:
        return build.Variable(type, name, scope=self.scope, location=self.location)

    def program(self, parameters: Sequence[build.Variable], body: Node) -> Node:
        """Return the function of everything that was built; without parameters, its value."""
        if not parameters:
            return body
        type = fun(*(each.type for each in parameters), body.type)
        return build.Function(type, parameters, body, self.scope, location=self.location)

    # Patterns

    def apply(self, spec: PatternSpec, sizes: Sequence[Argument], *arguments: Node) -> Node:
        """Apply a pattern with all its sizes and types to all its arguments."""
        parameters = dict(zip(spec.parameters, sizes, strict=True))
        type = spec.instantiate(parameters)
        use = build.PatternUse(type, spec, parameters, scope=self.scope, location=self.location)
        _, result = uncurry(type)
        return build.Application(
            result, use, list(arguments), scope=self.scope, location=self.location
        )

    def map(self, function: UnaryFunction, xs: Node, name: str = "x") -> Node:
        made = self.function([element_of(xs.type)], [name], function)
        if isinstance(made, build.Function) and made.body is made.parameters[0]:
            return xs
        return self._apply_map(pattern_registry.MAP, made, xs)

    def map_seq(self, function: UnaryFunction, xs: Node, name: str = "x") -> Node:
        """Map in one sequential loop, which also copies if the function is the identity."""
        made = self.function([element_of(xs.type)], [name], function)
        return self._apply_map(pattern_registry.MAP_SEQ, made, xs)

    def map_seq_unroll(self, function: UnaryFunction, xs: Node, name: str = "x") -> Node:
        made = self.function([element_of(xs.type)], [name], function)
        return self._apply_map(pattern_registry.MAP_SEQ_UNROLL, made, xs)

    def _apply_map(self, spec: PatternSpec, function: Node, xs: Node) -> Node:
        _, output = uncurry(function.type)
        return self.apply(spec, [length_of(xs), element_of(xs.type), output], function, xs)

    def map_at(self, depth: int, function: UnaryFunction, xs: Node) -> Node:
        """Map a function under `depth` dimensions."""
        if depth == 0:
            return function(xs)
        return self.map(lambda x: self.map_at(depth - 1, function, x), xs)

    def map_pairs_at(self, depth: int, function: UnaryFunction, xs: Node, ys: Node) -> Node:
        """Map a function over the pairs of elements of two arrays at `depth`."""
        if depth == 0:
            return function(self.pair(xs, ys))
        return self.map(
            lambda both: self.map_pairs_at(depth - 1, function, *self.unpack_tuple(both, 2)),
            self.zip(xs, ys),
        )

    def zip(self, xs: Node, ys: Node) -> Node:
        sizes = [length_of(xs), element_of(xs.type), element_of(ys.type)]
        return self.apply(pattern_registry.ZIP, sizes, xs, ys)

    def zip_all(self, arrays: Sequence[Node]) -> Node:
        """Zip arrays of one length into tuples, which nest to the right."""
        *first, result = arrays
        for xs in reversed(first):
            result = self.zip(xs, result)
        return result

    def pair(self, first: Node, second: Node) -> Node:
        return self.apply(pattern_registry.TUPLE, [first.type, second.type], first, second)

    def tuple(self, parts: Sequence[Node]) -> Node:
        *first, result = parts
        for part in reversed(first):
            result = self.pair(part, result)
        return result

    def unpack_tuple(self, value: Node, count: int) -> list[Node]:
        """Return the components of a tuple of `count`."""
        found: list[Node] = []
        for _ in range(count - 1):
            first, second = components(value.type)
            found.append(self.apply(pattern_registry.FST, [first, second], value))
            value = self.apply(pattern_registry.SND, [first, second], value)
        return [*found, value]

    def reduce(self, function: BinaryFunction, start: Node, xs: Node) -> Node:
        """Reduce from left to right; the function takes (accumulator, element)."""
        element, result = element_of(xs.type), start.type
        made = self.function([result, element], ["total", "x"], function)
        return self.apply(
            pattern_registry.REDUCE, [length_of(xs), element, result], made, start, xs
        )

    def scan(self, function: BinaryFunction, start: Node, xs: Node) -> Node:
        """Return the accumulators after each element; the function takes (accumulator, element)."""
        element, result = element_of(xs.type), start.type
        made = self.function([result, element], ["total", "x"], function)
        return self.apply(pattern_registry.SCAN, [length_of(xs), element, result], made, start, xs)

    def generate(self, length: Nat | int, function: UnaryFunction, name: str = "i") -> Node:
        made = self.function([idx(length)], [name], function)
        _, element = uncurry(made.type)
        return self.apply(pattern_registry.GENERATE, [as_nat(length), element], made)

    def while_(self, condition: UnaryFunction, step: UnaryFunction, start: Node) -> Node:
        conditions = self.function([start.type], ["state"], condition)
        steps = self.function([start.type], ["state"], step)
        return self.apply(pattern_registry.WHILE, [start.type], conditions, steps, start)

    def sort(self, before: BinaryFunction, xs: Node) -> Node:
        element = element_of(xs.type)
        made = self.function([element, element], ["a", "b"], before)
        return self.apply(pattern_registry.SORT, [length_of(xs), element], made, xs)

    def scatter_with(
        self, function: BinaryFunction, indices: Node, start: Node, values: Node
    ) -> Node:
        """Combine each value with the one at its index, by f(old, new)."""
        element = element_of(start.type)
        made = self.function([element, element], ["old", "new"], function)
        sizes = [length_of(start), length_of(values), element]
        return self.apply(pattern_registry.SCATTER_WITH, sizes, made, indices, start, values)

    def scatter(self, indices: Node, start: Node, values: Node) -> Node:
        sizes = [length_of(start), length_of(values), element_of(start.type)]
        return self.apply(pattern_registry.SCATTER, sizes, indices, start, values)

    # Views

    def transpose(self, xss: Node) -> Node:
        if _is_application_of(xss, pattern_registry.TRANSPOSE):
            return xss.arguments[0]
        inner = element_of(xss.type)
        assert isinstance(inner, ArrayType)
        sizes = [length_of(xss), inner.length, inner.element]
        return self.apply(pattern_registry.TRANSPOSE, sizes, xss)

    def join(self, xss: Node) -> Node:
        if is_split(xss):
            return xss.arguments[0]
        inner = element_of(xss.type)
        assert isinstance(inner, ArrayType)
        return self.apply(pattern_registry.JOIN, [length_of(xss), inner.length, inner.element], xss)

    def split(self, chunk: Nat | int, count: Nat | int, xs: Node) -> Node:
        sizes = [as_nat(chunk), as_nat(count), element_of(xs.type)]
        return self.apply(pattern_registry.SPLIT, sizes, xs)

    def slide(self, count: Nat | int, size: Nat | int, step: Nat | int, xs: Node) -> Node:
        sizes = [as_nat(count), as_nat(size), as_nat(step), element_of(xs.type)]
        return self.apply(pattern_registry.SLIDE, sizes, xs)

    def reverse(self, xs: Node) -> Node:
        return self.apply(pattern_registry.REVERSE, [length_of(xs), element_of(xs.type)], xs)

    def take(self, count: Nat | int, xs: Node) -> Node:
        rest = length_of(xs) - count
        if rest == as_nat(0):
            return xs
        return self.apply(pattern_registry.TAKE, [as_nat(count), rest, element_of(xs.type)], xs)

    def drop(self, count: Nat | int, xs: Node) -> Node:
        if as_nat(count) == as_nat(0):
            return xs
        rest = length_of(xs) - count
        return self.apply(pattern_registry.DROP, [as_nat(count), rest, element_of(xs.type)], xs)

    def pad_const(self, before: int, after: int, value: Node, xs: Node) -> Node:
        sizes = [length_of(xs), as_nat(before), as_nat(after), element_of(xs.type)]
        return self.apply(pattern_registry.PAD_CONST, sizes, value, xs)

    def concat(self, xs: Node, ys: Node) -> Node:
        sizes = [length_of(xs), length_of(ys), element_of(xs.type)]
        return self.apply(pattern_registry.CONCAT, sizes, xs, ys)

    def at(self, position: Node, xs: Node) -> Node:
        return self.apply(pattern_registry.AT, [length_of(xs), element_of(xs.type)], position, xs)

    def first(self, xs: Node) -> Node:
        """Return the only element of an array, or the first of several."""
        return self.at(self.clamp_idx(length_of(xs), self.literal(0, index)), xs)

    def slice_at(self, size: int, start: Node, xs: Node) -> Node:
        """Return `size` elements from an index in [0, length - size]."""
        sizes = [as_nat(size), length_of(xs) - size, element_of(xs.type)]
        return self.apply(pattern_registry.SLICE_AT, sizes, start, xs)

    def update_at(self, start: Node, new: Node, xs: Node) -> Node:
        size = length_of(new)
        sizes = [size, length_of(xs) - size, element_of(xs.type)]
        return self.apply(pattern_registry.UPDATE_AT, sizes, start, new, xs)

    def clamp_idx(self, bound: Nat | int, value: Node) -> Node:
        return self.apply(pattern_registry.CLAMP_IDX, [as_nat(bound), value.type], value)

    def from_idx(self, value: Node, bound: Nat | int) -> Node:
        return self.apply(pattern_registry.FROM_IDX, [as_nat(bound)], value)

    def to_mem(self, value: Node) -> Node:
        return self.apply(pattern_registry.TO_MEM, ["heap", value.type], value)

    def store_if_computed(self, value: Node) -> Node:
        """Store a value that is read often in memory, unless reading it is free."""
        return value if build.is_view_node(_indexed_array(value)) else self.to_mem(value)


RESHAPING_PATTERNS = (pattern_registry.SPLIT, pattern_registry.JOIN)
MAX_EXACT_INTEGER = 2**53
"""Integers up to this one are exact as f64."""


def _converted_literal(value: Node, type: ScalarType) -> float | None:
    """Return a literal as a float of another type, rounded once; None for other values."""
    if not isinstance(value, build.Constant) or not isinstance(value.number, LiteralAttr):
        return None
    number = value.number.number
    if isinstance(number, tuple) or type not in (f32, f64):
        return None
    if abs(number) > MAX_EXACT_INTEGER and isfinite(number):
        return None
    with np.errstate(all="ignore"):
        return float(np.float32(number)) if type == f32 else float(number)


def drop_to_mem(node: Node) -> Node:
    """Drop a `toMem` whose value is stored anyway, perhaps with more or fewer dimensions."""
    if _is_application_of(node, pattern_registry.TO_MEM):
        return node.arguments[0]
    if any(_is_application_of(node, each) for each in RESHAPING_PATTERNS):
        assert isinstance(node, build.Application)
        (stored,) = node.arguments
        value = drop_to_mem(stored)
        return node if value is stored else replace(node, arguments=(value,))
    return node


def drop_widening(node: Node) -> Node | None:
    """Return an array that is computed by maps without the conversion to f32 that is their last
    step; None if it is not a conversion of halves."""
    if not _is_application_of(node, pattern_registry.MAP):
        return None
    function, xs = node.arguments
    if not isinstance(function, build.Function):
        return None
    (parameter,), body = function.parameters, function.body
    if isinstance(body, build.Conversion):
        is_widening = body.type == f32 and body.operand.type in (f16, bf16)
        narrow = body.operand if is_widening else None
    else:
        narrow = drop_widening(body)
    if narrow is None or narrow is parameter:
        return None if narrow is None else xs
    use = node.function
    assert isinstance(use, build.PatternUse)
    sizes = (length_of(xs), element_of(xs.type), narrow.type)
    parameters = dict(zip(use.spec.parameters, sizes, strict=True))
    type = use.spec.instantiate(parameters)
    changed = replace(function, type=fun(parameter.type, narrow.type), body=narrow)
    _, result = uncurry(type)
    return replace(
        node, type=result, function=replace(use, type=type, arguments=parameters),
        arguments=[changed, xs],
    )  # fmt: skip


def scalar_of(type: RiseType) -> RiseType:
    """Return the type of the scalars in an array."""
    while isinstance(type, ArrayType):
        type = type.element
    return type


def is_split(node: Node) -> TypeGuard[build.Application]:
    return _is_application_of(node, pattern_registry.SPLIT)


def _indexed_array(node: Node) -> Node:
    """Return the array whose element at constant indices a node is."""
    while _is_application_of(node, pattern_registry.AT):
        index, array = node.arguments
        is_clamped = _is_application_of(index, pattern_registry.CLAMP_IDX)
        if not is_clamped or not isinstance(index.arguments[-1], build.Constant):
            break
        node = array
    return node


def _is_application_of(node: Node, spec: PatternSpec) -> TypeGuard[build.Application]:
    """Whether this is a pattern applied to its arguments."""
    if not isinstance(node, build.Application) or not isinstance(node.function, build.PatternUse):
        return False
    return node.function.spec is spec and len(node.arguments) == spec.arity


def _eta_reduce(variables: Sequence[build.Variable], body: Node) -> Node | None:
    """Eta-reduce: `fun(x, x |> transpose)` is `transpose`."""
    if len(variables) != 1 or not isinstance(body, build.Application):
        return None
    *given, last = body.arguments
    if last is not variables[0] or not isinstance(body.function, build.PatternUse):
        return None
    if not given:
        return body.function
    if len(given) == 1 and _is_partial_application(given[0]):
        return build.Application(
            fun(variables[0].type, body.type), body.function, given,
            scope=body.scope, location=body.location,
        )  # fmt: skip
    return None


def _is_partial_application(node: Node) -> bool:
    """Whether this is a pattern without its argument that mentions no variable."""
    if isinstance(node, build.PatternUse):
        return True
    return (
        isinstance(node, build.Application)
        and isinstance(node.function, build.PatternUse)
        and all(_is_partial_application(argument) for argument in node.arguments)
    )
