"""Tangents of views and other linear patterns: the same pattern, applied to tangents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from riselang.autodiff.building import nest_type
from riselang.autodiff.evaluation import Entry, float_leaves
from riselang.autodiff.forward import Forward, Tangent, Tangents, rule, tangent_of
from riselang.autodiff.reverse_views import sorted_positions
from riselang.dialects.rise import pattern_registry as patterns
from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.types import RiseType, leaves
from riselang.term.build import Node
from riselang.term.nodes import Pattern


def tangent_leaves(tangents: Tangents, entry: Entry) -> Tangent:
    """Return the tangent of a value, with None for each scalar that has none."""
    return tangent_of(tangents, entry) or [None] * len(float_leaves(entry.type))


def _operands(entry: Entry) -> list[Entry]:
    return [cast(Entry, operand) for operand in entry.operands]


def apply_to_leaves(
    forward: Forward, entry: Entry, given: Sequence[Node], operands: Sequence[Tangent]
) -> Tangent:
    """Apply the pattern of an entry to the tangents of each scalar of its operands."""
    builder, pattern = forward.builder, entry.operation
    assert isinstance(pattern, Pattern)
    inputs = [cast(Entry, operand) for operand in entry.operands[len(given) :]]
    results: list[Node | None] = []
    element = pattern.argument("t")
    assert isinstance(element, RiseType)
    for position, (lengths, scalar) in enumerate(leaves(element)):
        parts = [operand[position] for operand in operands]
        if all(part is None for part in parts):
            results.append(None)
            continue
        nodes = [
            builder.zeros(_leaf_type(operand.type, position)) if part is None else part
            for operand, part in zip(inputs, parts, strict=True)
        ]
        sizes: list[Argument] = [
            nest_type(lengths, scalar) if name == "t" else pattern.argument(name)
            for name in pattern.spec.parameters
        ]
        results.append(builder.apply(pattern.spec, sizes, *given, *nodes))
    return results


def _leaf_type(type: RiseType, position: int) -> RiseType:
    lengths, scalar = list(leaves(type))[position]
    return nest_type(lengths, scalar)


@rule(
    patterns.TRANSPOSE, patterns.SPLIT, patterns.JOIN, patterns.SLIDE, patterns.REVERSE,
    patterns.TAKE, patterns.DROP, patterns.PAD, patterns.PAD_WRAP, patterns.PAD_REFLECT,
    patterns.PREFETCH, patterns.NONTEMPORAL, patterns.SHARD, patterns.TO_MEM, patterns.REORDER,
    patterns.AT, patterns.SLICE_AT, patterns.GATHER,
)  # fmt: skip
def _view(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    xs = entry.operands[-1]
    assert isinstance(xs, Entry)
    given = entry.nodes[:-1]
    return apply_to_leaves(forward, entry, given, [tangent_leaves(tangents, xs)])


@rule(patterns.CONCAT, patterns.PAD_CONST)
def _both(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    operands = [tangent_leaves(tangents, operand) for operand in _operands(entry)]
    return apply_to_leaves(forward, entry, [], operands)


@rule(patterns.UPDATE_AT, patterns.SCATTER)
def _update(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    indices, *arrays = _operands(entry)
    operands = [tangent_leaves(tangents, operand) for operand in arrays]
    return apply_to_leaves(forward, entry, [indices.node], operands)


@rule(patterns.ZIP, patterns.TUPLE)
def _pair(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    first, second = _operands(entry)
    return [*tangent_leaves(tangents, first), *tangent_leaves(tangents, second)]


@rule(patterns.UNZIP)
def _unzip(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    return tangent_leaves(tangents, _operands(entry)[0])


@rule(patterns.FST, patterns.SND)
def _component(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    parts = tangent_leaves(tangents, _operands(entry)[0])
    count = len(float_leaves(entry.type))
    return parts[:count] if entry.spec is patterns.FST else parts[len(parts) - count :]


@rule(patterns.SORT)
def _sort(forward: Forward, tangents: Tangents, entry: Entry) -> Tangent:
    xs = entry.operands[-1]
    assert isinstance(xs, Entry)
    indices = sorted_positions(forward.builder, entry)
    return [
        None if leaf is None else forward.builder.gather(indices, leaf)
        for leaf in tangent_leaves(tangents, xs)
    ]
