"""The meaning of each pattern, on lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from riselang.dialects.rise.pattern_registry import CHUNK_LENGTH
from riselang.dialects.rise.types import i1
from riselang.nat import Nat
from riselang.support.errors import OutOfRangeError, UserError
from riselang.term.nodes import Pattern

List = list[Any]
Function = Callable[[Any], Any]


def _size_argument(pattern: Pattern, name: str) -> int:
    value = pattern.argument(name)
    assert isinstance(value, Nat)
    if not value.is_constant:
        raise UserError(
            f"{pattern.spec.name}: the size {value} has no value; no parameter's type has it",
            pattern.location,
        )
    return value.constant


def _map(pattern: Pattern, function: Function, xs: List) -> List:
    results: List = []
    for x in xs:
        results.append(function(x))
    return results


def _reduce(pattern: Pattern, function: Function, init: Any, xs: List) -> Any:
    accumulator = init
    for x in xs:
        accumulator = function(accumulator)(x)
    return accumulator


def _zip(pattern: Pattern, xs: List, ys: List) -> List:
    return list(zip(xs, ys, strict=True))


def _unzip(pattern: Pattern, pairs: List) -> tuple[List, List]:
    return [first for first, _ in pairs], [second for _, second in pairs]


def _split(pattern: Pattern, xs: List) -> List:
    chunk = _size_argument(pattern, "m")
    return [xs[start : start + chunk] for start in range(0, len(xs), chunk)]


def _join(pattern: Pattern, xss: List) -> List:
    return [x for xs in xss for x in xs]


def _transpose(pattern: Pattern, xss: List) -> List:
    return [[xs[column] for xs in xss] for column in range(_size_argument(pattern, "m"))]


def _slide(pattern: Pattern, xs: List) -> List:
    size, step = _size_argument(pattern, "sz"), _size_argument(pattern, "sp")
    return [xs[i * step : i * step + size] for i in range(_size_argument(pattern, "n"))]


def _pad(pattern: Pattern, xs: List) -> List:
    return [xs[0]] * _size_argument(pattern, "l") + xs + [xs[-1]] * _size_argument(pattern, "r")


def _let(pattern: Pattern, value: Any, body: Function) -> Any:
    return body(value)


def _scan(pattern: Pattern, function: Function, init: Any, xs: List) -> List:
    results: List = []
    accumulator = init
    for x in xs:
        accumulator = function(accumulator)(x)
        results.append(accumulator)
    return results


def _pad_const(pattern: Pattern, value: Any, xs: List) -> List:
    return [value] * _size_argument(pattern, "l") + xs + [value] * _size_argument(pattern, "r")


def _pad_wrap(pattern: Pattern, xs: List) -> List:
    return xs[len(xs) - _size_argument(pattern, "l") :] + xs + xs[: _size_argument(pattern, "r")]


def _pad_reflect(pattern: Pattern, xs: List) -> List:
    left, right, last = _size_argument(pattern, "l"), _size_argument(pattern, "r"), len(xs) - 1
    before = [xs[i] for i in range(left, 0, -1)]
    return before + xs + [xs[last - i] for i in range(1, right + 1)]


def _slice_at(pattern: Pattern, start: int, xs: List) -> List:
    return xs[start : start + _size_argument(pattern, "k")]


def _update_at(pattern: Pattern, start: int, new: List, xs: List) -> List:
    return xs[:start] + new + xs[start + len(new) :]


def _reorder(pattern: Pattern, function: Function, xs: List) -> List:
    return [xs[function(i)] for i in range(len(xs))]


def _scatter(pattern: Pattern, indices: List, start: List, values: List) -> List:
    return _scatter_with(pattern, lambda old: lambda new: new, indices, start, values)


def _scatter_with(
    pattern: Pattern, function: Function, indices: List, start: List, values: List
) -> List:
    result = list(start)
    for i, value in zip(indices, values, strict=True):
        result[i] = function(result[i])(value)
    return result


def _generate(pattern: Pattern, function: Function) -> List:
    return [function(i) for i in range(_size_argument(pattern, "n"))]


def _iterate(pattern: Pattern, function: Function, value: Any) -> Any:
    for _ in range(_size_argument(pattern, "k")):
        value = function(value)
    return value


def _while(pattern: Pattern, condition: Function, function: Function, value: Any) -> Any:
    while condition(value):
        value = function(value)
    return value


def _sort(pattern: Pattern, before: Function, xs: List) -> List:
    """Merge adjacent runs of 1, 2, 4, ... elements.

    The sequence of comparisons is part of the definition, so the result is defined even if the
    function is not an order.
    """
    width = 1
    while width < len(xs):
        merged: List = []
        for start in range(0, len(xs), 2 * width):
            middle = start + width
            merged += _merge(before, xs[start:middle], xs[middle : middle + width])
        xs, width = merged, 2 * width
    return xs


def _merge(before: Function, left: List, right: List) -> List:
    """Merge two runs; the left element comes first unless the right one orders before it."""
    result: List = []
    i = j = 0
    while i < len(left) and j < len(right):
        if before(right[j])(left[i]):
            result.append(right[j])
            j += 1
        else:
            result.append(left[i])
            i += 1
    return result + left[i:] + right[j:]


def _integer_value(pattern: Pattern, number: int) -> int:
    """The value of an integer; true of type i1 is 1, although it is represented as -1."""
    return abs(number) if pattern.argument("t") == i1 else number


def _clamp_idx(pattern: Pattern, number: int) -> int:
    return min(max(_integer_value(pattern, number), 0), _size_argument(pattern, "n") - 1)


def _check_idx(pattern: Pattern, number: int) -> int:
    bound = _size_argument(pattern, "n")
    number = _integer_value(pattern, number)
    if not 0 <= number < bound:
        raise OutOfRangeError(number, bound, pattern.location)
    return number


def _reduce_par(pattern: Pattern, function: Function, init: Any, xs: List) -> Any:
    chunks = [xs[start : start + CHUNK_LENGTH] for start in range(0, len(xs), CHUNK_LENGTH)]
    return _reduce(pattern, function, init, [_reduce(pattern, function, init, c) for c in chunks])


def _chunks(pattern: Pattern, xs: List) -> List:
    length = _size_argument(pattern, "k")
    return [xs[start : start + length] for start in range(0, len(xs), length)]


def _windows(pattern: Pattern, function: Function, xs: List) -> List:
    size, values = _size_argument(pattern, "sz"), _map(pattern, function, xs)
    return [values[i : i + size] for i in range(_size_argument(pattern, "n"))]


def _mma(pattern: Pattern, function: Function, init: Any, chunks: List, columns: List) -> List:
    rows = [
        [element for chunk in chunks for element in chunk[i]]
        for i in range(_size_argument(pattern, "m"))
    ]
    group, count = _size_argument(pattern, "g"), _size_argument(pattern, "n")
    return [[_dot(function, init, row, columns, group, j) for j in range(count)] for row in rows]


def _dot(function: Function, init: Any, row: List, columns: List, group: int, column: int) -> Any:
    accumulator = init
    for k, element in enumerate(row):
        other = columns[k // group][column * group + k % group]
        accumulator = function(accumulator)((element, other))
    return accumulator


def _map_lane_exchange(pattern: Pattern, function: Function, array: List) -> List:
    """The rows that lanes compute, of which each group of lanes transposes those of equal index."""
    count, results = _size_argument(pattern, "q"), [function(element) for element in array]
    return [
        [
            [results[lane - lane % count + other][row][lane % count] for other in range(count)]
            for row in range(_size_argument(pattern, "m"))
        ]
        for lane in range(len(results))
    ]


def _tensor_mma(pattern: Pattern, function: Function, init: Any, rows: List, columns: List) -> List:
    """The sums of a tile, as a fragment: for each warp and each lane of it, those that it holds."""
    row_warps, column_warps, row_tiles, column_tiles = (
        _size_argument(pattern, name) for name in ("wr", "wc", "tm", "tn")
    )

    def reduced(row: List, column: List) -> Any:
        accumulator = init
        for pair in zip(row, column, strict=True):
            accumulator = function(accumulator)(pair)
        return accumulator

    return [
        [
            [
                reduced(rows[i], columns[j])
                for i, j in fragment_positions(column_warps, row_tiles, column_tiles, warp, lane)
            ]
            for lane in range(32)
        ]
        for warp in range(row_warps * column_warps)
    ]


def _tensor_attention(
    pattern: Pattern, scale: Any, empty: Any, last: Any, queries: List, keys: List, values: List
) -> List:
    """The results of a tile of queries, as a fragment."""
    warps, row_tiles, column_tiles = (_size_argument(pattern, name) for name in ("w", "tm", "tn"))
    results = [
        _attend(query, keys[: int(last) + row + 1], values, np.float32(scale), empty)
        for row, query in enumerate(queries)
    ]
    return [
        [
            [results[i][j] for i, j in fragment_positions(1, row_tiles, column_tiles, warp, lane)]
            for lane in range(32)
        ]
        for warp in range(warps)
    ]


def _attend(query: List, keys: List, values: List, scale: Any, empty: Any) -> List:
    """The sum of the values with the softmax of the scores of their keys as weights, in one pass.

    The sums are relative to the largest score so far. If all scores are -inf, each is `empty`.
    """
    largest, total = np.float32("-inf"), np.float32(0)
    sums = [np.float32(0)] * len(values[0])
    with np.errstate(all="ignore"):
        for key, value in zip(keys, values, strict=False):
            products = (np.float32(x) * np.float32(y) for x, y in zip(query, key, strict=True))
            score = sum(products, np.float32(0)) * scale
            new = np.maximum(largest, score)
            base = new if new > -np.inf else np.float32(0)
            factor, weight = np.exp(largest - base), np.exp(score - base)
            total = total * factor + weight
            sums = [
                one * factor + weight * np.float32(other)
                for one, other in zip(sums, value, strict=True)
            ]
            largest = new
        return [float(each / total if total else empty) for each in sums]


def fragment_positions(
    column_warps: int, row_tiles: int, column_tiles: int, warp: int, lane: int
) -> Iterator[tuple[int, int]]:
    """Yield the rows and columns of the elements of a tile that a lane holds, in order."""
    first_row = warp // column_warps * row_tiles * 16 + lane // 4
    first_column = warp % column_warps * column_tiles * 8 + lane % 4 * 2
    for row_tile in range(row_tiles):
        for column_tile in range(column_tiles):
            for half in range(2):
                for number in range(2):
                    yield (
                        first_row + row_tile * 16 + half * 8,
                        first_column + column_tile * 8 + number,
                    )


def _if_at_least(pattern: Pattern, large: Function, small: Function) -> Any:
    size = _size_argument(pattern, "n")
    return (large if size >= _size_argument(pattern, "k") else small)(size)


MEANINGS: Mapping[str, Callable[..., Any]] = {
    "map": _map,
    "reduce": _reduce,
    "scan": _scan,
    "zip": _zip,
    "unzip": _unzip,
    "tuple": lambda pattern, first, second: (first, second),
    "fst": lambda pattern, pair: pair[0],
    "snd": lambda pattern, pair: pair[1],
    "split": _split,
    "join": _join,
    "transpose": _transpose,
    "reverse": lambda pattern, xs: xs[::-1],
    "slide": _slide,
    "pad": _pad,
    "padConst": _pad_const,
    "padWrap": _pad_wrap,
    "padReflect": _pad_reflect,
    "prefetch": lambda pattern, xs: xs,
    "nontemporal": lambda pattern, xs: xs,
    "shard": lambda pattern, xs: xs,
    "take": lambda pattern, xs: xs[: _size_argument(pattern, "k")],
    "drop": lambda pattern, xs: xs[_size_argument(pattern, "k") :],
    "concat": lambda pattern, xs, ys: xs + ys,
    "at": lambda pattern, i, xs: xs[i],
    "sliceAt": _slice_at,
    "updateAt": _update_at,
    "gather": lambda pattern, indices, xs: [xs[i] for i in indices],
    "reorder": _reorder,
    "scatter": _scatter,
    "scatterWith": _scatter_with,
    "generate": _generate,
    "iterate": _iterate,
    "while": _while,
    "sort": _sort,
    "clampIdx": _clamp_idx,
    "checkIdx": _check_idx,
    "fromIdx": lambda pattern, i: i,
    "sizeOf": lambda pattern, xs: _size_argument(pattern, "n"),
    "ifAtLeast": _if_at_least,
    "let": _let,
    "toMem": lambda pattern, value: value,
    "mapSeq": _map,
    "mapPar": _map,
    "mapSeqUnroll": _map,
    "mapRank": _map,
    "mapBlock": _map,
    "mapThread": _map,
    "mapWarp": _map,
    "mapLane": _map,
    "mapLaneExchange": _map_lane_exchange,
    "reduceSeq": _reduce,
    "reduceRank": _reduce,
    "reduceSeqUnroll": _reduce,
    "reducePar": _reduce_par,
    "scanSeq": _scan,
    "iterateSeq": _iterate,
    "asVector": _chunks,
    "asScalar": _join,
    "vectorFromScalar": lambda pattern, value: [value] * _size_argument(pattern, "k"),
    "circularBuffer": _windows,
    "rotateValues": _windows,
    "mma": _mma,
    "tensorMMA": _tensor_mma,
    "tensorAttention": _tensor_attention,
}
