"""The meanings of patterns that read no run-time indices, as functions from an index to an element.

The counterpart of `interpreter.patterns`, which computes lists; `meanings` has the other patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    TupleType,
    VectorType,
    components,
    uncurry,
)
from riselang.dialects.rise.view_routes import Path, Side, View, make_route
from riselang.nat import Nat
from riselang.rewrite.proving.size_conditions import less
from riselang.rewrite.proving.symbolic_values import (
    Array,
    Number,
    Pair,
    Value,
    apply,
    choose,
    element,
    reduction,
    value_at,
)
from riselang.term.nodes import Pattern

ZERO = Nat.const(0)


def size_argument(pattern: Pattern, name: str) -> Nat:
    size = pattern.argument(name)
    assert isinstance(size, Nat)
    return size


def _type(pattern: Pattern, name: str) -> RiseType:
    type = pattern.argument(name)
    assert isinstance(type, RiseType)
    return type


def _quotient(index: Nat, divisor: Nat) -> Nat:
    # Nothing is read from empty rows, so any index is correct.
    return ZERO if divisor == 0 else index // divisor


def _remainder(index: Nat, divisor: Nat) -> Nat:
    return ZERO if divisor == 0 else index % divisor


def _map(pattern: Pattern, function: Value, array: Value) -> Value:
    return Array(lambda i: apply(function, element(array, i)))


def _reduce(pattern: Pattern, function: Value, init: Value, array: Value) -> Value:
    return _reduce_steps(pattern, size_argument(pattern, "n"), function, init, array)


def _scan(pattern: Pattern, function: Value, init: Value, array: Value) -> Value:
    return Array(lambda i: _reduce_steps(pattern, i + 1, function, init, array))


def _reduce_steps(
    pattern: Pattern, length: Nat, function: Value, init: Value, array: Value
) -> Value:
    def step(i: Nat, accumulator: Value) -> Value:
        return apply(apply(function, accumulator), element(array, i))

    return reduction(_type(pattern, "t"), length, init, step)


def _iterate(pattern: Pattern, function: Value, value: Value) -> Value:
    count = size_argument(pattern, "k")
    return reduction(_type(pattern, "t"), count, value, lambda _, value: apply(function, value))


def _zip(pattern: Pattern, left: Value, right: Value) -> Value:
    return Array(lambda i: Pair(element(left, i), element(right, i)))


def _join(array: Value, length: Nat) -> Value:
    return Array(lambda i: element(element(array, _quotient(i, length)), _remainder(i, length)))


def _windows(pattern: Pattern, function: Value, array: Value) -> Value:
    return Array(lambda i: Array(lambda j: apply(function, element(array, i + j))))


def _mma(pattern: Pattern, function: Value, init: Value, chunks: Value, columns: Value) -> Value:
    group = size_argument(pattern, "g")
    chunk = size_argument(pattern, "h") * group

    def dot(i: Nat, j: Nat) -> Value:
        def step(k: Nat, accumulator: Value) -> Value:
            one = element(element(element(chunks, k // chunk), i), k % chunk)
            other = element(element(columns, k // group), j * group + k % group)
            return apply(apply(function, accumulator), Pair(one, other))

        return reduction(_type(pattern, "t"), size_argument(pattern, "k") * chunk, init, step)

    return Array(lambda i: Array(lambda j: dot(i, j)))


def _map_lane_exchange(pattern: Pattern, function: Value, array: Value) -> Value:
    count = size_argument(pattern, "q")

    def element_of(lane: Nat, row: Nat, other: Nat) -> Value:
        results = apply(function, element(array, lane // count * count + other))
        return element(element(results, row), lane % count)

    return Array(lambda lane: Array(lambda row: Array(lambda other: element_of(lane, row, other))))


def _tensor_mma(
    pattern: Pattern, function: Value, init: Value, rows: Value, columns: Value
) -> Value:
    warps, row_tiles, column_tiles = (size_argument(pattern, name) for name in ("wc", "tm", "tn"))

    def sum_of(warp: Nat, lane: Nat, register: Nat) -> Value:
        tile, half, number = register // 4, register % 4 // 2, register % 2
        row = (warp // warps * row_tiles + tile // column_tiles) * 16 + half * 8 + lane // 4
        column = (warp % warps * column_tiles + tile % column_tiles) * 8 + lane % 4 * 2 + number

        def step(k: Nat, accumulator: Value) -> Value:
            one, other = element(element(rows, row), k), element(element(columns, column), k)
            return apply(apply(function, accumulator), Pair(one, other))

        return reduction(_type(pattern, "t"), size_argument(pattern, "k"), init, step)

    return Array(
        lambda warp: Array(lambda lane: Array(lambda register: sum_of(warp, lane, register)))
    )


def _concat(pattern: Pattern, left: Value, right: Value) -> Value:
    length = size_argument(pattern, "n")
    return Array(lambda i: choose(less(i, length), element(left, i), element(right, i - length)))


def _pad_with(
    pattern: Pattern,
    array: Value,
    value_before: Callable[[Nat], Value],
    value_after: Callable[[Nat], Value],
) -> Value:
    """`before` and `after` map a distance before the first or after the last element to a value."""
    length, left = size_argument(pattern, "n"), size_argument(pattern, "l")

    def at(i: Nat) -> Value:
        inner = choose(
            less(i, left + length), element(array, i - left), value_after(i - left - length)
        )
        return choose(less(i, left), value_before(left - 1 - i), inner)

    return Array(at)


def _pad(pattern: Pattern, array: Value) -> Value:
    last = size_argument(pattern, "n") - 1
    return _pad_with(pattern, array, lambda i: element(array, ZERO), lambda i: element(array, last))


def _pad_const(pattern: Pattern, value: Value, array: Value) -> Value:
    return _pad_with(pattern, array, lambda i: value, lambda i: value)


def _pad_wrap(pattern: Pattern, array: Value) -> Value:
    last = size_argument(pattern, "n") - 1
    return _pad_with(
        pattern, array, lambda i: element(array, last - i), lambda i: element(array, i)
    )


def _pad_reflect(pattern: Pattern, array: Value) -> Value:
    last = size_argument(pattern, "n") - 1
    return _pad_with(
        pattern, array, lambda i: element(array, i + 1), lambda i: element(array, last - 1 - i)
    )


def _if_at_least(pattern: Pattern, large: Value, small: Value) -> Value:
    size = size_argument(pattern, "n")
    is_small = less(size, size_argument(pattern, "k"))
    return choose(is_small, apply(small, Number(size)), apply(large, Number(size)))


def _view_meaning(spec: PatternSpec, view: View) -> Callable[[Pattern, Value], Value]:
    """Return the meaning of a view, from the route that reads it."""
    path = make_route(spec.name, spec.parameters, view.read)
    _, result = uncurry(spec.type)

    def meaning(pattern: Pattern, argument: Value) -> Value:
        sizes = [size_argument(pattern, name) for name in path.sizes]
        return _build_value(
            result, path.parts, lambda parts: _value_at_path(argument, path(sizes, parts))
        )

    return meaning


def _build_value(
    type: RiseType, count: int, value_at_parts: Callable[[Path], Value], parts: Path = ()
) -> Value:
    """Build a value of a type from the values at the paths of `count` parts in it."""
    if len(parts) == count:
        return value_at_parts(parts)
    if isinstance(type, TupleType):
        first, second = (
            _build_value(each, count, value_at_parts, (*parts, side))
            for each, side in zip(components(type), Side, strict=True)
        )
        return Pair(first, second)
    assert isinstance(type, ArrayType | VectorType)
    return Array(lambda i: _build_value(type.element, count, value_at_parts, (*parts, i)))


def _value_at_path(value: Value, path: Path) -> Value:
    names = {Side.FIRST: "fst", Side.SECOND: "snd"}
    return value_at(value, tuple(part if isinstance(part, Nat) else names[part] for part in path))


VIEWS: Mapping[str, Callable[..., Value]] = {
    **{
        name: _view_meaning(spec, spec.view)
        for name, spec in PATTERNS.items()
        if spec.view is not None
    },
    **dict.fromkeys(
        (
            "map", "mapSeq", "mapPar", "mapSeqUnroll", "mapBlock", "mapThread", "mapWarp",
            "mapLane", "mapRank",
        ),
        _map,
    ),
    **dict.fromkeys(("reduce", "reduceSeq", "reduceSeqUnroll", "reduceRank"), _reduce),
    **dict.fromkeys(("scan", "scanSeq"), _scan),
    **dict.fromkeys(("iterate", "iterateSeq"), _iterate),
    **dict.fromkeys(("circularBuffer", "rotateValues"), _windows),
    "mma": _mma,
    "mapLaneExchange": _map_lane_exchange,
    "tensorMMA": _tensor_mma,
    "zip": _zip,
    "tuple": lambda pattern, one, other: Pair(one, other),
    "join": lambda pattern, array: _join(array, size_argument(pattern, "m")),
    "asScalar": lambda pattern, array: _join(array, size_argument(pattern, "k")),
    "concat": _concat,
    "pad": _pad,
    "padConst": _pad_const,
    "padWrap": _pad_wrap,
    "padReflect": _pad_reflect,
    "generate": lambda pattern, function: Array(lambda i: apply(function, Number(i))),
    "vectorFromScalar": lambda pattern, value: Array(lambda i: value),
    "let": lambda pattern, value, body: apply(body, value),
    "toMem": lambda pattern, value: value,
    "ifAtLeast": _if_at_least,
    "sizeOf": lambda pattern, array: Number(size_argument(pattern, "n")),
}  # fmt: skip
