"""Ops with regions (while, if, case, sort, map), and top k, which is a sort."""

from __future__ import annotations

from collections.abc import Sequence

from riselang.dialects.rise.attributes import LiteralAttr
from riselang.dialects.rise.types import i1, i64
from riselang.frontends.stablehlo.ops.dynamic_indexing import convert_to_i64
from riselang.frontends.stablehlo.ops.elementwise import compare_elements
from riselang.frontends.stablehlo.ops.reduction import scalar_tensors, unzip_tensors, zip_arrays
from riselang.frontends.stablehlo.registry import (
    ELEMENTWISE_LOWERINGS,
    RegionLowering,
    TypedOp,
    lowers_op,
)
from riselang.frontends.stablehlo.tensors import (
    Tensor,
    iota_tensor,
    map_elements,
    materialize,
    permute_dimensions,
    whole_tensor,
    zero_tensor,
)
from riselang.frontends.term_builder import Builder
from riselang.native.mlir.stablehlo_graph import GraphBlock
from riselang.support.errors import UserError
from riselang.term.build import Constant, Node


def unpack_tensors(builder: Builder, state: Node, like: Sequence[Tensor]) -> list[Tensor]:
    """Return the tensors in a tuple."""
    parts = builder.unpack_tuple(state, len(like))
    return [
        whole_tensor(each.element, each.shape, part) for each, part in zip(like, parts, strict=True)
    ]


def pack_tensors(builder: Builder, tensors: Sequence[Tensor]) -> Node:
    return builder.tuple([materialize(builder, each) for each in tensors])


