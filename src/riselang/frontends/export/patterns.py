"""The meaning of each pattern, on tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from riselang.dialects.rise.pattern_registry import CHUNK_LENGTH
from riselang.frontends.export.batches import (
    Batch,
    Data,
    aligned,
    each,
    leaves,
    lifted,
    own_part,
    rebuilt,
    taken,
)
from riselang.frontends.export.loops import conditional_loop, counted_loop
from riselang.frontends.export.state import ExportState, size_of
from riselang.frontends.onnx.primitives.elementwise import (
    add,
    both,
    compare,
    convert,
    either,
    maximum,
    minimum,
    select,
    subtract,
    unary,
)
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.reductions import index_of_extreme, sum_of
from riselang.frontends.onnx.primitives.shapes import (
    broadcast_in_dim,
    concatenate,
    iota,
    reshape,
    reverse,
    slice_axis,
    swap_axes,
)
from riselang.nat import Nat
from riselang.support.errors import LimitationError
from riselang.term.nodes import Pattern

Sizes = Mapping[str, int]


class Use:
    """A pattern that is applied to all its arguments."""

    def __init__(self, exporter: ExportState, pattern: Pattern):
        self.exporter = exporter
        self.pattern = pattern
        self.sizes: Sizes = {name: size_of(size) for name, size in pattern.sizes.items()}

    def __getitem__(self, name: str) -> int:
        return self.sizes[name]

    @property
    def lengths(self) -> list[int]:
        return self.exporter.lengths

    def type(self, name: str) -> Any:
        found = self.pattern.argument(name)
        assert not isinstance(found, Nat)
        return found

    def counted(self, length: int) -> Batch:
        """Return the array of the numbers below a length."""
        return Batch(iota(self.exporter.graph, (length,), 0))

    def constant(self, indices: Any) -> Batch:
        return Batch(self.exporter.graph.constant(np.asarray(indices, np.int64)))


def export_pattern(exporter: ExportState, pattern: Pattern, arguments: list[Data]) -> Data:
    name = pattern.spec.name
    if name not in PATTERNS:
        raise LimitationError(f"the pattern {name} cannot be exported", pattern.location)
    return PATTERNS[name](Use(exporter, pattern), *arguments)


def mapped(use: Use, length: int, type: Any, function: Any, xs: Data) -> Data:
    """Apply a function to all elements at once, as to one that differs between iterations."""
    if not length:
        return use.exporter.zeros(type, 0)
    depth = len(use.lengths)
    use.lengths.append(length)
    result = function(each(xs, lambda leaf: Batch(leaf.value, (*leaf.axes, depth))))

    def collected(leaf: Batch) -> Batch:
        outer = tuple(axis for axis in leaf.axes if axis != depth)
        return Batch(lifted(leaf, (*outer, depth), use.lengths), outer)

    found = each(result, collected)
    use.lengths.pop()
    return found


def _map(use: Use, function: Any, xs: Data) -> Data:
    return mapped(use, use["n"], use.type("t"), function, xs)


def _generate(use: Use, function: Any) -> Data:
    return mapped(use, use["n"], use.type("t"), function, use.counted(use["n"]))


def _shaped(use: Use, xs: Data, shape: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Data:
    def part(x: Value, first: int) -> Value:
        return reshape(x, (*x.shape[:first], *shape(x.shape[first:])))

    return each(xs, lambda leaf: own_part(leaf, part))


def _split(use: Use, xs: Data) -> Data:
    return _shaped(use, xs, lambda own: (use["n"], use["m"], *own[1:]))


def _join(use: Use, xs: Data) -> Data:
    return _shaped(use, xs, lambda own: (own[0] * own[1], *own[2:]))


def _as_vector(use: Use, xs: Data) -> Data:
    return _shaped(use, xs, lambda own: (use["n"], use["k"], *own[1:]))


def _by_index(use: Use, xs: Data, indices: Any) -> Data:
    places = use.constant(indices)
    return each(xs, lambda leaf: taken(leaf, places, use.lengths))


def _slide(use: Use, xs: Data) -> Data:
    starts = np.arange(use["n"])[:, None] * use.sizes.get("sp", 1)
    return _by_index(use, xs, starts + np.arange(use["sz"]))


def _windows(use: Use, function: Any, xs: Data) -> Data:
    values = mapped(use, use["n"] + use["sz"] - 1, use.type("t"), function, xs)
    return _slide(use, values)


def _padded(mode: Any) -> Callable[[Use, Data], Data]:
    return lambda use, xs: _by_index(
        use, xs, np.pad(np.arange(use["n"]), (use["l"], use["r"]), mode)
    )


def _concatenated(use: Use, *arrays: Data) -> Data:
    def joined(*parts: Batch) -> Batch:
        values, axes = aligned(parts, use.lengths)
        return Batch(concatenate(values, len(axes)), axes)

    columns = zip(*(leaves(array) for array in arrays), strict=True)
    return rebuilt(arrays[0], [joined(*column) for column in columns])


def _repeated(value: Data, count: int) -> Data:
    def part(x: Value, first: int) -> Value:
        shape = (*x.shape[:first], count, *x.shape[first:])
        return broadcast_in_dim(x, shape, [k for k in range(len(shape)) if k != first])

    return each(value, lambda leaf: own_part(leaf, part))


def _pad_const(use: Use, value: Data, xs: Data) -> Data:
    return _concatenated(use, _repeated(value, use["l"]), xs, _repeated(value, use["r"]))


def _part(xs: Data, start: int, end: int) -> Data:
    return each(xs, lambda leaf: own_part(leaf, lambda x, first: slice_axis(x, first, start, end)))


def _at(use: Use, index: Batch, xs: Data) -> Data:
    return each(xs, lambda leaf: taken(leaf, index, use.lengths))


def _shifted(use: Use, start: Batch, length: int, sign: int = 1) -> Batch:
    """Return the numbers below a length, plus or minus a start."""
    value = start.value
    shape = (*value.shape, length)
    wide = broadcast_in_dim(value, shape, range(value.rank))
    counted = iota(use.exporter.graph, shape, value.rank)
    return Batch(add(counted, wide) if sign > 0 else subtract(counted, wide), start.axes)


def chosen(use: Use, condition: Batch, first: Data, second: Data) -> Data:
    """Select elements of arrays, by a condition for each element of the first dimension."""

    def part(a: Batch, b: Batch) -> Batch:
        (test, x, y), axes = aligned([condition, a, b], use.lengths)
        wide = broadcast_in_dim(test, x.shape, range(test.rank))
        return Batch(select(wide, x, y), axes)

    pairs = zip(leaves(first), leaves(second), strict=True)
    return rebuilt(first, [part(a, b) for a, b in pairs])


def _update_at(use: Use, start: Batch, new: Data, xs: Data) -> Data:
    size = use["k"]
    if not size:
        return xs
    places = _shifted(use, start, use["n"] + size, -1)
    inside = both(compare("GE", places.value, 0), compare("LT", places.value, size))
    near = Batch(minimum(maximum(places.value, 0), size - 1), places.axes)
    return chosen(use, Batch(inside, places.axes), _at(use, near, new), xs)


def _reorder(use: Use, function: Any, xs: Data) -> Data:
    places = mapped(use, use["n"], None, function, use.counted(use["n"])) if use["n"] else None
    return xs if places is None else _at(use, places, xs)


def _scatter(use: Use, *arguments: Data) -> Data:
    return _scatter_with(use, lambda old: lambda new: new, *arguments)


def _scatter_with(use: Use, function: Any, indices: Batch, xs: Data, values: Data) -> Data:
    """Write the values one after the other."""

    def step(number: Batch, state: Data) -> Data:
        index = taken(indices, number, use.lengths)
        new = function(_at(use, index, state))(_at(use, number, values))
        hit = _shifted(use, index, use["n"], -1)
        return chosen(
            use, Batch(compare("EQ", hit.value, 0), hit.axes), _repeated(new, use["n"]), state
        )

    return counted_loop(use.exporter, use["m"], step, xs)


def _iterate(use: Use, function: Any, start: Data) -> Data:
    return counted_loop(use.exporter, use["k"], lambda _, state: function(state), start)


def _reduce(use: Use, function: Any, start: Data, xs: Data) -> Data:
    def step(number: Batch, state: Data) -> Data:
        return function(state)(_at(use, number, xs))

    return counted_loop(use.exporter, use["n"], step, start)


def _reduce_par(use: Use, function: Any, start: Data, xs: Data) -> Data:
    """Reduce chunks, and then their results, which are combined with the start, too."""
    total, length = start, use["n"]
    for first in range(0, length, CHUNK_LENGTH):
        last = min(first + CHUNK_LENGTH, length)
        chunk = _part(xs, first, last)

        def step(number: Batch, state: Data, chunk: Data = chunk) -> Data:
            return function(state)(_at(use, number, chunk))

        total = function(total)(counted_loop(use.exporter, last - first, step, start))
    return total


def _scan(use: Use, function: Any, start: Data, xs: Data) -> Data:
    def step(number: Batch, state: Data) -> Data:
        total, results = state
        new = function(total)(_at(use, number, xs))
        hit = Batch(compare("EQ", use.counted(use["n"]).value, number.value))
        return new, chosen(use, hit, _repeated(new, use["n"]), results)

    empty = use.exporter.zeros(use.type("t"), use["n"])
    return counted_loop(use.exporter, use["n"], step, (start, empty))[1]


def _while(use: Use, holds: Any, function: Any, start: Data) -> Data:
    return conditional_loop(use.exporter, holds, function, start)


def _sort(use: Use, before: Any, xs: Data) -> Data:
    """Compute the position of each element from all comparisons."""
    length = use["n"]
    if length < 2:
        return xs
    table: Batch = mapped(
        use, length, None, lambda a: mapped(use, length, None, lambda b: before(a)(b), xs), xs
    )
    precedes, first = table.value, table.first
    graph = use.exporter.graph
    earlier = compare("LT", iota(graph, precedes.shape, first),
                      iota(graph, precedes.shape, first + 1))  # fmt: skip
    opposite = swap_axes(precedes, first, first + 1)
    goes_first = either(precedes, both(earlier, unary("not", either(precedes, opposite))))
    positions = sum_of(convert(goes_first, "i64"), [first])
    wide = broadcast_in_dim(positions, precedes.shape, [*range(first), first + 1])
    hits = convert(compare("EQ", wide, iota(graph, wide.shape, first)), "i64")
    order = Batch(index_of_extreme(hits, first + 1, is_greatest=True), table.axes)
    return _at(use, order, xs)


def _clamped(use: Use, number: Batch) -> Batch:
    last = use["n"] - 1
    if number.value.element == "ui64":
        # Large numbers would be negative as i64.
        return Batch(convert(minimum(number.value, max(last, 0)), "i64"), number.axes)
    wide = convert(number.value, "i64")
    return Batch(minimum(maximum(wide, 0), last), number.axes)


def _if_at_least(use: Use, large: Any, small: Any) -> Data:
    return (large if use["n"] >= use["k"] else small)(use.exporter.scalar(use["n"], "i64"))


def _size_of(use: Use, xs: Data) -> Batch:
    return use.exporter.scalar(use["n"], "i64")


def _transpose(use: Use, xs: Data) -> Data:
    return each(xs, lambda leaf: own_part(leaf, lambda x, first: swap_axes(x, first, first + 1)))


PATTERNS: Mapping[str, Callable[..., Data]] = {
    **{f"map{name}": _map for name in ("", "Seq", "Par", "SeqUnroll", "Block", "Thread", "Warp",
                                       "Lane")},
    **dict.fromkeys(("reduce", "reduceSeq", "reduceSeqUnroll"), _reduce),
    "reducePar": _reduce_par,
    **dict.fromkeys(("scan", "scanSeq"), _scan),
    **dict.fromkeys(("iterate", "iterateSeq"), _iterate),
    **dict.fromkeys(("toMem", "prefetch", "nontemporal", "unzip", "fromIdx"), lambda use, x: x),
    **dict.fromkeys(("zip", "tuple"), lambda use, first, second: (first, second)),
    **dict.fromkeys(("checkIdx", "clampIdx"), _clamped),
    **dict.fromkeys(("join", "asScalar"), _join),
    **dict.fromkeys(("circularBuffer", "rotateValues"), _windows),
    "fst": lambda use, pair: pair[0], "snd": lambda use, pair: pair[1],
    "split": _split, "asVector": _as_vector, "transpose": _transpose, "slide": _slide,
    "vectorFromScalar": lambda use, x: _repeated(x, use["k"]),
    "pad": _padded("edge"), "padWrap": _padded("wrap"), "padReflect": _padded("reflect"),
    "padConst": _pad_const, "concat": _concatenated,
    "reverse": lambda use, xs: each(
        xs, lambda leaf: own_part(leaf, lambda x, first: reverse(x, [first]))
    ),
    "take": lambda use, xs: _part(xs, 0, use["k"]),
    "drop": lambda use, xs: _part(xs, use["k"], use["k"] + use["n"]),
    "let": lambda use, value, body: body(value),
    "at": _at, "gather": _at, "reorder": _reorder,
    "sliceAt": lambda use, start, xs: _at(use, _shifted(use, start, use["k"]), xs),
    "updateAt": _update_at, "scatter": _scatter, "scatterWith": _scatter_with,
    "generate": _generate, "while": _while, "sort": _sort,
    "sizeOf": _size_of, "ifAtLeast": _if_at_least,
}  # fmt: skip
