"""What each pattern means on structures of arrays, for all points of the maps around it at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal as OneOf
from typing import TypeAlias

import numpy as np

from support.numpy_scalars import Array
from support.numpy_values import (
    Batch,
    Data,
    Function,
    OutOfRange,
    Tree,
    Value,
    both,
    call,
    data,
    each,
    lift,
    plain,
)

CHUNK = 4096
"""How many elements reducePar reduces before it combines the results."""
Meaning: TypeAlias = "Callable[[dict[str, int], Batch, list[Value]], Value]"


def _map(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    function, source = arguments
    assert isinstance(function, Function)
    assert isinstance(source, Data)
    inner = (*batch, sizes["n"])
    result = lift(function.call(Data(len(inner), source.tree), inner), inner)
    assert isinstance(result, Data)
    return Data(len(batch), result.tree)


def _reduce(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    function, accumulator, source = arguments
    assert isinstance(function, Function)
    assert isinstance(source, Data)
    for position in range(sizes["n"]):
        element = each(source.tree, lambda array, at=position: array.take(at, len(batch)))
        step = function.call(accumulator, batch)
        assert isinstance(step, Function)
        accumulator = lift(step.call(Data(len(batch), element), batch), batch)
    return accumulator


def _scan(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    function, accumulator, source = arguments
    assert isinstance(accumulator, Data)
    axis = len(batch)
    result = each(accumulator.tree, lambda array: np.take(np.expand_dims(array, axis), [], axis))
    for position in range(sizes["n"]):
        element = each(data(source), lambda array, at=position: array.take([at], axis))
        accumulator = _reduce({"n": 1}, batch, [function, accumulator, Data(axis, element)])
        row = each(data(accumulator), lambda array: np.expand_dims(array, axis))
        result = both(result, row, lambda left, right: np.concatenate([left, right], axis))
    return Data(axis, result)


def _iterate(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    function, value = arguments
    for _ in range(sizes["k"]):
        value = call(function, value, batch)
    return value


def _while(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    """A point whose condition no longer holds keeps its value while the others go on."""
    condition, function, value = arguments
    active = np.ones(batch, np.bool_)
    while True:
        active = active & plain(call(condition, value, batch))
        if not active.any():
            return value
        following = data(call(function, value, batch))

        def choose(new: Array, old: Array, active: Array = active) -> Array:
            return np.where(active.reshape((*batch, *[1] * (new.ndim - len(batch)))), new, old)

        value = Data(len(batch), both(following, data(value), choose))


def _if_at_least(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    function = arguments[0 if sizes["n"] >= sizes["k"] else 1]
    return call(function, Data(len(batch), np.full(batch, sizes["n"], np.int64)), batch)


def _reduce_par(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    """The whole chunks, all at once, then what is left; their results in order."""
    function, init, source = arguments
    axis, whole, left = len(batch), sizes["n"] // CHUNK, sizes["n"] % CHUNK
    front, rest = _cut(data(source), axis, whole * CHUNK)
    result = init
    if whole > 0:
        chunks = each(front, lambda array: _split(array, axis, {"n": whole, "m": CHUNK}))
        inner = (*batch, whole)
        operands = [function, lift(init, inner), Data(len(inner), chunks)]
        partial = data(_reduce({"n": CHUNK}, inner, operands))
        result = _reduce({"n": whole}, batch, [function, result, Data(axis, partial)])
    if left > 0:
        last = _reduce({"n": left}, batch, [function, init, Data(axis, rest)])
        result = call(call(function, result, batch), last, batch)
    return result


def _cut(tree: Tree, axis: int, at: int) -> tuple[Tree, Tree]:
    """The elements before `at`, and those from there on."""
    front = each(tree, lambda array: np.split(array, [at], axis)[0])
    return front, each(tree, lambda array: np.split(array, [at], axis)[1])


def _pair(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    first, second = arguments
    assert isinstance(first, Data)
    assert isinstance(second, Data)
    return Data(len(batch), (first.tree, second.tree))


def _component(position: int) -> Meaning:
    def meaning(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
        (pair,) = arguments
        assert isinstance(pair, Data)
        assert isinstance(pair.tree, tuple)
        return Data(len(batch), pair.tree[position])

    return meaning


def _let(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    value, body = arguments
    assert isinstance(body, Function)
    return body.call(value, batch)


def _view(change: Callable[[Array, int, dict[str, int]], Array]) -> Meaning:
    """A pattern that moves elements; `change` gets the array, its first own axis and the sizes."""

    def meaning(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
        (source,) = arguments
        assert isinstance(source, Data)
        axis = len(batch)
        return Data(axis, each(source.tree, lambda array: change(array, axis, sizes)))

    return meaning


def _split(array: Array, axis: int, sizes: dict[str, int]) -> Array:
    shape = array.shape
    return array.reshape(*shape[:axis], sizes["n"], sizes["m"], *shape[axis + 1 :])


def _join(array: Array, axis: int, sizes: dict[str, int]) -> Array:
    shape = array.shape
    return array.reshape(*shape[:axis], sizes["n"] * sizes["m"], *shape[axis + 2 :])


def _slide(array: Array, axis: int, sizes: dict[str, int]) -> Array:
    starts = np.arange(sizes["n"])[:, None] * sizes["sp"]
    return np.take(array, starts + np.arange(sizes["sz"]), axis)


def _pad(
    mode: OneOf["edge", "wrap", "reflect"],
) -> Callable[[Array, int, dict[str, int]], Array]:
    def change(array: Array, axis: int, sizes: dict[str, int]) -> Array:
        width = [(0, 0)] * array.ndim
        width[axis] = sizes["l"], sizes["r"]
        return np.pad(array, width, mode)

    return change


def _concat(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    axis = len(batch)
    first, second = map(data, arguments)
    return Data(axis, both(first, second, lambda xs, ys: np.concatenate([xs, ys], axis)))


def _pad_const(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    axis = len(batch)
    value, source = map(data, arguments)

    def surround(value: Array, array: Array) -> Array:
        row = np.expand_dims(value, axis)
        left, right = (np.repeat(row, sizes[side], axis) for side in ("l", "r"))
        return np.concatenate([left, array, right], axis)

    return Data(axis, both(value, source, surround))


# Indices


def _along(indices: Array, array: Array, axis: int) -> Array:
    """The indices, one list for each point, with as many axes as the array has."""
    limit = array.shape[axis]
    assert ((indices >= 0) & (indices < limit)).all(), "an index is out of range"
    return indices.reshape((*indices.shape, *[1] * (array.ndim - axis - 1)))


def _chosen(source: Tree, indices: Array, axis: int) -> Tree:
    """At each point, the elements at the indices of that point."""
    return each(source, lambda array: np.take_along_axis(array, _along(indices, array, axis), axis))


def _replaced(source: Tree, indices: Array, new: Tree, axis: int) -> Tree:
    """At each point, the array with the elements at different indices replaced."""

    def put(array: Array, values: Array) -> Array:
        result = np.array(array)
        np.put_along_axis(result, _along(indices, array, axis), values, axis)
        return result

    return both(source, new, put)


def _range(sizes: dict[str, int], batch: Batch) -> Data:
    inner = (*batch, sizes["n"])
    return Data(len(inner), np.broadcast_to(np.arange(sizes["n"], dtype=np.int64), inner))


def _generate(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    inner = (*batch, sizes["n"])
    return Data(len(batch), data(call(arguments[0], _range(sizes, batch), inner)))


def _reorder(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    return _gather(sizes, batch, [_generate(sizes, batch, arguments[:1]), arguments[1]])


def _gather(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    indices, source = arguments
    return Data(len(batch), _chosen(data(source), plain(indices), len(batch)))


def _slice(start: Value, length: int) -> Array:
    return np.expand_dims(plain(start), -1) + np.arange(length)


def _slice_at(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    start, source = arguments
    return Data(len(batch), _chosen(data(source), _slice(start, sizes["k"]), len(batch)))


def _at(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    row = data(_slice_at({"k": 1}, batch, arguments))
    return Data(len(batch), each(row, lambda array: np.squeeze(array, len(batch))))


def _update_at(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    start, new, source = arguments
    indices = _slice(start, sizes["k"])
    return Data(len(batch), _replaced(data(source), indices, data(new), len(batch)))


def _scatter_with(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    function, indices, start, values = arguments
    axis, result = len(batch), data(start)
    for position in range(sizes["m"]):
        index = plain(indices).take(position, axis)
        new = each(data(values), lambda array, at=position: array.take(at, axis))
        old = _at(sizes, batch, [Data(axis, index), Data(axis, result)])
        combined = call(call(function, old, batch), Data(axis, new), batch)
        row = each(data(combined), lambda array: np.expand_dims(array, axis))
        result = _replaced(result, np.expand_dims(index, axis), row, axis)
    return Data(axis, result)


def _scatter(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    newest = Function(lambda old, _: Function(lambda new, at: lift(new, at)))
    return _scatter_with(sizes, batch, [newest, *arguments])


def _clamp_idx(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    number = plain(arguments[0])
    if number.dtype == np.uint64:
        number = np.minimum(number, np.uint64(2**63 - 1))
    return Data(len(batch), np.clip(number.astype(np.int64), 0, sizes["n"] - 1))


def _check_idx(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    number = plain(arguments[0]).astype(np.int64)
    if ((number < 0) | (number >= sizes["n"])).any():
        raise OutOfRange
    return Data(len(batch), number)


def _sort(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    """Each element goes to the place that the number of those before it says.

    These are the ones that the order puts before it, and of its equals those to its left.
    """
    order, source = arguments
    n, axis = sizes["n"], len(batch)
    square = (*batch, n, n)
    rows, columns = (
        each(data(source), lambda array, at=at: _repeated(array, axis + at, n)) for at in (1, 0)
    )
    left, right = Data(len(square), rows), Data(len(square), columns)
    before = plain(call(call(order, left, square), right, square))
    mirrored = np.swapaxes(before, axis, axis + 1)
    earlier = np.arange(n)[:, None] < np.arange(n)
    ahead = before | (earlier & ~before & ~mirrored)
    positions = ahead.sum(axis)
    return Data(axis, _replaced(data(source), positions, data(source), axis))


def _repeated(array: Array, axis: int, times: int) -> Array:
    return np.repeat(np.expand_dims(array, axis), times, axis)


def _vector_from_scalar(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    axis = len(batch)
    return Data(axis, _repeated(plain(arguments[0]), axis, sizes["k"]))


def _same(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    return arguments[0]


def _windows(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    mapped = _map({"n": sizes["n"] + sizes["sz"] - 1}, batch, arguments)
    return _view(_slide)({**sizes, "sp": 1}, batch, [mapped])


def _mma(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    """The columns as they were before they were stored in groups, each beside each row."""
    function, init, rows, columns = arguments
    m, n, k, h, g = (sizes[name] for name in "mnkhg")
    axis, tile = len(batch), (*batch, m, n)
    rows = np.moveaxis(plain(rows), axis, axis + 1).reshape(*batch, m, k * h * g)
    grouped = plain(columns).reshape(*batch, k * h, n, g)
    columns = np.moveaxis(grouped, axis + 1, axis).reshape(*batch, n, k * h * g)
    pairs = (
        _repeated(rows, axis + 1, n),
        _repeated(columns, axis, m),
    )
    operands = [function, lift(init, tile), Data(len(tile), pairs)]
    return Data(axis, data(_reduce({"n": k * h * g}, tile, operands)))


def _map_lane_exchange(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    """The results of the lanes, whose numbers in a group change places with those of elements."""
    axis, count = len(batch), sizes["q"]
    results = data(_map({"n": sizes["l"] * count}, batch, arguments))

    def exchanged(array: Array) -> Array:
        inner = array.shape[axis + 1 :]
        groups = array.reshape(*batch, sizes["l"], count, *inner)
        return groups.swapaxes(axis + 1, axis + 3).reshape(array.shape)

    return Data(axis, each(results, exchanged))


def _tensor_mma(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    """The sums of the tile, whose dimensions are split and moved to those of the fragment."""
    function, init, rows, columns = arguments
    wr, wc, tm, tn = (sizes[name] for name in ("wr", "wc", "tm", "tn"))
    axis, (m, n) = len(batch), (wr * tm * 16, wc * tn * 8)
    tile = (*batch, m, n)
    pairs = (_repeated(plain(rows), axis + 1, n), _repeated(plain(columns), axis, m))
    operands = [function, lift(init, tile), Data(len(tile), pairs)]
    sums = data(_reduce({"n": sizes["k"]}, tile, operands))
    assert isinstance(sums, np.ndarray)
    parts = sums.reshape(*batch, wr, tm, 2, 8, wc, tn, 4, 2)
    order = [axis + number for number in (0, 4, 3, 6, 1, 5, 2, 7)]
    fragment = parts.transpose([*range(axis), *order])
    return Data(axis, fragment.reshape(*batch, wr * wc, 32, tm * tn * 4))


def _tensor_attention(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    """The definition, with the softmax in two passes."""
    scale, empty, last, queries, keys, values = (
        plain(each).astype(np.float32) for each in arguments
    )
    w, tm, tn = (sizes[name] for name in ("w", "tm", "tn"))
    axis = len(batch)
    scores = queries @ np.swapaxes(keys, -1, -2) * scale[..., None, None]
    positions = np.arange(sizes["n"]) - np.arange(w * tm * 16)[:, None]
    scores = np.where(positions <= last[..., None, None], scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    results = (weights / weights.sum(-1, keepdims=True)) @ values
    is_empty = (scores == -np.inf).all(-1, keepdims=True)
    results = np.where(is_empty, empty[..., None, None], results)
    parts = results.astype(np.float32).reshape(*batch, w, tm, 2, 8, tn, 4, 2)
    order = [axis + number for number in (0, 3, 5, 1, 4, 2, 6)]
    fragment = parts.transpose([*range(axis), *order])
    return Data(axis, fragment.reshape(*batch, w, 32, tm * tn * 4))


PATTERNS: dict[str, Meaning] = {
    "map": _map,
    "mapSeq": _map,
    "mapPar": _map,
    "reduce": _reduce,
    "reduceSeq": _reduce,
    "zip": _pair,
    "tuple": _pair,
    "unzip": _view(lambda array, axis, sizes: array),
    "fst": _component(0),
    "snd": _component(1),
    "split": _view(_split),
    "join": _view(_join),
    "transpose": _view(lambda array, axis, sizes: np.swapaxes(array, axis, axis + 1)),
    "slide": _view(_slide),
    "pad": _view(_pad("edge")),
    "let": _let,
    "mapSeqUnroll": _map,
    "mapBlock": _map,
    "mapThread": _map,
    "mapWarp": _map,
    "mapLane": _map,
    "mapRank": _map,
    "reduceSeqUnroll": _reduce,
    "reduceRank": _reduce,
    "reducePar": _reduce_par,
    "scan": _scan,
    "scanSeq": _scan,
    "iterate": _iterate,
    "iterateSeq": _iterate,
    "while": _while,
    "toMem": _same,
    "reverse": _view(lambda array, axis, sizes: np.flip(array, axis)),
    "padConst": _pad_const,
    "padWrap": _view(_pad("wrap")),
    "padReflect": _view(_pad("reflect")),
    "prefetch": _same,
    "nontemporal": _same,
    "shard": _same,
    "take": _view(lambda array, axis, sizes: np.take(array, range(sizes["k"]), axis)),
    "drop": _view(lambda array, axis, sizes: np.delete(array, slice(0, sizes["k"]), axis)),
    "concat": _concat,
    "generate": _generate,
    "fromIdx": _same,
    "ifAtLeast": _if_at_least,
    "sizeOf": lambda sizes, batch, arguments: Data(
        len(batch), np.full(batch, sizes["n"], np.int64)
    ),
    "clampIdx": _clamp_idx,
    "checkIdx": _check_idx,
    "sort": _sort,
    "asVector": _view(lambda array, axis, sizes: _split(array, axis, {**sizes, "m": sizes["k"]})),
    "asScalar": _view(lambda array, axis, sizes: _join(array, axis, {**sizes, "m": sizes["k"]})),
    "vectorFromScalar": _vector_from_scalar,
    "at": _at,
    "sliceAt": _slice_at,
    "updateAt": _update_at,
    "gather": _gather,
    "reorder": _reorder,
    "scatter": _scatter,
    "scatterWith": _scatter_with,
    "circularBuffer": _windows,
    "rotateValues": _windows,
    "mma": _mma,
    "mapLaneExchange": _map_lane_exchange,
    "tensorMMA": _tensor_mma,
    "tensorAttention": _tensor_attention,
}