@lowers_op("stablehlo.while", summary="`while` on a tuple")
def _while(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> list[Tensor]:
    builder = regions.builder
    condition, step = op.regions

    def holds(state: Node) -> Node:
        (found,) = regions.lower_region(condition, unpack_tensors(builder, state, operands))
        return found.make()

    def next_state(state: Node) -> Node:
        return pack_tensors(
            builder, regions.lower_region(step, unpack_tensors(builder, state, operands))
        )

    if not operands:
        raise op.unsupported("a loop without a state computes nothing")
    node = builder.while_(holds, next_state, pack_tensors(builder, operands))
    return unpack_tensors(builder, node, operands)


@lowers_op(
    "stablehlo.if", summary="`select`, or a `while` that runs at most once if a branch is costly"
)
def _if(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> list[Tensor]:
    (condition,) = operands
    return _lower_branches(regions, op, condition.make(), op.regions[0], op.regions[1])


@lowers_op(
    "stablehlo.case", summary="`select`, or a `while` that runs at most once if a branch is costly"
)
def _case(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> list[Tensor]:
    builder = regions.builder
    wanted = convert_to_i64(builder, operands[0].make(), operands[0].element)
    # An index out of range selects the last branch.
    result = regions.lower_region(op.regions[-1], [])
    if all(_is_cheap(region) for region in op.regions):
        for number, region in reversed(list(enumerate(op.regions[:-1]))):
            condition = builder.compare("eq", wanted, builder.literal(number, i64))
            result = _select_results(
                builder, op, condition, regions.lower_region(region, []), result
            )
        return result
    known = builder.operation(
        "arith.cmpi", [wanted, builder.literal(len(op.regions) - 1, i64)], i1, "uge"
    )
    result = _run_branch_if(regions, op, known, op.regions[-1], None)
    for number, region in enumerate(op.regions[:-1]):
        condition = builder.compare("eq", wanted, builder.literal(number, i64))
        result = _run_branch_if(regions, op, condition, region, result)
    return result


def _lower_branches(
    regions: RegionLowering, op: TypedOp, condition: Node, first: GraphBlock, second: GraphBlock
) -> list[Tensor]:
    builder = regions.builder
    if _is_cheap(first) and _is_cheap(second):
        return _select_results(
            builder,
            op,
            condition,
            regions.lower_region(first, []),
            regions.lower_region(second, []),
        )
    other = builder.operation("arith.xori", [condition, builder.literal(-1, i1)], i1)
    result = _run_branch_if(regions, op, condition, first, None)
    return _run_branch_if(regions, op, other, second, result)


def _select_results(
    builder: Builder,
    op: TypedOp,
    condition: Node,
    first: Sequence[Tensor],
    second: Sequence[Tensor],
) -> list[Tensor]:
    """Compute both branches, and select one."""
    return [
        map_elements(
            builder, [left, right], left.shape, left.element,
            lambda nodes: builder.select(condition, *nodes),
        )
        for left, right in zip(first, second, strict=True)
    ]  # fmt: skip


def _run_branch_if(
    regions: RegionLowering,
    op: TypedOp,
    condition: Node,
    branch: GraphBlock,
    before: Sequence[Tensor] | None,
) -> list[Tensor]:
    """Return the results of a branch if the condition holds, else the previous values.

    A loop with at most one iteration computes nothing that is not needed.
    """
    builder = regions.builder
    if before is None:
        before = [zero_tensor(builder, each.element, each.shape) for each in op.results]
    start = builder.pair(condition, pack_tensors(builder, before))

    def once(state: Node) -> Node:
        return builder.pair(
            builder.literal(0, i1), pack_tensors(builder, regions.lower_region(branch, []))
        )

    node = builder.while_(lambda state: builder.unpack_tuple(state, 2)[0], once, start)
    return unpack_tensors(builder, builder.unpack_tuple(node, 2)[1], before)


_CHEAP_OPS = ("stablehlo.constant", "stablehlo.return", "stablehlo.broadcast_in_dim",
          "stablehlo.reshape", "stablehlo.transpose", "stablehlo.iota", "stablehlo.slice",
          "stablehlo.concatenate", "stablehlo.reverse")  # fmt: skip


def _is_cheap(region: GraphBlock) -> bool:
    """Whether computing it unnecessarily is cheap, and terminates."""
    return all(op.name in _CHEAP_OPS or op.name in ELEMENTWISE_LOWERINGS for op in region.walk())


@lowers_op(
    "stablehlo.sort",
    summary="`sort`, inside `map`s for the other dimensions; several operands are zipped",
)
def _sort(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> list[Tensor]:
    builder, rank = regions.builder, operands[0].rank
    dimension = op.integer("dimension", -1) % rank
    last = [k for k in range(rank) if k != dimension]
    order = [*last, dimension]
    elements = [each.element for each in operands]
    doubled = [element for element in elements for _ in range(2)]

    def before(left: Node, right: Node) -> Node:
        pairs = zip(
            builder.unpack_tuple(left, len(elements)),
            builder.unpack_tuple(right, len(elements)),
            strict=True,
        )
        arguments = scalar_tensors(doubled, [each for pair in pairs for each in pair])
        return regions.lower_region(op.regions[0], arguments)[0].make()

    arrays = [permute_dimensions(builder, materialize(builder, each), order) for each in operands]
    node = builder.map_at(
        rank - 1, lambda xs: builder.sort(before, xs), zip_arrays(builder, rank, arrays)
    )
    shape = tuple(operands[0].shape[k] for k in order)
    found = unzip_tensors(builder, rank, node, [(each, shape) for each in elements])
    back = [order.index(k) for k in range(rank)]
    return [
        whole_tensor(
            each.element, op.results[0].shape, permute_dimensions(builder, each.make(), back)
        )
        for each in found
    ]


@lowers_op(
    "stablehlo.custom_call @mhlo.topk",
    summary="`take` of `sort`, inside `map`s for the other dimensions",
)
def _top_k(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> list[Tensor]:
    """Return the greatest elements of the last dimension, and their indices."""
    builder, (tensor,), (values, indices) = regions.builder, operands, op.results
    options = op.attributes.get("mhlo.attributes")
    if isinstance(options, dict) and not options.get("largest", True):
        raise op.unsupported("it selects the least elements")
    element, rank, count = tensor.element, tensor.rank, values.shape[-1]

    def before(left: Node, right: Node) -> Node:
        keys = [builder.unpack_tuple(each, 2)[0] for each in (left, right)]
        return compare_elements(builder, "gt", element, *keys)

    positions = iota_tensor(builder, indices.element, tensor.shape, rank - 1)
    arrays = [materialize(builder, each) for each in (tensor, positions)]
    node = builder.map_at(
        rank - 1,
        lambda xs: builder.take(count, builder.sort(before, xs)),
        zip_arrays(builder, rank, arrays),
    )
    return unzip_tensors(
        builder, rank, node, [(each.element, values.shape) for each in (values, indices)]
    )


@lowers_op("stablehlo.map", summary="an elementwise `map`")
def _map(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    def function(nodes: list[Node]) -> Node:
        elements = [each.element for each in operands]
        return regions.lower_region(op.regions[0], scalar_tensors(elements, nodes))[0].make()

    return map_elements(regions.builder, operands, op.result.shape, op.result.element, function)


@lowers_op("stablehlo.custom_call @shape_assertion", summary="a check of lengths at compile time")
def _shape_assertion(
    regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]
) -> list[Tensor]:
    """Check a framework's assertion about dynamic dimensions, which are static by now."""
    holds, *lengths = [_constant_value(each) for each in operands]
    if holds is None:
        raise op.unsupported("its condition is not known before the program runs")
    if not holds:
        message = str(op.attributes.get("error_message", "the lengths do not match"))
        raise UserError(message.format(*lengths), op.location)
    return []


def _constant_value(tensor: Tensor) -> float | None:
    """Return the value of a scalar constant."""
    node = tensor.make()
    if not isinstance(node, Constant) or tensor.varying:
        return None
    number = node.number.scalar if isinstance(node.number, LiteralAttr) else node.number
    return None if isinstance(number, complex) else number
