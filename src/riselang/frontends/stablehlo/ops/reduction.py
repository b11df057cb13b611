"""Reductions: reduce, reduce_window, and select_and_scatter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from riselang.dialects.rise.types import i1, i64
from riselang.frontends.stablehlo.elements import ELEMENT_TYPES, ElementType
from riselang.frontends.stablehlo.ops.cumulative_windows import (
    cumulative_window,
    ignores_padding,
)
from riselang.frontends.stablehlo.ops.data_movement import reshape_tensor
from riselang.frontends.stablehlo.ops.elementwise import ARITHMETIC_OPS
from riselang.frontends.stablehlo.ops.window_views import (
    Role,
    WindowMove,
    pad_for_windows,
    window_views,
)
from riselang.frontends.stablehlo.registry import RegionLowering, TypedOp, keeps_order, lowers_op
from riselang.frontends.stablehlo.tensors import (
    Tensor,
    broadcast_tensor,
    fill_array,
    in_order,
    materialize,
    permute_dimensions,
    whole_tensor,
    with_common_dimensions,
    without_dimensions,
    zero_literal,
)
from riselang.frontends.term_builder import Builder
from riselang.native.mlir.stablehlo_graph import GraphBlock
from riselang.term.build import Node

_PLACE = ELEMENT_TYPES["i64"]
"""The element type of indices into a flat tensor."""
Step = Callable[[Node, Node], Node]
"""A function from the accumulator and an element to the next accumulator."""


def scalar_tensors(elements: Sequence[ElementType], nodes: Sequence[Node]) -> list[Tensor]:
    return [whole_tensor(each, (), node) for each, node in zip(elements, nodes, strict=True)]


def reduction_step(
    regions: RegionLowering, region: GraphBlock, elements: Sequence[ElementType]
) -> Step:
    """Return the body of a reduction or of a scatter, on tuples: accumulators, then elements."""
    builder, count = regions.builder, len(elements)

    def step(total: Node, element: Node) -> Node:
        simple = simple_reduction_op(region)
        if simple is not None:
            return builder.operation(simple(elements[0]), [total, element], elements[0].scalar)
        parts = [*builder.unpack_tuple(total, count), *builder.unpack_tuple(element, count)]
        found = regions.lower_region(region, scalar_tensors([*elements, *elements], parts))
        return builder.tuple([each.make() for each in found])

    return step


def simple_reduction_op(region: GraphBlock) -> Callable[[ElementType], str] | None:
    """Return the op of a region that just adds, multiplies or compares its two arguments."""
    if len(region.operations) != 2 or len(region.arguments) != 2:
        return None
    op, end = region.operations
    name = op.name
    is_plain = op.name in SIMPLE_OPS and set(op.operands) == set(region.arguments)
    if not is_plain or end.operands != op.results:
        return None

    def on(element: ElementType) -> str:
        found = ARITHMETIC_OPS[name].for_element(element)
        assert found is not None
        return found

    return on


SIMPLE_OPS = (
    "stablehlo.add", "stablehlo.multiply", "stablehlo.maximum", "stablehlo.minimum",
    "stablehlo.and", "stablehlo.or", "stablehlo.xor",
)  # fmt: skip


def reduce_all(builder: Builder, depth: int, xs: Node, start: Node, step: Step) -> Node:
    """Reduce all elements of an array of `depth` dimensions, in order."""
    if depth == 0:
        return step(start, xs)
    return builder.reduce(
        lambda total, row: reduce_all(builder, depth - 1, row, total, step), start, xs
    )


def zip_arrays(builder: Builder, depth: int, arrays: Sequence[Node]) -> Node:
    """Zip arrays into one array of tuples, under `depth` dimensions."""
    if len(arrays) == 1:
        return arrays[0]
    if depth == 0:
        return builder.tuple(arrays)
    if depth == 1:
        return builder.zip_all(arrays)
    return builder.map(
        lambda rows: zip_arrays(builder, depth - 1, builder.unpack_tuple(rows, len(arrays))),
        builder.zip_all(arrays),
    )


def unzip_tensors(
    builder: Builder, depth: int, node: Node, types: Sequence[tuple[ElementType, tuple[int, ...]]]
) -> list[Tensor]:
    """Return the component tensors of an array of tuples."""
    count = len(types)
    if count == 1:
        return [whole_tensor(types[0][0], types[0][1], node)]
    return [
        whole_tensor(
            element, shape,
            builder.map_at(depth, lambda each, k=k: builder.unpack_tuple(each, count)[k], node),
        )
        for k, (element, shape) in enumerate(types)
    ]  # fmt: skip


def result_types(op: TypedOp) -> list[tuple[ElementType, tuple[int, ...]]]:
    return [(each.element, each.shape) for each in op.results]


@keeps_order("stablehlo.reduce")
@lowers_op(
    "stablehlo.reduce",
    summary="`reduce`, inside `map`s for the dimensions that remain; several operands are zipped",
)
def _reduce(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> list[Tensor]:
    builder, count = regions.builder, len(op.results)
    starts = operands[count:]
    arrays = with_common_dimensions(builder, operands[:count])
    gone = op.integer_list("dimensions")
    results = [k for k in range(arrays[0].rank) if k not in gone]
    constant = [k for k in results if not any(k in each.varying for each in arrays)]
    kept = [k for k in results if k not in constant]
    rest = [k for k in range(arrays[0].rank) if k not in constant]
    order = [rest.index(k) for k in (*kept, *gone)]
    tensors = [without_dimensions(each, constant) for each in arrays]
    joined = _join_dimensions(builder, tensors, order, len(gone))
    nodes = joined or [
        permute_dimensions(builder, materialize(builder, each), order) for each in tensors
    ]
    depth = 1 if joined else len(gone)
    start = builder.tuple([each.make() for each in starts])
    step = reduction_step(regions, op.regions[0], [each.element for each in arrays])
    node = builder.map_at(
        len(kept),
        lambda xs: reduce_all(builder, depth, xs, start, step),
        zip_arrays(builder, len(kept) + depth, nodes),
    )
    shape = tuple(arrays[0].shape[k] for k in kept)
    found = unzip_tensors(builder, len(kept), node, [(each.element, shape) for each in op.results])
    dimensions = [results.index(k) for k in kept]
    return [broadcast_tensor(each, op.result.shape, dimensions) for each in found]


def _join_dimensions(
    builder: Builder, tensors: Sequence[Tensor], order: Sequence[int], count: int
) -> list[Node]:
    """Return the result of a convolution with its last `count` dimensions, in a new order, joined:
    its features are next to each other, and are added up in vectors.

    Return nothing if these dimensions are not next to each other, or there are other tensors."""
    kept, gone = order[:-count], list(order[-count:])
    tensor = tensors[0]
    varying = list(tensor.varying)
    first = varying.index(gone[0]) if gone and gone[0] in varying else len(varying)
    if (
        len(tensors) > 1
        or count < 2
        or tensor.is_ordered
        or sorted(varying) != sorted(order)
        or varying[first : first + count] != gone
    ):
        return []
    node = builder.store_if_computed(tensor.make())
    for _ in range(count - 1):
        node = builder.map_at(first, builder.join, node)
    joined = [each for each in varying if each not in gone[1:]]
    return [permute_dimensions(builder, node, [joined.index(each) for each in (*kept, gone[0])])]


def window_moves(op: TypedOp, sizes: Sequence[int], counts: Sequence[int]) -> list[WindowMove]:
    """Return how the windows of an op move along each dimension."""
    rank = len(sizes)
    padding = op.attributes.get("padding")
    return [
        WindowMove(size, count, stride, dilation, spread, (int(before), int(after)))
        for size, count, stride, dilation, spread, (before, after) in zip(
            sizes,
            counts,
            op.integer_list("window_strides", [1] * rank),
            op.integer_list("window_dilations", [1] * rank),
            op.integer_list("base_dilations", [1] * rank),
            [(0, 0)] * rank if padding is None else padding,
            strict=True,
        )
    ]


@keeps_order("stablehlo.reduce_window")
@lowers_op(
    "stablehlo.reduce_window",
    summary="`slide` in each dimension, then `reduce` over each window; "
    "`scan` if the windows are prefixes or suffixes",
)
def _reduce_window(
    regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]
) -> list[Tensor]:
    builder, count = regions.builder, len(op.results)
    starts = [in_order(builder, each) for each in operands[count:]]
    moves = window_moves(op, op.integer_list("window_dimensions"), op.result.shape)
    arrays = _arrays_of_one_order(builder, operands[:count], moves)
    scanned = _scan_windows(regions, op, [in_order(builder, arrays[0]), *starts], moves)
    if scanned is not None:
        return [scanned]
    varying = arrays[0].varying
    moves = [moves[each] for each in varying]
    rank, depth = len(moves), _window_rank(moves)
    seen = [
        padded_windows(builder, store_if_overlapping(builder, each, moves), moves, start.make())
        for each, start in zip(arrays, starts, strict=True)
    ]
    start = builder.tuple([each.make() for each in starts])
    step = reduction_step(regions, op.regions[0], [each.element for each in arrays])
    node = builder.map_at(
        rank, lambda xs: reduce_all(builder, depth, xs, start, step),
        zip_arrays(builder, rank + depth, seen),
    )  # fmt: skip
    types = [(each.element, tuple(each.shape[k] for k in varying)) for each in op.results]
    return [
        broadcast_tensor(each, op.result.shape, varying)
        for each in unzip_tensors(builder, rank, node, types)
    ]


def _arrays_of_one_order(
    builder: Builder, arrays: Sequence[Tensor], moves: Sequence[WindowMove]
) -> list[Tensor]:
    """Return arrays of the same dimensions in the same order: all of those in which the windows
    are larger than an element."""
    first = arrays[0].varying
    moving = [k for k, each in enumerate(moves) if each != WindowMove(1, arrays[0].shape[k])]
    if all(each.varying == first for each in arrays) and all(k in first for k in moving):
        return list(arrays)
    return [whole_tensor(each.element, each.shape, materialize(builder, each)) for each in arrays]


def _scan_windows(
    regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor], moves: Sequence[WindowMove]
) -> Tensor | None:
    """Reduce windows that are prefixes or suffixes with a scan; return None for other windows."""
    builder, region = regions.builder, op.regions[0]
    window = cumulative_window(moves, operands[0].shape)
    if window is None or len(region.arguments) != 2:
        return None
    array, start = operands[0], operands[1].make()
    step = reduction_step(regions, region, [array.element])
    must_be_neutral = window.is_reversed and simple_reduction_op(region) is None
    if not ignores_padding(region, start, step, is_neutral=must_be_neutral):
        return None
    node = window.scan(builder, materialize(builder, array), array.shape, start, step)
    return whole_tensor(op.result.element, op.result.shape, node)


def _window_rank(moves: Sequence[WindowMove]) -> int:
    """Return the rank of a window; dimensions with one element do not count."""
    return sum(each.role is not Role.POSITION for each in moves)


def padded_windows(builder: Builder, xs: Node, moves: Sequence[WindowMove], border: Node) -> Node:
    """Return the windows of a padded array."""
    return window_views(builder, pad_for_windows(builder, xs, moves, border), moves)


def store_if_overlapping(builder: Builder, tensor: Tensor, moves: Sequence[WindowMove]) -> Node:
    """Return the array of a tensor; `moves` are those in its dimensions."""
    if not any(each.overlaps for each in moves):
        return tensor.make()
    return builder.store_if_computed(tensor.make())


@lowers_op(
    "stablehlo.select_and_scatter",
    summary="`reduce` over windows of (value, index) pairs, then `scatterWith`",
)
def _select_and_scatter(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    builder = regions.builder
    operand, source, start = operands
    element, size = operand.element, operand.size
    sizes = op.integer_list("window_dimensions", [1] * operand.rank)
    moves = window_moves(op, sizes, source.shape)
    whole = whole_tensor(element, operand.shape, materialize(builder, operand))
    values = store_if_overlapping(builder, operand if operand.is_whole else whole, moves)
    flat_indices = _flat_indices(builder, operand.shape)
    nowhere = builder.literal(-1, i64)
    seen = [
        padded_windows(builder, values, moves, zero_literal(builder, element)),
        padded_windows(builder, flat_indices, moves, nowhere),
    ]

    def step(best: Node, each: Node) -> Node:
        value, flat_index = builder.unpack_tuple(each, 2)
        held, held_index = builder.unpack_tuple(best, 2)
        (keeps,) = regions.lower_region(
            op.regions[0], scalar_tensors([element, element], [held, value])
        )
        none_yet = builder.compare("lt", held_index, builder.literal(0, i64))
        exists = builder.compare("ge", flat_index, builder.literal(0, i64))
        better = builder.operation("arith.xori", [keeps.make(), builder.literal(-1, i1)], i1)
        takes = builder.operation("arith.ori", [none_yet, better], i1)
        takes = builder.operation("arith.andi", [exists, takes], i1)
        return builder.pair(
            builder.select(takes, value, held), builder.select(takes, flat_index, held_index)
        )

    nothing = builder.pair(zero_literal(builder, element), nowhere)
    rank, depth = operand.rank, _window_rank(moves)
    chosen = builder.map_at(
        rank,
        lambda xs: builder.unpack_tuple(reduce_all(builder, depth, xs, nothing, step), 2)[1],
        zip_arrays(builder, rank + depth, seen),
    )
    flat = materialize(
        builder, reshape_tensor(builder, whole_tensor(_PLACE, source.shape, chosen), (source.size,))
    )
    # Elements that no window selects get an index past the end.
    indices = builder.map(
        lambda flat_index: builder.clamp_idx(
            size + 1,
            builder.select(
                builder.compare("lt", flat_index, builder.literal(0, i64)),
                builder.literal(size, i64),
                flat_index,
            ),
        ),
        flat,
    )
    added = reduction_step(regions, op.regions[1], [element])
    result = builder.scatter_with(
        added,
        indices,
        fill_array(builder, start.make(), (size + 1,)),
        materialize(builder, reshape_tensor(builder, source, (source.size,))),
    )
    return reshape_tensor(
        builder, whole_tensor(element, (size,), builder.take(size, result)), operand.shape
    )


def _flat_indices(builder: Builder, shape: Sequence[int]) -> Node:
    """Return the index of each element in the flat array."""
    size = prod(shape)
    counted = builder.generate(size, lambda i: builder.convert(builder.from_idx(i, size), i64))
    return materialize(
        builder, reshape_tensor(builder, whole_tensor(_PLACE, (size,), counted), shape)
    )
