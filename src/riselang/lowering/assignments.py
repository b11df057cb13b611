"""Reads each element that a nest of affine loops computes as a tensor contraction.

A tensor contraction is a sum of terms. Each term is a product of loads, constants and scalars, and
may be summed over loop indices. Access paths have been resolved to loads, so however a program was
written, a matrix multiplication is the sum over k of a product of two loads. Sums are regrouped
freely, which requires the relaxed float permission.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import affine, arith, math, memref
from xdsl.dialects.builtin import FloatAttr, MemRefType, NoneAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from riselang.lowering.affine_nests import Loop, Nest, Subscripts
from riselang.support.lazy import cached_property

MAX_TERMS = 8
"""Sums of more terms do not become library calls."""


class NotATensorContraction(Exception):
    """The reason why a value is not a tensor contraction."""


@dataclass(frozen=True)
class LinearAccess:
    """An element of a buffer: its stride for each loop index, and its constant offset."""

    buffer: SSAValue
    strides: Mapping[SSAValue, int]
    offset: int

    @staticmethod
    def of(access: affine.LoadOp | affine.StoreOp) -> LinearAccess:
        subscripts = Subscripts.of(access)
        type = subscripts.buffer.type
        assert isinstance(type, MemRefType)
        if not is_whole_buffer(subscripts.buffer):
            raise NotATensorContraction("a buffer is a part of another one")
        shape = type.get_shape()
        if min(shape, default=0) < 0:
            raise NotATensorContraction("the length of a buffer is not known")
        steps: dict[SSAValue, int] = {}
        offset = 0
        for dimension, formula in enumerate(subscripts.expressions):
            stride = prod(shape[dimension + 1 :])
            factors, constant = _linear_coefficients(formula)
            offset += stride * constant
            for position, factor in factors.items():
                index = subscripts.indices[position]
                steps[index] = steps.get(index, 0) + stride * factor
        return LinearAccess(
            subscripts.buffer, {i: step for i, step in steps.items() if step}, offset
        )

    def stride(self, index: SSAValue) -> int:
        return self.strides.get(index, 0)


def is_whole_buffer(buffer: SSAValue) -> bool:
    """Whether a buffer is contiguous, and not a view of another buffer."""
    owner, type = buffer.owner, buffer.type
    if isinstance(owner, Block):
        is_own = isinstance(owner.parent_op(), FuncOp)
    else:
        is_own = isinstance(owner, memref.AllocOp | memref.AllocaOp | memref.GetGlobalOp)
    return is_own and isinstance(type, MemRefType) and isinstance(type.layout, NoneAttr)


def _linear_coefficients(formula: AffineExpr) -> tuple[dict[int, int], int]:
    """Return the coefficient of each dimension, and the constant term."""
    match formula:
        case AffineConstantExpr():
            return {}, formula.value
        case AffineDimExpr():
            return {formula.position: 1}, 0
        case AffineBinaryOpExpr(AffineBinaryOpKind.Add, left, right):
            factors, constant = _linear_coefficients(left)
            right_factors, right_constant = _linear_coefficients(right)
            for position, factor in right_factors.items():
                factors[position] = factors.get(position, 0) + factor
            return factors, constant + right_constant
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, left, AffineConstantExpr() as multiplier):
            factors, constant = _linear_coefficients(left)
            return {
                position: factor * multiplier.value for position, factor in factors.items()
            }, constant * multiplier.value
        case _:
            raise NotATensorContraction("an index is divided")


@dataclass(frozen=True)
class Factor:
    """A buffer element that a product reads."""

    load: affine.LoadOp

    @cached_property
    def access(self) -> LinearAccess:
        return LinearAccess.of(self.load)


@dataclass(frozen=True)
class Product:
    """A constant times scalars times buffer elements, summed over loop indices."""

    coefficient: float
    scalars: tuple[SSAValue, ...] = ()
    factors: tuple[Factor, ...] = ()
    reduction_loops: tuple[Nest, ...] = ()

    @property
    def is_zero(self) -> bool:
        """Whether it is the constant zero; zero times an element is not, since it may be NaN."""
        return self.coefficient == 0.0 and not self.scalars and not self.factors

    def multiply(self, other: Product) -> Product:
        return Product(
            self.coefficient * other.coefficient,
            self.scalars + other.scalars,
            self.factors + other.factors,
            self.reduction_loops + other.reduction_loops,
        )


Sum = tuple[Product, ...]


@dataclass(frozen=True)
class Assignment:
    """A perfect nest of loops, and the store in each iteration."""

    loops: tuple[Nest, ...]
    store: affine.StoreOp

    @property
    def root(self) -> Operation:
        return self.loops[0].loop if self.loops else self.store

    @cached_property
    def target(self) -> LinearAccess:
        return LinearAccess.of(self.store)

    @cached_property
    def value(self) -> Sum:
        """The stored value."""
        return self.tensor_contraction_of(self.store.value)

    def tensor_contraction_of(self, value: SSAValue) -> Sum:
        """Read a value of the innermost loop as a tensor contraction."""
        return _TensorContractionReader(self.root).sum_of(value)

    def reductions(self) -> list[affine.ForOp]:
        """Return the loops with results in an iteration."""
        block = self.store.parent_block()
        assert block is not None
        return [op for op in block.ops if isinstance(op, affine.ForOp) and op.results]


def assignment_of(nest: Nest) -> Assignment | None:
    """Return a nest as one assignment, if it contains nothing else."""
    loops = [nest]
    while True:
        body = loops[-1].loop.body.block
        inner = [op for op in body.ops if isinstance(op, Loop) and not op.results]
        other_ops = [op for op in body.ops if op not in inner]
        if len(inner) == 1 and not any(op.regions for op in other_ops) and is_pure(other_ops):
            loops.append(Nest(inner[0]))
            continue
        stores = [op for op in body.ops if isinstance(op, affine.StoreOp)]
        if inner or len(stores) != 1 or not is_pure([op for op in other_ops if op not in stores]):
            return None
        return Assignment(tuple(loops), stores[0])


_PURE_AFFINE_OPS = affine.ForOp | affine.YieldOp | affine.LoadOp


def is_pure(ops: Sequence[Operation]) -> bool:
    """Whether ops only read and compute."""
    for op in ops:
        for inner in op.walk():
            if not isinstance(inner, _PURE_AFFINE_OPS) and inner.name.split(".")[0] not in (
                "arith",
                "math",
            ):
                return False
    return True


def sum_of_reduction(loop: affine.ForOp) -> Sum:
    """Read the result of a loop as a tensor contraction."""
    return _TensorContractionReader(loop).sum_of(loop.results[0])


class _TensorContractionReader:
    """Reads values as tensor contractions; values from outside `root` are scalars."""

    def __init__(self, root: Operation):
        self.root = root

    def is_outside(self, value: SSAValue) -> bool:
        op = value.owner
        return not self.root.is_ancestor(op) or op is self.root.parent_op()

    def sum_of(self, value: SSAValue) -> Sum:
        terms = self._sum_of(value)
        if len(terms) > MAX_TERMS:
            raise NotATensorContraction("the sum is too long")
        return terms

    def _sum_of(self, value: SSAValue) -> Sum:
        op = value.owner
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, FloatAttr):
            return (Product(op.value.value.data),)
        if isinstance(op, Block) or self.is_outside(value):
            return (Product(1.0, (value,)),)
        match op:
            case affine.LoadOp():
                return (Product(1.0, (), (Factor(op),)),)
            case affine.ForOp():
                return self.read_reduction(op)
            case arith.AddfOp():
                return self.sum_of(op.lhs) + self.sum_of(op.rhs)
            case arith.SubfOp():
                return self.sum_of(op.lhs) + _negate(self.sum_of(op.rhs))
            case arith.NegfOp():
                return _negate(self.sum_of(op.operand))
            case arith.MulfOp():
                return _multiply(self.sum_of(op.lhs), self.sum_of(op.rhs))
            case math.FmaOp():
                return _multiply(self.sum_of(op.a), self.sum_of(op.b)) + self.sum_of(op.c)
            case _:
                raise NotATensorContraction(f"it has {op.name}")

    def read_reduction(self, op: affine.ForOp) -> Sum:
        """Return the initial value, and the terms that each iteration adds to it."""
        if len(op.results) != 1:
            raise NotATensorContraction("a loop has several results")
        _, accumulator = op.body.block.args
        last = op.body.block.last_op
        assert isinstance(last, affine.YieldOp)
        terms: list[Product] = []
        accumulator_count = 0
        for product in self.sum_of(last.arguments[0]):
            if accumulator not in product.scalars:
                terms.append(replace(product, reduction_loops=(*product.reduction_loops, Nest(op))))
            elif product == Product(1.0, (accumulator,)):
                accumulator_count += 1
            else:
                raise NotATensorContraction("a loop multiplies its accumulator")
        if accumulator_count != 1:
            raise NotATensorContraction("a loop does not add to its accumulator")
        return self.sum_of(op.inits[0]) + tuple(terms)


def _negate(sum: Sum) -> Sum:
    return tuple(replace(product, coefficient=-product.coefficient) for product in sum)


def _multiply(left: Sum, right: Sum) -> Sum:
    return tuple(one.multiply(other) for one in left for other in right)
