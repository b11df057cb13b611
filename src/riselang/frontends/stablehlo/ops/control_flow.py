"""Ops with regions: while, if, case, sort, map."""

from __future__ import annotations

from collections.abc import Sequence

from riselang.dialects.rise.attributes import LiteralAttr
from riselang.dialects.rise.types import i1, i64
from riselang.frontends.building import Builder
from riselang.frontends.stablehlo.ops.data_movement import permuted
from riselang.frontends.stablehlo.ops.dynamic_indexing import as_wide
from riselang.frontends.stablehlo.ops.reduction import scalars, unzipped, zipped
from riselang.frontends.stablehlo.registry import ELEMENTWISE, Op, Regions, lowers
from riselang.frontends.stablehlo.tensors import Tensor, combined, node_of, whole, zeros
from riselang.native.mlir.stablehlo_graph import GraphBlock
from riselang.support.errors import UserError
from riselang.term.build import Constant, Node


def tensors_of(builder: Builder, state: Node, like: Sequence[Tensor]) -> list[Tensor]:
    """Return the tensors in a tuple."""
    parts = builder.parts(state, len(like))
    return [whole(each.element, each.shape, part) for each, part in zip(like, parts, strict=True)]


def tuple_of(builder: Builder, tensors: Sequence[Tensor]) -> Node:
    return builder.tuple([node_of(builder, each) for each in tensors])


@lowers("stablehlo.while", summary="`while` on a tuple")
def _while(regions: Regions, op: Op, operands: Sequence[Tensor]) -> list[Tensor]:
    builder = regions.builder
    condition, step = op.regions

    def holds(state: Node) -> Node:
        (found,) = regions.call(condition, tensors_of(builder, state, operands))
        return found.make()

    def next_state(state: Node) -> Node:
        return tuple_of(builder, regions.call(step, tensors_of(builder, state, operands)))

    if not operands:
        raise op.refused("a loop without a state computes nothing")
    node = builder.while_(holds, next_state, tuple_of(builder, operands))
    return tensors_of(builder, node, operands)


@lowers("stablehlo.if", summary="`select`; `while` that runs once, where a branch is costly")
def _if(regions: Regions, op: Op, operands: Sequence[Tensor]) -> list[Tensor]:
    (condition,) = operands
    return _chosen(regions, op, condition.make(), op.regions[0], op.regions[1])


@lowers("stablehlo.case", summary="`select`; `while` that runs once, where a branch is costly")
def _case(regions: Regions, op: Op, operands: Sequence[Tensor]) -> list[Tensor]:
    builder = regions.builder
    wanted = as_wide(builder, operands[0].make(), operands[0].element)
    # An index out of range selects the last branch.
    result = regions.call(op.regions[-1], [])
    if all(_is_cheap(region) for region in op.regions):
        for number, region in reversed(list(enumerate(op.regions[:-1]))):
            condition = builder.compare("eq", wanted, builder.literal(number, i64))
            result = _selected(builder, op, condition, regions.call(region, []), result)
        return result
    known = builder.operation(
        "arith.cmpi", [wanted, builder.literal(len(op.regions) - 1, i64)], i1, "uge"
    )
    result = _run_if(regions, op, known, op.regions[-1], None)
    for number, region in enumerate(op.regions[:-1]):
        condition = builder.compare("eq", wanted, builder.literal(number, i64))
        result = _run_if(regions, op, condition, region, result)
    return result


def _chosen(
    regions: Regions, op: Op, condition: Node, first: GraphBlock, second: GraphBlock
) -> list[Tensor]:
    builder = regions.builder
    if _is_cheap(first) and _is_cheap(second):
        return _selected(builder, op, condition, regions.call(first, []), regions.call(second, []))
    other = builder.operation("arith.xori", [condition, builder.literal(-1, i1)], i1)
    result = _run_if(regions, op, condition, first, None)
    return _run_if(regions, op, other, second, result)


