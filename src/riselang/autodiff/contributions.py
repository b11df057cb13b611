"""Cotangents of arrays that are not computed yet: tensor contractions over labeled axes.

The cotangent of a matrix operand of a multiplication is a sum over an axis that belongs to an outer
loop of the program. A *nest* records such a value by its axes, the axes that are summed, and the
arrays that its elements are computed from. So a sum can become the innermost loop whatever the
order of the loops in the source, and the transposition of a nest exchanges its axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from riselang.autodiff.building import Builder
from riselang.autodiff.loops import Label
from riselang.dialects.rise.types import ArrayType, RiseType
from riselang.nat import Nat
from riselang.term import build
from riselang.term.build import Node


@dataclass(frozen=True, eq=False)
class Read:
    """An array that a nest reads: `variable` is its element at these labels."""

    variable: Node
    array: Node
    labels: tuple[Label, ...]


@dataclass(frozen=True, eq=False)
class Nest:
    """An array with an axis for each label; each element is the sum of `body` over `summed`."""

    labels: tuple[Label, ...]
    body: Node
    reads: tuple[Read, ...]
    summed: tuple[Label, ...] = ()

    @property
    def lengths(self) -> list[Nat]:
        return [label.length for label in self.labels]


@dataclass(frozen=True, eq=False)
class Sparse:
    """An array of zeros, to which each iteration of some loops adds a value at an index."""

    loops: tuple[Label, ...]
    indices: tuple[Nest, ...]
    """For each of the first axes of the array, its index in each iteration."""
    bounds: tuple[Nat, ...]
    """The lengths of these axes."""
    value: Nest
    """The values; its first labels are the loops."""


Contribution = Nest | Sparse


def nest_of(builder: Builder, node: Node) -> Nest:
    """Return an array, or a scalar, as a nest."""
    labels: list[Label] = []
    type: RiseType = node.type
    while isinstance(type, ArrayType):
        labels.append(Label(type.length))
        type = type.element
    return nest_at(builder, node, tuple(labels))


def nest_at(builder: Builder, node: Node, labels: tuple[Label, ...]) -> Nest:
    """Return an array as a nest with these labels."""
    if not labels and isinstance(node, build.Constant):
        return Nest((), node, ())
    type: RiseType = node.type
    for _ in labels:
        assert isinstance(type, ArrayType)
        type = type.element
    variable = builder.variable(type, "x")
    return Nest(labels, variable, (Read(variable, node, labels),))


def is_single(nest: Nest, label: Label) -> bool:
    return label.length == Nat.const(1) and not any(label in read.labels for read in nest.reads)


def is_plain(nest: Nest) -> bool:
    """Return whether each element of a nest is computed from one element of each array."""
    return not nest.summed and all(len(read.labels) == len(nest.labels) for read in nest.reads)


def product(lengths: Sequence[Nat]) -> Nat:
    result = Nat.const(1)
    for length in lengths:
        result = result * length
    return result


def relabel(nest: Nest, labels: tuple[Label, ...]) -> Nest:
    """Return a nest without sums with other labels."""
    names = dict(zip(nest.labels, labels, strict=True))
    reads = tuple(
        replace(read, labels=tuple(names[label] for label in read.labels)) for read in nest.reads
    )
    return Nest(labels, nest.body, reads)
