"""Reductions by an operation that may be applied in any order, and contractions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from riselang.frontends.export.batches import Batch, Data, aligned, each, lifted, sorted_axes
from riselang.frontends.export.state import ExportState
from riselang.frontends.onnx.primitives.contractions import dot_general
from riselang.frontends.onnx.primitives.elementwise import binary, multiply
from riselang.frontends.onnx.primitives.reductions import reduce
from riselang.term.nodes import Bound, Lambda, Pattern, Scalar, Term, spine
from riselang.term.substitution import mentions

Evaluate = Callable[[Term, tuple[Data, ...]], Data]
REDUCTIONS: Mapping[str, str] = {
    "arith.addf": "add", "arith.addi": "add", "arith.mulf": "multiply", "arith.muli": "multiply",
    "arith.maximumf": "maximum", "arith.maxsi": "maximum", "arith.maxui": "maximum",
    "arith.minimumf": "minimum", "arith.minsi": "minimum", "arith.minui": "minimum",
}  # fmt: skip
PRODUCTS = ("arith.mulf", "arith.muli")


def export_reduction(
    state: ExportState,
    evaluate: Evaluate,
    arguments: Sequence[Term],
    environment: tuple[Data, ...],
    starts: int,
) -> Data | None:
    """Return a reduction whose order does not matter, or None if it is another one.

    The start is combined with the result `starts` times.
    """
    function, start, xs = arguments
    found = _combined(function)
    if found is None:
        return None
    op, factors = found
    mapped = _mapped_product(xs) if op == "add" and _is_element(factors) else None
    if mapped is not None:
        xs, factors = mapped
    array = evaluate(xs, environment)
    depth = len(state.lengths)
    elements = each(array, lambda leaf: Batch(leaf.value, (*leaf.axes, depth)))
    state.lengths.append(_length(array))
    try:
        # The accumulator is not mentioned.
        outer = environment if mapped is not None else (*environment, None)
        inner = (*outer, elements)
        parts: list[Batch] = [evaluate(factor, inner) for factor in factors]
        if any(part.own or part.value.type.is_boolean for part in parts):
            return None
        total = _total(state, op, parts, depth)
    finally:
        state.lengths.pop()
    first = evaluate(start, environment)
    if op == "add" and first.value.array is not None and not first.value.array.any():
        return total
    for _ in range(starts):
        (left, right), axes = aligned([first, total], state.lengths)
        total = Batch(binary(op, left, right), axes)
    return total


def _is_element(factors: Sequence[Term]) -> bool:
    first = factors[0]
    return len(factors) == 1 and isinstance(first, Bound) and first.index == 0


def _mapped_product(xs: Term) -> tuple[Term, list[Term]] | None:
    """Match `map(fun(x, a * b))(ys)`; return `ys` and the factors."""
    head, arguments = spine(xs)
    if not isinstance(head, Pattern) or not head.spec.name.startswith("map") or not arguments:
        return None
    function = arguments[0]
    if len(arguments) != 2 or not isinstance(function, Lambda):
        return None
    body = function.body
    if not isinstance(body, Scalar) or body.op not in PRODUCTS:
        return None
    return arguments[1], list(body.operands)


def _length(array: Data) -> int:
    while isinstance(array, tuple):
        array = array[0]
    return array.own[0]


def _combined(function: Term) -> tuple[str, list[Term]] | None:
    """Match an operation on the accumulator and a value or product without it."""
    if not isinstance(function, Lambda) or not isinstance(function.body, Lambda):
        return None
    body = function.body.body
    if not isinstance(body, Scalar):
        return None
    op, operands = REDUCTIONS.get(body.op), list(body.operands)
    if body.op == "math.fma":
        op, operands = "add", [operands[2], *operands[:2]]
    elif op is not None and not _is_accumulator(operands[0]):
        operands.reverse()
    if op is None or not _is_accumulator(operands[0]):
        return None
    factors = operands[1:]
    if any(mentions(factor, 1) for factor in factors):
        return None
    product = factors[0]
    if op == "add" and isinstance(product, Scalar) and product.op in PRODUCTS:
        factors = list(product.operands)
    return op, factors


def _is_accumulator(term: Term) -> bool:
    return isinstance(term, Bound) and term.index == 1


def _total(state: ExportState, op: str, parts: list[Batch], depth: int) -> Batch:
    """Reduce the iterations of the innermost map."""
    lengths = state.lengths
    varying = [part for part in parts if depth in part.axes]
    if len(parts) == 2 and len(varying) == 2:
        return _contraction(parts[0], parts[1], depth)
    values, axes = aligned(parts, lengths)
    product = values[0] if len(values) == 1 else multiply(*values)
    axes = tuple(sorted({*axes, depth}))
    whole = Batch(product, tuple(sorted({axis for part in parts for axis in part.axes})))
    return Batch(reduce(op, lifted(whole, axes, lengths), [len(axes) - 1]), axes[:-1])


def _contraction(left: Batch, right: Batch, depth: int) -> Batch:
    shared = [axis for axis in left.axes if axis in right.axes and axis != depth]
    free = [[axis for axis in part.axes if axis not in (*shared, depth)] for part in (left, right)]
    found = dot_general(
        left.value, right.value,
        ([left.axes.index(axis) for axis in shared], [right.axes.index(axis) for axis in shared]),
        ([left.axes.index(depth)], [right.axes.index(depth)]),
    )  # fmt: skip
    return sorted_axes(found, (*shared, *free[0], *free[1]))
