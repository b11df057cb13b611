"""Pass `skip-unchanged-chunks`: skips the chunks of a loop in which no iteration changes a value.

The loop of a reduction such as argmax carries values that few iterations change: those that find a
new record. Each iteration needs the result of the previous one, so the loop cannot be vectorized.
This pass splits the loop into chunks. A first loop computes whether any iteration of the chunk
would change the values that the chunk starts with; it carries only a Boolean, so LLVM vectorizes
it. If there is no such iteration, the chunk is skipped; otherwise, it runs as before. The results
are therefore the same for every comparison, and for every order of the elements, NaN included.

If the comparison orders numbers, the last change in a chunk is found without running its
iterations: numbers become integer keys in the same order, and two more loops, which are vectorized
too, compute the best key and the first iteration with this key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import affine, arith, func, scf
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    i1,
    i32,
)
from xdsl.ir import Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.ir.affine import AffineConstantExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from riselang import pipelines
from riselang.dialects.module import functions, walk
from riselang.lowering.loop_emitter import Emitter, LoopBody
from riselang.lowering.running_records import Record, ops_for, rare_changes, record_of
from riselang.lowering.scf_loops import can_convert, convert_to_scf
from riselang.lowering.sorting.ordered_bits import OrderedBits
from riselang.support.recursion import with_deep_stack

MIN_LENGTH = 128
"""Loops with fewer iterations are not split."""
CHUNK_LENGTH, ORDERED_CHUNK_LENGTH = 64, 256
"""The number of iterations of a chunk that runs as before if a value changes, and of one in which
the last change is found by vectorized loops."""
MAX_OFFSET = (1 << 31) - 1
"""No iteration of a chunk has this offset."""

Loop = affine.ForOp | scf.ForOp


@dataclass(frozen=True)
class SkipUnchangedChunksPass(ModulePass):
    """Skips the chunks of a loop in which no iteration changes the values that it carries."""

    name = "skip-unchanged-chunks"

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        skip_unchanged_chunks(op)


def skip_unchanged_chunks(module: ModuleOp) -> None:
    """Split every loop of a module whose iterations rarely change the values that it carries."""
    for function in functions(module):
        if pipelines.PLANNED_PASSES not in function.attributes:
            _split_loops(function)


def _split_loops(function: func.FuncOp) -> None:
    for op in list(walk(function)):
        if isinstance(op, Loop) and _can_split(op) and rare_changes(op):
            loop = op if isinstance(op, scf.ForOp) else convert_to_scf(op)
            _Splitter(loop).split()


def _can_split(loop: Loop) -> bool:
    """Whether a loop counts from zero by one, to a sufficiently large or unknown number."""
    if isinstance(loop, scf.ForOp):
        start, end, step = (_constant(each) for each in (loop.lb, loop.ub, loop.step))
    else:
        if not can_convert(loop):
            return False
        start, end = (_map_constant(each.data) for each in (loop.lowerBoundMap, loop.upperBoundMap))
        step = loop.step.value.data
    return (start, step) == (0, 1) and (end is None or end >= MIN_LENGTH)


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def _map_constant(map: AffineMap) -> int | None:
    result = map.results[0]
    return result.value if isinstance(result, AffineConstantExpr) else None


# How a loop is split


class _Splitter:
    """Replaces a loop with one over chunks, and code for the remaining iterations."""

    def __init__(self, loop: scf.ForOp):
        self.loop = loop
        self.block = loop.body.block
        self.changes = rare_changes(loop)
        self.record = record_of(self.changes)
        self.emitter = Emitter(InsertPoint.before(loop))
        self.emitter.origin = loop.location

    def split(self) -> None:
        size = CHUNK_LENGTH if self.record is None else ORDERED_CHUNK_LENGTH
        step, length = self.emitter.constant(size), self.loop.ub
        remainder = self.add(arith.RemSIOp(length, step))
        full = self.add(arith.SubiOp(length, remainder))

        def body(start: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self.run_chunk(start, self.add(arith.AddiOp(start, step)), carried)

        results = self.emitter.range_loop(self.loop.lb, full, step, self.loop.iter_args, body)
        results = self.run_chunk(full, length, results)
        for old, new in zip(self.loop.results, results, strict=True):
            old.replace_all_uses_with(new)
        self.loop.detach()
        self.loop.erase()

    def run_chunk(
        self, start: SSAValue, end: SSAValue, carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Run the iterations of a chunk, unless they do not change the carried values."""
        run = self.run_iterations if self.record is None else self.run_last_change
        blocks = [Block(), Block()]
        with self.emitter.inside_block(blocks[0]):
            self.emitter.add(scf.YieldOp(*run(start, end, carried)))
        with self.emitter.inside_block(blocks[1]):
            self.emitter.add(scf.YieldOp(*carried))
        changes = self.any_change(start, end, carried)
        types = [each.type for each in carried]
        choice = scf.IfOp(changes, types, Region(blocks[0]), Region(blocks[1]))
        return self.emitter.add(choice).results

    def any_change(self, start: SSAValue, end: SSAValue, carried: Sequence[SSAValue]) -> SSAValue:
        """Emit a loop that computes whether an iteration changes the given values."""
        conditions = list(dict.fromkeys((each.condition, each.is_negated) for each in self.changes))

        def body(index: SSAValue, flags: Sequence[SSAValue]) -> Sequence[SSAValue]:
            values = self.compute([each for each, _ in conditions], index, carried)
            flag = flags[0]
            for value, (_, is_negated) in zip(values, conditions, strict=True):
                if is_negated:
                    value = self.add(arith.XOrIOp(value, self.integer(1, i1)))
                flag = self.add(arith.OrIOp(flag, value))
            return [flag]

        return self.reduce(start, end, self.integer(0, i1), body)

    def run_iterations(
        self, start: SSAValue, end: SSAValue, carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        return self.emitter.range_loop(start, end, self.loop.step, carried, self.run_iteration)

    def run_iteration(self, index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        end = self.block.last_op
        assert end is not None
        return self.compute(end.operands, index, carried)

    def run_last_change(
        self, start: SSAValue, end: SSAValue, carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Run only the iteration whose new values are the final ones of a chunk."""
        assert self.record is not None
        record, keys = self.record, _Keys(self.record, self.emitter)

        def best(index: SSAValue, best_keys: Sequence[SSAValue]) -> Sequence[SSAValue]:
            key = keys.emit(*self.compute([record.number], index, carried))
            return [self.add(keys.better(best_keys[0], key))]

        best_key = self.reduce(start, end, self.integer(keys.worst, keys.type), best)
        no_index = self.integer(-1 if record.prefers_last else MAX_OFFSET, i32)
        nearest = arith.MaxSIOp if record.prefers_last else arith.MinSIOp

        def nearest_offset(index: SSAValue, offsets: Sequence[SSAValue]) -> Sequence[SSAValue]:
            key = keys.emit(*self.compute([record.number], index, carried))
            is_best = self.add(arith.CmpiOp(key, best_key, "eq"))
            offset = self.add(arith.SubiOp(index, start))
            offset = self.add(arith.IndexCastOp(offset, i32))
            offset = self.add(arith.SelectOp(is_best, offset, no_index))
            return [self.add(nearest(offsets[0], offset))]

        offset = self.reduce(start, end, no_index, nearest_offset)
        offset = self.add(arith.IndexCastOp(offset, IndexType()))
        return self.run_iteration(self.add(arith.AddiOp(start, offset)), carried)

    # Code

    def reduce(self, start: SSAValue, end: SSAValue, init: SSAValue, body: LoopBody) -> SSAValue:
        return self.emitter.range_loop(start, end, self.loop.step, [init], body)[0]

    def compute(
        self, values: Sequence[SSAValue], index: SSAValue, carried: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """Emit what an iteration computes, given its index and the carried values."""
        copies: dict[SSAValue, SSAValue] = {}
        copies |= dict(zip(self.block.args, (index, *carried), strict=True))
        for op in ops_for(values, self.block):
            self.emitter.add(op.clone(copies))
        return [copies.get(value, value) for value in values]

    def add(self, op: Operation) -> SSAValue:
        return self.emitter.add(op).results[0]

    def integer(self, number: int, type: IntegerType) -> SSAValue:
        return self.add(arith.ConstantOp(IntegerAttr(number, type)))


class _Keys:
    """Integer keys in the order of a record."""

    def __init__(self, record: Record, emitter: Emitter):
        self.record, self.emitter = record, emitter
        type = record.number.type
        assert isinstance(type, TypeAttribute)
        self.order = OrderedBits(type, descending=False, unsigned=record.unsigned)
        self.type = self.order.key
        self.better = arith.MaxSIOp if record.prefers_greater else arith.MinSIOp
        half = 1 << (self.type.bitwidth - 1)
        self.least, self.greatest = -half, half - 1

    @property
    def worst(self) -> int:
        return self.least if self.record.prefers_greater else self.greatest

    def emit(self, number: SSAValue) -> SSAValue:
        """Emit the key of a number; -0.0 has the key of 0.0, and NaN an extreme one."""
        if not isinstance(number.type, AnyFloat):
            return self.order.emit_key(self.emitter, number)
        zero = self.add(arith.ConstantOp(FloatAttr(0.0, number.type)))
        key = self.order.emit_key(self.emitter, self.add(arith.AddfOp(number, zero)))
        is_great = self.record.prefers_greater == self.record.prefers_nan
        extreme = IntegerAttr(self.greatest if is_great else self.least, self.type)
        is_nan = self.add(arith.CmpfOp(number, number, "uno"))
        return self.add(arith.SelectOp(is_nan, self.add(arith.ConstantOp(extreme)), key))

    def add(self, op: Operation) -> SSAValue:
        return self.emitter.add(op).results[0]
