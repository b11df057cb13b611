"""Sequences and optionals, which programs do not have: they are lists of values during import."""

from __future__ import annotations

from typing import Any

import numpy as np

from riselang.frontends.onnx.ops.shapes import split
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.shapes import concatenate, index_axis, stack
from riselang.frontends.onnx.registry import Node, converts
from riselang.support.errors import LimitationError

MAX_PARTS = 4096
"""The length of sequences, whose elements are values of the program."""
LIST = "no code: sequences are lists during import"


@converts("SequenceConstruct", summary=LIST)
def _sequence_construct(node: Node) -> list[Any]:
    return [list(node.inputs)]


@converts("SequenceEmpty", summary=LIST)
def _sequence_empty(node: Node) -> list[Any]:
    return [[]]


def _position(node: Node, place: int, length: int, default: int, is_new: bool = False) -> int:
    """Return a position in a sequence, or that of a new element, which may be after the last."""
    given = node.optional(place)
    number = default if given is None else int(given.known().reshape(-1)[0])
    if not -length <= number < length + is_new:
        raise LimitationError(f"the position {number} is not in a sequence of {length}")
    return number


@converts("SequenceInsert", summary=LIST)
def _sequence_insert(node: Node) -> list[Any]:
    parts = node.sequence(0)
    parts.insert(_position(node, 2, len(parts), len(parts), True), node[1])
    return [parts]


@converts("SequenceErase", summary=LIST)
def _sequence_erase(node: Node) -> list[Any]:
    parts = node.sequence(0)
    del parts[_position(node, 1, len(parts), -1)]
    return [parts]


@converts("SequenceAt", summary=LIST)
def _sequence_at(node: Node) -> list[Any]:
    parts = node.sequence(0)
    return [parts[_position(node, 1, len(parts), -1)]]


@converts("SequenceLength", summary=LIST)
def _sequence_length(node: Node) -> Value:
    return node.graph.constant(np.int64(len(node.sequence(0))))


@converts("ConcatFromSequence", summary="`concat`")
def _concat_from_sequence(node: Node) -> Value:
    parts, axis = node.sequence(0), node.integer("axis")
    if not parts:
        raise LimitationError("the sequence is empty")
    if node.integer("new_axis", 0):
        return stack(parts, axis % (parts[0].rank + 1))
    return concatenate(parts, parts[0].axis(axis))


@converts("SplitToSequence", summary="`take` and `drop`")
def _split_to_sequence(node: Node) -> list[Any]:
    x = node[0]
    axis = x.axis(node.integer("axis", 0))
    length, given = x.shape[axis], node.known(1)
    if length > MAX_PARTS:
        raise LimitationError(f"a sequence of {length} parts is too long")
    if given is None:
        parts = split(x, axis, [1] * length)
        if not node.integer("keepdims", 1):
            parts = [index_axis(each, axis, 0) for each in parts]
        return [parts]
    if given.ndim == 0:
        size = int(given)
        if size < 1:
            raise LimitationError(f"parts of {size} elements are not possible")
        sizes = [min(size, length - k) for k in range(0, length, size)]
    else:
        sizes = [int(each) for each in given]
    return [split(x, axis, sizes)]


@converts("Optional", summary=LIST)
def _optional(node: Node) -> list[Any]:
    return [node.inputs[0] if node.inputs else None]


@converts("OptionalHasElement", summary="a constant")
def _optional_has_element(node: Node) -> Value:
    found = bool(node.inputs) and node.inputs[0] is not None
    return node.graph.constant(np.bool_(found))


@converts("OptionalGetElement", summary=LIST)
def _optional_get_element(node: Node) -> list[Any]:
    if node.inputs[0] is None:
        raise LimitationError("the optional has no element")
    return [node.inputs[0]]
