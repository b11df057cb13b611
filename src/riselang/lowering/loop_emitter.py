"""Builds loops of the affine and scf dialects."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import cache

from xdsl.builder import Builder
from xdsl.dialects import affine, scf
from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
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
from riselang.dialects.constants import INDEX, index_constant
from riselang.lowering.dynamic_sizes import Sizes
from riselang.lowering.origins import UNKNOWN_LOCATION, locate, origin_of
from riselang.nat import Nat
from riselang.term.nodes import Pattern

LoopBody = Callable[[SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]
"""From the index and the carried values to their next values; emits at the insertion point."""

WhileBody = Callable[[Sequence[SSAValue]], Sequence[SSAValue]]
"""From the carried values to their next values; emits at the insertion point."""
Condition = Callable[[Sequence[SSAValue]], SSAValue]
"""From the carried values to a builtin i1: whether there is another iteration."""


_ZERO = AffineMapAttr(AffineMap(0, 0, (AffineExpr.constant(0),)))
_ONE = IntegerAttr.from_index_int_value(1)
SEGMENTS = AttrSizedOperandSegments.attribute_name
MAX_UNROLLED_COPIES = 64
"""The maximum number of copies of a loop body that unrolling makes, with all loops around it."""


class LoopKind(Enum):
    SEQUENTIAL = "iterations in order"
    PARALLEL = "iterations in any order, in parallel"
    UNROLLED = "iterations unrolled, if there are few"
    BLOCK_X = "block_x"
    """This kind and the following ones are GPU loops."""
    BLOCK_Y = "block_y"
    BLOCK_Z = "block_z"
    THREAD_X = "thread_x"
    THREAD_Y = "thread_y"
    THREAD_Z = "thread_z"
    WARP = "warp"
    LANE = "lane"

    @property
    def is_gpu(self) -> bool:
        return self.name.lower() == self.value


GPU_MAPPING = "rise.on"
"""The attribute of a parallel loop that maps its iterations to GPU blocks or threads."""


@cache
def segment_sizes(*sizes: int) -> DenseArrayBase[IntegerType]:
    """Return the operand segment sizes of an op with several variadic operands."""
    return DenseArrayBase.from_list(i32, sizes)


class Emitter:
    """Adds ops at an insertion point, which moves into loop bodies."""

    def __init__(self, point: InsertPoint, sizes: Sizes | None = None):
        self.builder = Builder(point)
        self.sizes = sizes
        self.origin: LocationAttr = UNKNOWN_LOCATION
        self.copies = 1
        """The number of copies of each added op that the unrolled loops around it make."""

    def add(self, op: Operation) -> Operation:
        locate(op, self.origin)
        return self.builder.insert(op)

    @contextmanager
    def located_at(self, pattern: Pattern) -> Generator[None]:
        """Give ops that are added in the context the location of a pattern."""
        outer, self.origin = self.origin, origin_of(pattern)
        try:
            yield
        finally:
            self.origin = outer

    @contextmanager
    def inside_block(self, block: Block) -> Generator[None]:
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
        """Emit `for i = 0 to length`, which carries values from `inits`; return the final ones."""
        if length == Nat.const(0) and not kind.is_gpu:
            return inits
        if kind is LoopKind.UNROLLED and self.can_unroll(length):
            return self._unroll(length.constant, inits, body)
        if kind is LoopKind.PARALLEL or kind.is_gpu:
            return self._build_parallel(length, dialect, kind, self._build_body(inits, body)[0])
        if dialect == "scf":
            return self.range_loop(*self._bounds(length), inits, body)
        block, results = self._build_body(inits, body)
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

    def can_unroll(self, length: Nat) -> bool:
        """Whether a loop of this length is short enough to be unrolled here."""
        return length.is_constant and length.constant <= MAX_UNROLLED_COPIES // self.copies

    def _unroll(
        self, count: int, carried: Sequence[SSAValue], body: LoopBody
    ) -> Sequence[SSAValue]:
        self.copies *= max(count, 1)
        for number in range(count):
            carried = body(self.constant(number), carried)
        self.copies //= max(count, 1)
        return carried

    def _build_body(
        self, inits: Sequence[SSAValue], body: LoopBody
    ) -> tuple[Block, Sequence[SSAValue]]:
        """Return the block of a loop without its terminator, and the values that it yields."""
        block = Block(arg_types=[INDEX, *(init.type for init in inits)])
        block.args[0].name_hint = "i"
        with self.inside_block(block):
            return block, body(block.args[0], block.args[1:])

    def range_loop(
        self,
        start: SSAValue,
        end: SSAValue,
        step: SSAValue,
        inits: Sequence[SSAValue],
        body: LoopBody,
    ) -> Sequence[SSAValue]:
        """Emit `for i = start to end step step`, with bounds that are known only at run time."""
        block, results = self._build_body(inits, body)
        block.add_op(scf.YieldOp(*results))
        return self.add(scf.ForOp(start, end, step, inits, Region(block))).results

    def constant(self, number: int) -> SSAValue:
        return self.length_value(Nat.const(number))

    def while_loop(
        self, inits: Sequence[SSAValue], condition: Condition, body: WhileBody
    ) -> Sequence[SSAValue]:
        """Emit a while loop that carries values from `inits`; return the final ones."""
        types = [init.type for init in inits]
        condition_block, body_block = Block(arg_types=types), Block(arg_types=types)
        with self.inside_block(body_block):
            self.add(scf.YieldOp(*body(body_block.args)))
        # The condition is built last: only then is it known whether the loop contains checks.
        with self.inside_block(condition_block):
            self.add(scf.ConditionOp(condition(condition_block.args), *condition_block.args))
        return self.add(
            scf.WhileOp(inits, types, Region(condition_block), Region(body_block))
        ).results

    def length_value(self, length: Nat) -> SSAValue:
        """Return a length as a value."""
        if length.is_constant:
            return self.add(index_constant(length.constant)).results[0]
        assert self.sizes is not None, length
        return self.sizes.value(length)

    def _affine_bound(self, length: Nat) -> tuple[list[SSAValue], AffineMapAttr]:
        if length.is_constant:
            expression = AffineExpr.constant(length.constant)
            return [], AffineMapAttr(AffineMap(0, 0, (expression,)))
        return [self.length_value(length)], AffineMapAttr(AffineMap(0, 1, (AffineExpr.symbol(0),)))

    def _build_parallel(
        self, length: Nat, dialect: str, kind: LoopKind, block: Block
    ) -> Sequence[SSAValue]:
        if dialect == "affine":
            block.add_op(affine.YieldOp.get())
            operands, bound = self._affine_bound(length)
            upper = Bounds(bound.data, (1,), tuple(operands))
            self.add(ParallelOp.from_bounds(Bounds.constant(0), upper, Region(block)))
        else:
            block.add_op(scf.ReduceOp())
            lower, upper, step = self._bounds(length)
            op = self.add(scf.ParallelOp([lower], [upper], [step], Region(block)))
            if kind.is_gpu:
                op.attributes[GPU_MAPPING] = StringAttr(kind.value)
        return ()

    def _bounds(self, length: Nat) -> tuple[SSAValue, SSAValue, SSAValue]:
        return self.constant(0), self.length_value(length), self.constant(1)