def _selected(
    builder: Builder, op: Op, condition: Node, first: Sequence[Tensor], second: Sequence[Tensor]
) -> list[Tensor]:
    """Compute both branches, and select one."""
    return [
        combined(
            builder, [left, right], left.shape, left.element,
            lambda nodes: builder.select(condition, *nodes),
        )
        for left, right in zip(first, second, strict=True)
    ]  # fmt: skip


def _run_if(
    regions: Regions, op: Op, condition: Node, branch: GraphBlock, before: Sequence[Tensor] | None
) -> list[Tensor]:
    """Return the results of a branch if the condition holds, else the previous values.

    A loop with at most one iteration computes nothing that is not needed.
    """
    builder = regions.builder
    if before is None:
        before = [zeros(builder, each.element, each.shape) for each in op.results]
    start = builder.pair(condition, tuple_of(builder, before))

    def once(state: Node) -> Node:
        return builder.pair(builder.literal(0, i1), tuple_of(builder, regions.call(branch, [])))

    node = builder.while_(lambda state: builder.parts(state, 2)[0], once, start)
    return tensors_of(builder, builder.parts(node, 2)[1], before)


_CHEAP = ("stablehlo.constant", "stablehlo.return", "stablehlo.broadcast_in_dim",
          "stablehlo.reshape", "stablehlo.transpose", "stablehlo.iota", "stablehlo.slice",
          "stablehlo.concatenate", "stablehlo.reverse")  # fmt: skip


def _is_cheap(region: GraphBlock) -> bool:
    """Whether computing it unnecessarily is cheap, and terminates."""
    return all(op.name in _CHEAP or op.name in ELEMENTWISE for op in region.walk())


@lowers("stablehlo.sort", summary="`sort`, under `map`; several operands as tuples")
def _sort(regions: Regions, op: Op, operands: Sequence[Tensor]) -> list[Tensor]:
    builder, rank = regions.builder, operands[0].rank
    dimension = op.integer("dimension", -1) % rank
    last = [k for k in range(rank) if k != dimension]
    order = [*last, dimension]
    elements = [each.element for each in operands]
    doubled = [element for element in elements for _ in range(2)]

    def before(left: Node, right: Node) -> Node:
        pairs = zip(
            builder.parts(left, len(elements)), builder.parts(right, len(elements)), strict=True
        )
        arguments = scalars(doubled, [each for pair in pairs for each in pair])
        return regions.call(op.regions[0], arguments)[0].make()

    arrays = [permuted(builder, node_of(builder, each), order) for each in operands]
    node = builder.map_at(
        rank - 1, lambda xs: builder.sort(before, xs), zipped(builder, rank, arrays)
    )
    shape = tuple(operands[0].shape[k] for k in order)
    found = unzipped(builder, rank, node, [(each, shape) for each in elements])
    back = [order.index(k) for k in range(rank)]
    return [
        whole(each.element, op.results[0].shape, permuted(builder, each.make(), back))
        for each in found
    ]


@lowers("stablehlo.map", summary="`map` over `zip`")
def _map(regions: Regions, op: Op, operands: Sequence[Tensor]) -> Tensor:
    def function(nodes: list[Node]) -> Node:
        elements = [each.element for each in operands]
        return regions.call(op.regions[0], scalars(elements, nodes))[0].make()

    return combined(regions.builder, operands, op.result.shape, op.result.element, function)


@lowers("stablehlo.custom_call @shape_assertion", summary="an error if lengths do not match")
def _shape_assertion(regions: Regions, op: Op, operands: Sequence[Tensor]) -> list[Tensor]:
    """Check a framework's assertion about dynamic dimensions, which are static by now."""
    holds, *lengths = [_known(each) for each in operands]
    if holds is None:
        raise op.refused("its condition is not known before the program runs")
    if not holds:
        message = str(op.attributes.get("error_message", "the lengths do not match"))
        raise UserError(message.format(*lengths), op.location)
    return []


def _known(tensor: Tensor) -> float | None:
    """Return the value of a scalar constant."""
    node = tensor.make()
    if not isinstance(node, Constant) or tensor.varying:
        return None
    return node.number.number if isinstance(node.number, LiteralAttr) else node.number
