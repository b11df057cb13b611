"""Matrix multiplication, and Einstein sums."""

from __future__ import annotations

from riselang.frontends.onnx.primitives.contractions import dot_general, matmul
from riselang.frontends.onnx.primitives.elementwise import add, compare, multiply, select
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.integer_products import dequantized_matmul, transposed
from riselang.frontends.onnx.primitives.reductions import reduce, sum_of
from riselang.frontends.onnx.primitives.shapes import (
    broadcast_in_dim,
    iota,
    transpose,
)
from riselang.frontends.onnx.registry import Node, converts
from riselang.support.errors import LimitationError

CONTRACTION = "nested `map`s with a `reduce` over `zip` inside"


@converts("MatMul", summary=CONTRACTION)
def _matmul(node: Node) -> Value:
    found = dequantized_matmul(node[0], node[1])
    return matmul(node[0], node[1]) if found is None else found


@converts("Gemm", summary=CONTRACTION)
def _gemm(node: Node) -> Value:
    left, right, bias = node[0], node[1], node.optional(2)
    contracted = (0 if node.integer("transA", 0) else 1, 1 if node.integer("transB", 0) else 0)
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    found = None
    if left.dequantized is not None and right.dequantized is not None:
        found = dequantized_matmul(
            left if contracted[0] else transposed(left),
            transposed(right) if contracted[1] else right,
        )
    if found is None:
        found = dot_general(left, right, ((), ()), ((contracted[0],), (contracted[1],)))
    if alpha != 1:
        found = _scaled(found, alpha)
    if bias is None or beta == 0:
        return found
    return add(found, bias if beta == 1 else _scaled(bias, beta))


def _scaled(x: Value, factor: float) -> Value:
    if x.type.is_float or factor == int(factor):
        return multiply(x, factor if x.type.is_float else int(factor))
    raise LimitationError(f"integers are multiplied by {factor}")


@converts("Einsum", summary=CONTRACTION)
def _einsum(node: Node) -> Value:
    terms, result = _einsum_terms(node.text("equation"), [each.rank for each in node.values])
    parts = [_diagonal(value, term) for value, term in zip(node.values, terms, strict=True)]
    value, labels = parts[0]
    for number, (other, others) in enumerate(parts[1:], 1):
        later = {label for _, rest in parts[number + 1 :] for label in rest} | set(result)
        value, labels = _contract(value, labels, other, others, later)
    gone = [k for k, label in enumerate(labels) if label not in result]
    value = sum_of(value, gone)
    labels = [label for label in labels if label in result]
    missing = [label for label in result if label not in labels]
    if missing:
        raise LimitationError(f"the index {missing[0]} of the result is not in the operands")
    return transpose(value, [labels.index(label) for label in result])


def _einsum_terms(equation: str, ranks: list[int]) -> tuple[list[list[str]], list[str]]:
    """Return the labels of each operand and of the result; those of an ellipsis are numbers."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    operands = left.split(",")
    if len(operands) != len(ranks):
        raise LimitationError(f"the equation {equation!r} has {len(operands)} operands")
    counts = [
        rank - len(term.replace("...", ""))
        for term, rank in zip(operands, ranks, strict=True)
        if "..." in term
    ]
    dots = max(counts, default=0)

    def labels(term: str, count: int) -> list[str]:
        before, ellipsis, after = term.partition("...")
        middle = [f"{k}" for k in range(dots - count, dots)] if ellipsis else []
        return [*before, *middle, *after]

    terms = [
        labels(term, rank - len(term.replace("...", "")))
        for term, rank in zip(operands, ranks, strict=True)
    ]
    if not arrow:
        letters = [each for each in left if each.isalpha()]
        once = sorted({each for each in letters if letters.count(each) == 1})
        return terms, [*(f"{k}" for k in range(dots)), *once]
    return terms, labels(right, dots)


def _diagonal(x: Value, labels: list[str]) -> tuple[Value, list[str]]:
    """Keep the diagonal of dimensions with the same label."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            same = compare("EQ", iota(x.graph, x.shape, first), iota(x.graph, x.shape, second))
            x = sum_of(select(same, x, 0), [second])
            labels = [*labels[:second], *labels[second + 1 :]]
    return x, labels


def _contract(
    left: Value, lefts: list[str], right: Value, rights: list[str], later: set[str]
) -> tuple[Value, list[str]]:
    """Contract two operands over the labels that nothing else has."""
    for values, own, other in ((left, lefts, rights), (right, rights, lefts)):
        del values, own, other
    gone_left = [k for k, label in enumerate(lefts) if label not in rights and label not in later]
    left, lefts = sum_of(left, gone_left), [x for k, x in enumerate(lefts) if k not in gone_left]
    gone = [k for k, label in enumerate(rights) if label not in lefts and label not in later]
    right, rights = sum_of(right, gone), [x for k, x in enumerate(rights) if k not in gone]
    shared = [label for label in lefts if label in rights]
    left, right = _match_units(left, lefts, right, rights, shared)
    batch = [label for label in shared if label in later]
    contracted = [label for label in shared if label not in later]
    found = dot_general(
        left, right,
        ([lefts.index(x) for x in batch], [rights.index(x) for x in batch]),
        ([lefts.index(x) for x in contracted], [rights.index(x) for x in contracted]),
    )  # fmt: skip
    rest = [x for x in lefts if x not in shared] + [x for x in rights if x not in shared]
    return found, [*batch, *rest]


def _match_units(
    left: Value, lefts: list[str], right: Value, rights: list[str], shared: list[str]
) -> tuple[Value, Value]:
    """Broadcast shared dimensions of length 1."""
    shapes = [list(left.shape), list(right.shape)]
    for label in shared:
        a, b = lefts.index(label), rights.index(label)
        length = max(left.shape[a], right.shape[b])
        shapes[0][a] = shapes[1][b] = length
    return (
        broadcast_in_dim(left, shapes[0], range(left.rank)),
        broadcast_in_dim(right, shapes[1], range(right.rank)),
    )


@converts("Det", summary="for each matrix, `reduce` over the columns (LU)")
def _det(node: Node) -> Value:
    x = node.tensor(0, least=2)
    size = x.shape[-1]
    target = "lapack_sgetrf_ffi" if x.element == "f32" else "lapack_dgetrf_ffi"
    lead = x.shape[:-2]
    factors, pivots, _ = node.graph.emit(
        "custom_call", [x], [(x.shape, x.element), ((*lead, size), "i32"), (lead, "i32")],
        {"call_target_name": target},
    )  # fmt: skip
    rows = iota(node.graph, x.shape, x.rank - 2)
    columns = iota(node.graph, x.shape, x.rank - 1)
    diagonal = sum_of(select(compare("EQ", rows, columns), factors, 0), [x.rank - 1])
    product = reduce("multiply", diagonal, [x.rank - 2])
    place = add(iota(node.graph, pivots.shape, pivots.rank - 1, "i32"), 1)
    swapped = select(
        compare("EQ", pivots, place), node.graph.full(1, (), x.element),
        node.graph.full(-1, (), x.element),
    )  # fmt: skip
    return multiply(product, reduce("multiply", swapped, [x.rank - 2]))
