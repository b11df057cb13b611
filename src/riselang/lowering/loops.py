"""Building loops of the affine and scf dialects."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import cache

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    StringAttr,
    i32,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import AttrSizedOperandSegments
from xdsl.rewriter import InsertPoint

from riselang.dialects.affine import Bounds, ParallelOp
from riselang.lowering.origins import NOWHERE, locate, origin_of
from riselang.lowering.sizes import Sizes
from riselang.nat import Nat
from riselang.term.nodes import Pattern

LoopBody = Callable[[SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]
"""From the index and the carried values to their next values; emits at the current place."""

WhileBody = Callable[[Sequence[SSAValue]], Sequence[SSAValue]]
"""From the carried values to their next values; emits at the current place."""
Condition = Callable[[Sequence[SSAValue]], SSAValue]
"""From the carried values to whether there is another iteration, a plain i1."""


_ZERO = AffineMapAttr(AffineMap(0, 0, (AffineExpr.constant(0),)))
_ONE = IntegerAttr.from_index_int_value(1)
SEGMENTS = AttrSizedOperandSegments.attribute_name
MOST_UNROLLED = 64
"""Loops of more iterations stay loops, and so do those inside of others that are written out."""


class LoopKind(Enum):
    SEQUENTIAL = "one iteration after the other"
    PARALLEL = "iterations in any order, on several threads"
    UNROLLED = "iterations written out, where there are few"
    BLOCK_X = "block_x"
    """Of a GPU, as all that follow."""
    BLOCK_Y = "block_y"
    BLOCK_Z = "block_z"
    THREAD_X = "thread_x"
    THREAD_Y = "thread_y"
    THREAD_Z = "thread_z"
    WARP = "warp"
    LANE = "lane"

    @property
    def is_of_gpu(self) -> bool:
        return self.name.lower() == self.value


PART_OF_GPU = "rise.on"
"""The attribute of a parallel loop that says which parts of a GPU run its iterations."""


@cache
def segment_sizes(*sizes: int) -> DenseArrayBase[IntegerType]:
    """How many operands of an op each of its variadic definitions takes."""
    return DenseArrayBase.from_list(i32, sizes)


class Emitter:
    """A place in the IR where ops are added, and which moves into loop bodies."""

    def __init__(self, point: InsertPoint, sizes: Sizes | None = None):
        self.builder = Builder(point)
        self.sizes = sizes
        self.origin: LocationAttr = NOWHERE
        self.copies = 1
        """How often what is added is written out, by the loops around it that are unrolled."""

    def add(self, op: Operation) -> Operation:
        locate(op, self.origin)
        return self.builder.insert(op)

    @contextmanager
    def made_for(self, pattern: Pattern) -> Generator[None]:
        """What is added comes from the pattern."""
        outer, self.origin = self.origin, origin_of(pattern)
        try:
            yield
        finally:
            self.origin = outer

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        outer = self.builder
        self.builder = Builder(InsertPoint.at_end(block))
        try:
            yield
        finally:
            self.builder = outer

    def loop(
        self,
        length: Nat,
        dialect: str,
        kind: LoopKind,
        inits: Sequence[SSAValue],
        body: LoopBody,
    ) -> Sequence[SSAValue]:
        """`for i = 0 to length`, carrying values from `inits` on; returns the last ones."""
        if kind is LoopKind.UNROLLED and self.unrolls(length):
            return self._unrolled(length.constant, inits, body)
        if kind is LoopKind.PARALLEL or kind.is_of_gpu:
            return self._parallel(length, dialect, kind, self._body(inits, body)[0])
        if dialect == "scf":
            return self.range_loop(*self._bounds(length), inits, body)
        block, results = self._body(inits, body)
        block.add_op(affine.YieldOp.get(*results))
        types = [init.type for init in inits]
        operands, bound = self._affine_bound(length)
        op = affine.ForOp.create(
            operands=[*operands, *inits],
            result_types=types,
            properties={
                "lowerBoundMap": _ZERO,
                "upperBoundMap": bound,
                "step": _ONE,
                SEGMENTS: segment_sizes(0, len(operands), len(inits)),
            },
            regions=[Region(block)],
        )
        return self.add(op).results

    def unrolls(self, length: Nat) -> bool:
        """Whether so many iterations are few enough to be written out here."""
        return length.is_constant and length.constant <= MOST_UNROLLED // self.copies

    def _unrolled(
        self, count: int, carried: Sequence[SSAValue], body: LoopBody
    ) -> Sequence[SSAValue]:
        self.copies *= max(count, 1)
        for number in range(count):
            carried = body(self.constant(number), carried)
        self.copies //= max(count, 1)
        return carried

    def _body(self, inits: Sequence[SSAValue], body: LoopBody) -> tuple[Block, Sequence[SSAValue]]:
        """The block of a loop without its end, and the values it passes on."""
        block = Block(arg_types=[IndexType(), *(init.type for init in inits)])
        block.args[0].name_hint = "i"
        with self.inside(block):
            return block, body(block.args[0], block.args[1:])

    def range_loop(
        self,
        start: SSAValue,
        end: SSAValue,
        step: SSAValue,
        inits: Sequence[SSAValue],
        body: LoopBody,
    ) -> Sequence[SSAValue]:
        """`for i = start to end step step`, with bounds that are known only at run time."""
        block, results = self._body(inits, body)
        block.add_op(scf.YieldOp(*results))
        return self.add(scf.ForOp(start, end, step, inits, Region(block))).results

    def constant(self, number: int) -> SSAValue:
        return self.length(Nat.const(number))

    def while_loop(
        self, inits: Sequence[SSAValue], condition: Condition, body: WhileBody
    ) -> Sequence[SSAValue]:
        """Carries values from `inits` on as long as `condition` holds of them; the last ones."""
        types = [init.type for init in inits]
        before, after = Block(arg_types=types), Block(arg_types=types)
        with self.inside(after):
            self.add(scf.YieldOp(*body(after.args)))
        # The condition comes last: by then it is known whether the loop has anything to check.
        with self.inside(before):
            self.add(scf.ConditionOp(condition(before.args), *before.args))
        return self.add(scf.WhileOp(inits, types, Region(before), Region(after))).results

    def length(self, length: Nat) -> SSAValue:
        """A length as a value."""
        if length.is_constant:
            constant = arith.ConstantOp.from_int_and_width(length.constant, IndexType())
            return self.add(constant).results[0]
        assert self.sizes is not None, length
        return self.sizes.value(length)

    def _affine_bound(self, length: Nat) -> tuple[list[SSAValue], AffineMapAttr]:
        if length.is_constant:
            expression = AffineExpr.constant(length.constant)
            return [], AffineMapAttr(AffineMap(0, 0, (expression,)))
        return [self.length(length)], AffineMapAttr(AffineMap(0, 1, (AffineExpr.symbol(0),)))

    def _parallel(
        self, length: Nat, dialect: str, kind: LoopKind, block: Block
    ) -> Sequence[SSAValue]:
        if dialect == "affine":
            block.add_op(affine.YieldOp.get())
            operands, bound = self._affine_bound(length)
            upper = Bounds(bound.data, (1,), tuple(operands))
            self.add(ParallelOp.make(Bounds.of(0), upper, Region(block)))
        else:
            block.add_op(scf.ReduceOp())
            lower, upper, step = self._bounds(length)
            op = self.add(scf.ParallelOp([lower], [upper], [step], Region(block)))
            if kind.is_of_gpu:
                op.attributes[PART_OF_GPU] = StringAttr(kind.value)
        return ()

    def _bounds(self, length: Nat) -> tuple[SSAValue, SSAValue, SSAValue]:
        return self.constant(0), self.length(length), self.constant(1)
