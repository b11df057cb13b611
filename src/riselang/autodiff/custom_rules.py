"""Derivatives that the user defines."""

from __future__ import annotations

from collections.abc import Sequence

from riselang.autodiff import forward, reverse
from riselang.autodiff.accumulations import float_nests
from riselang.autodiff.building import Builder, nest_type
from riselang.autodiff.cotangents import Cotangents, Leaves
from riselang.autodiff.evaluation import Closure, Entry, Record, float_leaves
from riselang.autodiff.forward import Forward, Tangent, Tangents
from riselang.autodiff.forward_views import tangent_leaves
from riselang.autodiff.leaf_arrays import join_leaves, split_leaves
from riselang.autodiff.marks import CHECKPOINT, CUSTOM_JVP, CUSTOM_VJP, LINEAR
from riselang.autodiff.reverse import Reverse
from riselang.dialects.rise.types import RiseType, is_float, leaves
from riselang.support.errors import LimitationError
from riselang.term.build import Node


@reverse.rule(CUSTOM_VJP)
def _pull_back(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    builder = reverse.builder
    _, forward_function, backward, x = entry.operands
    assert isinstance(x, Entry)
    pair = _apply(builder, forward_function, [Entry(x.node)])
    cotangent = _as_value(builder, entry.type, reverse.dense_leaves(leaves))
    residuals = Entry(builder.second(pair))
    result = _apply(builder, backward, [residuals, Entry(cotangent)])
    floats = _floats(x.type, split_leaves(builder, result))
    cotangents.add(x, float_nests(builder, x.type, floats))


@forward.rule(CUSTOM_VJP)
def _refuse(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    raise LimitationError(
        "a function with rl.custom_vjp has no derivative in forward mode; define it with "
        "rl.custom_jvp, which works in both modes",
        entry.location,
    )


@forward.rule(CUSTOM_JVP)
def _push_forward(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    builder = forward.builder
    _, function, x = entry.operands
    assert isinstance(x, Entry)
    tangent = _as_value(builder, x.type, tangent_leaves(tangents, x))
    result = _apply(builder, function, [Entry(x.node), Entry(tangent)])
    return _with_gaps(entry.type, split_leaves(builder, builder.second(result)))


@reverse.rule(CUSTOM_JVP)
def _transpose(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    """Propagate the cotangent through the tangent, which is linear in that of the argument."""
    builder = reverse.builder
    _, function, x = entry.operands
    assert isinstance(function, Closure)
    assert isinstance(x, Entry)
    zero = _as_value(builder, x.type, [None] * len(float_leaves(x.type)))
    tangent = Entry(zero, float_leaves(zero.type))
    record, inner = Record(builder), Cotangents()
    result = record.apply(function, [Entry(x.node), tangent])
    assert isinstance(result, Entry)
    given = [leaf for leaf, has_float in zip(leaves, float_leaves(entry.type), strict=True)
             if has_float]  # fmt: skip
    count = len(float_leaves(result.type)) - len(given)
    inner.add(result, [*[None] * count, *given])
    reverse.run(record, inner)
    totals = reverse.totals(inner.pop(tangent) or [[] for _ in float_leaves(zero.type)])
    pending = iter(totals)
    cotangents.add(x, [next(pending) if has_float else None for has_float in float_leaves(x.type)])


@reverse.rule(LINEAR)
def _apply_transpose(
    reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves
) -> None:
    builder, x = reverse.builder, entry.operands[-1]
    assert isinstance(x, Entry)
    cotangent = _as_value(builder, entry.type, reverse.dense_leaves(leaves))
    function, transpose, _ = entry.nodes
    result = builder.apply(LINEAR, [entry.type, x.type], transpose, function, cotangent)
    cotangents.add(x, float_nests(builder, x.type, split_leaves(builder, result)))


@forward.rule(LINEAR)
def _apply_to_tangent(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    builder, x = forward.builder, entry.operands[-1]
    assert isinstance(x, Entry)
    tangent = _as_value(builder, x.type, tangent_leaves(tangents, x))
    function, transpose, _ = entry.nodes
    result = builder.apply(LINEAR, [x.type, entry.type], function, transpose, tangent)
    return list(split_leaves(builder, result))


@reverse.rule(CHECKPOINT)
def _compute_again(reverse: Reverse, cotangents: Cotangents, entry: Entry, leaves: Leaves) -> None:
    """Evaluate the function again, on a copy of its argument: the values of the first evaluation
    need not be stored."""
    builder = reverse.builder
    function, x = entry.operands
    assert isinstance(x, Entry)
    arrays = [builder.copy(each) for each in split_leaves(builder, x.node)]
    argument = Entry(join_leaves(builder, x.type, arrays), x.active)
    record = Record(builder)
    cotangents.add(record.apply(function, [argument]), leaves)
    reverse.run(record, cotangents)
    if (contributions := cotangents.pop(argument)) is not None:
        cotangents.add(x, reverse.totals(contributions))


@forward.rule(CHECKPOINT)
def _apply_once(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    function, x = entry.operands
    assert isinstance(x, Entry)
    record = Record(forward.builder)
    result = record.apply(function, [x])
    assert isinstance(result, Entry)
    return tangent_leaves(forward.run(record, tangents), result)


def _apply(builder: Builder, function: object, arguments: Sequence[Entry]) -> Node:
    assert isinstance(function, Closure)
    result = Record(builder).apply(function, arguments)
    assert isinstance(result, Entry)
    return result.node


def _as_value(builder: Builder, type: RiseType, nodes: Sequence[Node | None]) -> Node:
    """Return a cotangent as a value of a type; what is not known or not a float is zero."""
    arrays = [
        builder.zeros(nest_type(lengths, leaf)) if node is None else node
        for node, (lengths, leaf) in zip(nodes, leaves(type), strict=True)
    ]
    return join_leaves(builder, type, arrays)


def _floats(type: RiseType, nodes: Sequence[Node]) -> list[Node]:
    """Return those of the arrays of a value that are floats."""
    return [node for node, (_, leaf) in zip(nodes, leaves(type), strict=True) if is_float(leaf)]


def _with_gaps(type: RiseType, nodes: Sequence[Node]) -> Tangent:
    pending = iter(nodes)
    return [next(pending) if has_float else None for has_float in float_leaves(type)]
