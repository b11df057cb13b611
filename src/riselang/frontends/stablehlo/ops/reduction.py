"""Reductions: reduce, reduce_window, and select_and_scatter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from riselang.dialects.rise.types import i1, i64
from riselang.frontends.building import Builder
from riselang.frontends.stablehlo.elements import ELEMENTS, Element
from riselang.frontends.stablehlo.ops.data_movement import permuted, reshaped
from riselang.frontends.stablehlo.ops.elementwise import TABLE
from riselang.frontends.stablehlo.ops.window_views import Role, Window, bordered, windows
from riselang.frontends.stablehlo.registry import Op, Regions, lowers
from riselang.frontends.stablehlo.tensors import Tensor, filled, node_of, whole, zero
from riselang.native.mlir.stablehlo_graph import GraphBlock
from riselang.term.build import Node

_PLACE = ELEMENTS["i64"]
"""The element type of indices into a flat tensor."""
Step = Callable[[Node, Node], Node]
"""A function from the accumulator and an element to the next accumulator."""


def scalars(elements: Sequence[Element], nodes: Sequence[Node]) -> list[Tensor]:
    return [whole(each, (), node) for each, node in zip(elements, nodes, strict=True)]


def step_of(regions: Regions, region: GraphBlock, elements: Sequence[Element]) -> Step:
    """Return the body of a reduction or of a scatter, on tuples: accumulators, then elements."""
    builder, count = regions.builder, len(elements)

    def step(total: Node, element: Node) -> Node:
        simple = simple_operation(region)
        if simple is not None:
            return builder.operation(simple(elements[0]), [total, element], elements[0].scalar)
        parts = [*builder.parts(total, count), *builder.parts(element, count)]
        found = regions.call(region, scalars([*elements, *elements], parts))
        return builder.tuple([each.make() for each in found])

    return step


def simple_operation(region: GraphBlock) -> Callable[[Element], str] | None:
    """Return the op of a region that just adds, multiplies or compares its two arguments."""
    if len(region.operations) != 2 or len(region.arguments) != 2:
        return None
    op, end = region.operations
    name = op.name
    is_plain = op.name in SIMPLE and set(op.operands) == set(region.arguments)
    if not is_plain or end.operands != op.results:
        return None

    def on(element: Element) -> str:
        found = TABLE[name].for_element(element)
        assert found is not None
        return found

    return on


SIMPLE = (
    "stablehlo.add", "stablehlo.multiply", "stablehlo.maximum", "stablehlo.minimum",
    "stablehlo.and", "stablehlo.or", "stablehlo.xor",
)  # fmt: skip


def folded(builder: Builder, depth: int, xs: Node, start: Node, step: Step) -> Node:
    """Reduce all elements of an array of `depth` dimensions, in order."""
    if depth == 0:
        return step(start, xs)
    return builder.reduce(
        lambda total, row: folded(builder, depth - 1, row, total, step), start, xs
    )


def zipped(builder: Builder, depth: int, arrays: Sequence[Node]) -> Node:
    """Zip arrays into one array of tuples, under `depth` dimensions."""
    if len(arrays) == 1:
        return arrays[0]
    if depth == 0:
        return builder.tuple(arrays)
    if depth == 1:
        return builder.zip_all(arrays)
    return builder.map(
        lambda rows: zipped(builder, depth - 1, builder.parts(rows, len(arrays))),
        builder.zip_all(arrays),
    )


def unzipped(
    builder: Builder, depth: int, node: Node, types: Sequence[tuple[Element, tuple[int, ...]]]
) -> list[Tensor]:
    """Return the component tensors of an array of tuples."""
    count = len(types)
    if count == 1:
        return [whole(types[0][0], types[0][1], node)]
    return [
        whole(
            element, shape,
            builder.map_at(depth, lambda each, k=k: builder.parts(each, count)[k], node),
        )
        for k, (element, shape) in enumerate(types)
    ]  # fmt: skip


def result_types(op: Op) -> list[tuple[Element, tuple[int, ...]]]:
    return [(each.element, each.shape) for each in op.results]


@lowers("stablehlo.reduce", summary="`reduce`, under `map`; several operands as tuples")
def _reduce(regions: Regions, op: Op, operands: Sequence[Tensor]) -> list[Tensor]:
    builder, count = regions.builder, len(op.results)
    arrays, starts = operands[:count], operands[count:]
    gone = op.integers("dimensions")
    kept = [k for k in range(arrays[0].rank) if k not in gone]
    elements = [each.element for each in arrays]
    nodes = [permuted(builder, node_of(builder, each), [*kept, *gone]) for each in arrays]
    start = builder.tuple([each.make() for each in starts])
    step = step_of(regions, op.regions[0], elements)
    rank = arrays[0].rank
    node = builder.map_at(
        len(kept),
        lambda xs: folded(builder, len(gone), xs, start, step),
        zipped(builder, rank, nodes),
    )
    return unzipped(builder, len(kept), node, result_types(op))


def windows_of(op: Op, sizes: Sequence[int], counts: Sequence[int]) -> list[Window]:
    """Return how the windows of an op move along each dimension."""
    rank = len(sizes)
    padding = op.attributes.get("padding")
    return [
        Window(size, count, stride, dilation, spread, (int(before), int(after)))
        for size, count, stride, dilation, spread, (before, after) in zip(
            sizes,
            counts,
            op.integers("window_strides", [1] * rank),
            op.integers("window_dilations", [1] * rank),
            op.integers("base_dilations", [1] * rank),
            [(0, 0)] * rank if padding is None else padding,
            strict=True,
        )
    ]


@lowers("stablehlo.reduce_window", summary="`slide` in each dimension, `reduce` over windows")
def _reduce_window(regions: Regions, op: Op, operands: Sequence[Tensor]) -> list[Tensor]:
    builder, count = regions.builder, len(op.results)
    arrays, starts = operands[:count], operands[count:]
    moves = windows_of(op, op.integers("window_dimensions"), op.result.shape)
    rank, depth = len(moves), _depth(moves)
    seen = [
        seen_of(builder, stored_if_read_often(builder, each, moves), moves, start.make())
        for each, start in zip(arrays, starts, strict=True)
    ]
    start = builder.tuple([each.make() for each in starts])
    step = step_of(regions, op.regions[0], [each.element for each in arrays])
    node = builder.map_at(
        rank, lambda xs: folded(builder, depth, xs, start, step),
        zipped(builder, rank + depth, seen),
    )  # fmt: skip
    return unzipped(builder, rank, node, result_types(op))


def _depth(moves: Sequence[Window]) -> int:
    """Return the rank of a window; dimensions with one element do not count."""
    return sum(each.role is not Role.POSITION for each in moves)


def seen_of(builder: Builder, xs: Node, moves: Sequence[Window], border: Node) -> Node:
    """Return the windows of a padded array."""
    return windows(builder, bordered(builder, xs, moves, border), moves)


def stored_if_read_often(builder: Builder, tensor: Tensor, moves: Sequence[Window]) -> Node:
    if not any(each.overlaps for each in moves) or not tensor.is_whole:
        return node_of(builder, tensor)
    return builder.stored(tensor.make())


@lowers(
    "stablehlo.select_and_scatter",
    summary="`reduce` over windows of values with their indices, then `scatterWith`",
)
def _select_and_scatter(regions: Regions, op: Op, operands: Sequence[Tensor]) -> Tensor:
    builder = regions.builder
    operand, source, start = operands
    element, size = operand.element, operand.size
    sizes = op.integers("window_dimensions", [1] * operand.rank)
    moves = windows_of(op, sizes, source.shape)
    values = stored_if_read_often(builder, operand, moves)
    places = _places(builder, operand.shape)
    nowhere = builder.literal(-1, i64)
    seen = [
        seen_of(builder, values, moves, zero(builder, element)),
        seen_of(builder, places, moves, nowhere),
    ]

    def step(best: Node, each: Node) -> Node:
        value, place = builder.parts(each, 2)
        held, held_place = builder.parts(best, 2)
        (keeps,) = regions.call(op.regions[0], scalars([element, element], [held, value]))
        none_yet = builder.compare("lt", held_place, builder.literal(0, i64))
        exists = builder.compare("ge", place, builder.literal(0, i64))
        better = builder.operation("arith.xori", [keeps.make(), builder.literal(-1, i1)], i1)
        takes = builder.operation("arith.ori", [none_yet, better], i1)
        takes = builder.operation("arith.andi", [exists, takes], i1)
        return builder.pair(
            builder.select(takes, value, held), builder.select(takes, place, held_place)
        )

    nothing = builder.pair(zero(builder, element), nowhere)
    rank, depth = operand.rank, _depth(moves)
    chosen = builder.map_at(
        rank,
        lambda xs: builder.parts(folded(builder, depth, xs, nothing, step), 2)[1],
        zipped(builder, rank + depth, seen),
    )
    flat = node_of(builder, reshaped(builder, whole(_PLACE, source.shape, chosen), (source.size,)))
    # Elements that no window selects get an index past the end.
    indices = builder.map(
        lambda place: builder.clamp_idx(
            size + 1,
            builder.select(
                builder.compare("lt", place, builder.literal(0, i64)),
                builder.literal(size, i64),
                place,
            ),
        ),
        flat,
    )
    added = step_of(regions, op.regions[1], [element])
    result = builder.scatter_with(
        added,
        indices,
        filled(builder, start.make(), (size + 1,)),
        node_of(builder, reshaped(builder, source, (source.size,))),
    )
    return reshaped(builder, whole(element, (size,), builder.take(size, result)), operand.shape)


def _places(builder: Builder, shape: Sequence[int]) -> Node:
    """Return the index of each element in the flat array."""
    size = prod(shape)
    counted = builder.generate(size, lambda i: builder.convert(builder.from_idx(i, size), i64))
    return node_of(builder, reshaped(builder, whole(_PLACE, (size,), counted), shape))
