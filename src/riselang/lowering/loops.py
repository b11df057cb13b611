"""Building loops of the affine and scf dialects."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from enum import Enum

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseIntElementsAttr,
    IndexType,
    IntegerAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

LoopBody = Callable[[SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]
"""From the index and the carried values to their next values; emits at the current place."""


class LoopKind(Enum):
    SEQUENTIAL = "one iteration after the other"
    PARALLEL = "iterations in any order, on several threads"


class Emitter:
    """A place in the IR where ops are added, and which moves into loop bodies."""

    def __init__(self, point: InsertPoint):
        self.builder = Builder(point)

    def add(self, op: Operation) -> Operation:
        return self.builder.insert(op)

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        outer = self.builder
        self.builder = Builder(InsertPoint.at_end(block))
        yield
        self.builder = outer

    def loop(
        self,
        length: int,
        dialect: str,
        kind: LoopKind,
        inits: Sequence[SSAValue],
        body: LoopBody,
    ) -> Sequence[SSAValue]:
        """`for i = 0 to length`, carrying values from `inits` on; returns the last ones."""
        block = Block(arg_types=[IndexType(), *(init.type for init in inits)])
        block.args[0].name_hint = "i"
        with self.inside(block):
            results = body(block.args[0], block.args[1:])
        if kind is LoopKind.PARALLEL:
            return self._parallel(length, dialect, block)
        if dialect == "affine":
            block.add_op(affine.YieldOp.get(*results))
            types = [init.type for init in inits]
            op = affine.ForOp.from_region([], [], inits, types, 0, length, Region(block))
        else:
            block.add_op(scf.YieldOp(*results))
            op = scf.ForOp(*self._bounds(length), inits, Region(block))
        return self.add(op).results

    def _parallel(self, length: int, dialect: str, block: Block) -> Sequence[SSAValue]:
        if dialect == "affine":
            block.add_op(affine.YieldOp.get())
            self.add(_affine_parallel(length, block))
        else:
            block.add_op(scf.ReduceOp())
            lower, upper, step = self._bounds(length)
            self.add(scf.ParallelOp([lower], [upper], [step], Region(block)))
        return ()

    def _bounds(self, length: int) -> tuple[SSAValue, SSAValue, SSAValue]:
        lower, upper, step = (
            self.add(arith.ConstantOp.from_int_and_width(bound, IndexType())).results[0]
            for bound in (0, length, 1)
        )
        return lower, upper, step


def _affine_parallel(length: int, block: Block) -> Operation:
    one_result = DenseIntElementsAttr.from_list(TensorType(i32, [1]), [1])
    return affine.ParallelOp.build(
        operands=[[]],
        result_types=[[]],
        regions=[Region(block)],
        properties={
            "reductions": ArrayAttr([]),
            "lowerBoundsMap": AffineMapAttr(AffineMap(0, 0, (AffineExpr.constant(0),))),
            "lowerBoundsGroups": one_result,
            "upperBoundsMap": AffineMapAttr(AffineMap(0, 0, (AffineExpr.constant(length),))),
            "upperBoundsGroups": one_result,
            "steps": ArrayAttr([IntegerAttr(1, i64)]),
        },
    )
