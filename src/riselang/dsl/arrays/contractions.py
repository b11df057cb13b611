"""Tensor contractions: products of arrays, added over labeled axes.

`einsum("ij,jk->ik", A, B)` is `A @ B`. Three or more operands are multiplied from left to right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from numbers import Number
from typing import Any

from riselang.dsl import patterns
from riselang.dsl.arrays import reductions
from riselang.dsl.arrays.broadcasting import map_zipped, promote_arrays
from riselang.dsl.arrays.layout import permute_axes
from riselang.dsl.arrays.products import dot_product, matmul
from riselang.dsl.arrays.shapes import (
    as_array,
    element_type,
    literal_of,
    normalize_axes,
    rank_of,
    shape_of,
)
from riselang.dsl.diagnostics import refuse
from riselang.dsl.pattern_functions import scalar_function
from riselang.dsl.symbolic_values import Value, capture_arrays
from riselang.dsl.tracing import type_text, value_text
from riselang.nat import Nat

ADD = scalar_function("add")
Label = str | int
Operand = tuple[Any, tuple[Label, ...]]
"""An array, or a scalar, and a label for each of its axes."""
TERM = r"[A-Za-z]*(?:\.\.\.)?[A-Za-z]*"
SUBSCRIPTS = re.compile(rf"({TERM}(?:,{TERM})*)(?:->({TERM}))?")


def einsum(subscripts: str, *arrays: Any) -> Value:
    """Return a tensor contraction in Einstein's notation: `einsum("ij,jk->ik", A, B)`."""
    if not isinstance(subscripts, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        refuse(f"einsum: expected text such as 'ij,jk->ik', but found {value_text(subscripts)}")
    match = SUBSCRIPTS.fullmatch(subscripts.replace(" ", ""))
    if match is None:
        refuse(f"einsum: {value_text(subscripts)} is not of the form 'ij,jk->ik'")
    terms = match[1].split(",")
    if len(terms) != len(arrays):
        refuse(f"einsum: {subscripts!r} has {len(terms)} terms, but there are {len(arrays)} arrays")
    operands: list[Operand] = []
    ellipsis: tuple[Label, ...] = ()
    for term, array in zip(terms, arrays, strict=True):
        operand = as_array("einsum", array, 0)
        labels = _labels(term, operand)
        operands.append((operand, labels))
        numbers = tuple(label for label in labels if isinstance(label, int))
        ellipsis = max(ellipsis, numbers, key=len)
    return contract("einsum", operands, _kept_labels(match[2], match[1], ellipsis, operands))


def _labels(term: str, array: Value) -> tuple[Label, ...]:
    """Return a label for each axis; the axes of `...` have negative numbers."""
    front, dots, back = term.partition("...")
    count = rank_of(array) - len(front) - len(back)
    if count < 0 or (count > 0 and not dots):
        refuse(
            f"einsum: '{term}' labels {len(front) + len(back)} axes, but {type_text(array.type)} "
            f"has {rank_of(array)}"
        )
    return (*front, *range(-count, 0), *back)


def _kept_labels(
    output: str | None, inputs: str, ellipsis: tuple[Label, ...], operands: Sequence[Operand]
) -> tuple[Label, ...]:
    if output is None:  # the labels that occur once, in alphabetical order
        letters = sorted(letter for letter in set(inputs) - {",", "."})
        return (*ellipsis, *(letter for letter in letters if inputs.count(letter) == 1))
    front, dots, back = output.partition("...")
    kept: tuple[Label, ...] = (*front, *(ellipsis if dots else ()), *back)
    known = {label for _, labels in operands for label in labels}
    for label in kept:
        if label not in known or kept.count(label) > 1:
            refuse(f"einsum: the output '{output}' must contain labels of the inputs, each once")
    return kept


def dot(a: Any, b: Any) -> Value:
    """Contract the last axis of `a` with the last axis of `b`, or its last but one."""
    a, b = capture_arrays((a, b))
    for value in (a, b):
        if not isinstance(value, Value | Number):
            refuse(f"dot: expected an array or a number, but found {value_text(value)}")
    if rank_of(a) == 0 or rank_of(b) == 0:
        return a * b
    if rank_of(a) <= 2 and rank_of(b) <= 2:
        return matmul(a, b)
    return tensordot(a, b, ((-1,), (-2 if rank_of(b) > 1 else -1,)))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Value:
    """Return the tensor contraction of two arrays over these axes.

    `axes` is the number of axes, the last ones of `a` and the first ones of `b`, or two sequences.
    """
    a, b = as_array("tensordot", a, 0), as_array("tensordot", b, 0)
    left, right = rank_of(a), rank_of(b)
    if isinstance(axes, int):
        if not 0 <= axes <= min(left, right):
            refuse(f"tensordot: {axes} axes are too many for {left} and {right} dimensions")
        axes = tuple(range(left - axes, left)), tuple(range(axes))
    first = normalize_axes("tensordot", axes[0], left)
    second = normalize_axes("tensordot", axes[1], right)
    if len(first) != len(second):
        refuse(f"tensordot: the numbers of axes {len(first)} and {len(second)} differ")
    labels, others = list(range(left)), list(range(left, left + right))
    for axis, partner in zip(first, second, strict=True):
        others[partner] = axis
    kept = tuple(label for label in (*labels, *others) if label not in first)
    return contract("tensordot", [(a, tuple(labels)), (b, tuple(others))], kept)


def contract(name: str, operands: Sequence[Operand], kept: tuple[Label, ...]) -> Value:
    """Multiply arrays, and add the products over all labels but those that are kept."""
    arrays = promote_arrays([array for array, _ in operands])
    operands = [(array, labels) for array, (_, labels) in zip(arrays, operands, strict=True)]
    _check_lengths(name, operands)
    needed = [set(kept).union(*(labels for _, labels in operands[number + 1 :]))
              for number in range(len(operands))]  # fmt: skip
    result = _sum_own_labels(operands[0], needed[0])
    for number, operand in enumerate(operands[1:], 1):
        other = _sum_own_labels(operand, needed[number].union(result[1]))
        own = (*result[1], *other[1])
        labels = [label for label in (*kept, *own) if label in own and label in needed[number]]
        result = _multiply(result, other, tuple(dict.fromkeys(labels)))
    array, labels = result
    return permute_axes(array, [labels.index(label) for label in kept])


def _check_lengths(name: str, operands: Sequence[Operand]) -> None:
    lengths: dict[Label, Nat] = {}
    for array, labels in operands:
        for label, length in zip(labels, shape_of(array), strict=True):
            if lengths.setdefault(label, length) != length:
                axis = f"the axis '{label}'" if isinstance(label, str) else "an axis"
                refuse(f"{name}: {axis} has the lengths {lengths[label]} and {length}")


def _sum_own_labels(operand: Operand, needed: set[Label]) -> Operand:
    """Take diagonals along labels that occur twice, and sum over labels that are not needed."""
    array, labels = operand
    while repeated := [label for label in labels if labels.count(label) > 1]:
        array, labels = _diagonal(array, labels, repeated[0])
    axes = tuple(number for number, label in enumerate(labels) if label not in needed)
    if axes:
        array = reductions.sum(array, axes)
    return array, tuple(label for label in labels if label in needed)


def _diagonal(array: Value, labels: tuple[Label, ...], label: Label) -> Operand:
    first = labels.index(label)
    second = labels.index(label, first + 1)
    others = [number for number in range(len(labels)) if number not in (first, second)]
    square = permute_axes(array, (first, second, *others))
    diagonal = patterns.generate(lambda i: square[i][i], n=shape_of(array)[first])
    return diagonal, (label, *(labels[number] for number in others))


def _multiply(a: Operand, b: Operand, kept: tuple[Label, ...]) -> Operand:
    """Multiply two arrays, and add the products over the labels of both that are not kept."""
    summed = tuple(label for label in a[1] if label not in kept)
    arrays: list[Any] = []
    orders: list[tuple[Label, ...]] = []
    for array, labels in (a, b):
        order = (*(label for label in kept if label in labels), *summed)
        arrays.append(permute_axes(array, [labels.index(label) for label in order]))
        orders.append(order)
    return _map_labels(arrays, orders, kept, len(summed)), kept


def _map_labels(
    arrays: Sequence[Any], orders: Sequence[tuple[Label, ...]], kept: tuple[Label, ...], depth: int
) -> Any:
    if not kept:
        return _sum_products(arrays[0], arrays[1], depth)
    label, *remaining = kept
    members = [number for number, order in enumerate(orders) if order and order[0] == label]
    inner = [order[1:] if number in members else order for number, order in enumerate(orders)]

    def apply(*elements: Any) -> Any:
        inputs = list(arrays)
        for number, element in zip(members, elements, strict=True):
            inputs[number] = element
        return _map_labels(inputs, inner, tuple(remaining), depth)

    return map_zipped(apply, [arrays[number] for number in members])


def _sum_products(a: Any, b: Any, depth: int) -> Any:
    """Add the products of the elements of two arrays of this rank."""
    if depth == 0:
        return a * b
    if depth == 1:
        return dot_product(a, b)
    sums = map_zipped(lambda x, y: _sum_products(x, y, depth - 1), (a, b))
    return patterns.reduce(ADD, literal_of(0, element_type(a)), sums)
