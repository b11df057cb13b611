"""Pass `poll-signals`: makes long loops poll for signals, so that Ctrl-C interrupts them.

A function that may run long polls in its outermost loops with short iterations; the functions that
it calls are in `native/llvm/guard.ll`. Work is estimated in operations, before vectorization. A
loop of short iterations is split into chunks and polls before each chunk, so that LLVM can still
vectorize the inner loop. A parallel loop cannot be left early, so each iteration checks whether to
skip its work, and the function returns after the loop; functions that the iterations call do not
poll.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import affine, arith, func, memref, scf
from xdsl.dialects.builtin import (
    AffineMapAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from riselang import pipelines
from riselang.dialects.affine import ParallelOp
from riselang.dialects.constants import index_constant
from riselang.dialects.module import functions, walk
from riselang.lowering.typical_values import TypicalValues
from riselang.support.recursion import with_deep_stack

MIN_POLLED_WORK = 1 << 28
"""The number of operations that take a tenth of a second or more."""
CHUNK_WORK = 1 << 20
"""The number of operations between two polls of a loop that is split into chunks."""
MIN_WORK_PER_POLL = 1 << 10
"""The number of operations for which the cost of a poll, some nanoseconds, is negligible."""
FORK_JOIN_COST = 1 << 14
"""The cost of starting and joining the threads of a parallel loop, in operations."""
ITERATIONS_PER_POLL = 1 << 12
"""The number of iterations between two polls of a `while` loop."""
POLL, POLL_PARALLEL, STOP = "rise_poll", "rise_poll_parallel", "rise_stop"
"""The names of the functions in `native/llvm/guard.ll`."""
POLL_FUNCTION_TYPES: Mapping[str, tuple[list[Attribute], list[Attribute]]] = {
    POLL: ([i64], []),
    POLL_PARALLEL: ([i64, i64], [i1]),
    STOP: ([i64], []),
}

Sequential = affine.ForOp | scf.ForOp
SINGLE_THREADED_OPS = (affine.ForOp, affine.IfOp, scf.ForOp, scf.IfOp, scf.WhileOp, func.FuncOp)
"""Ops whose regions run in the current thread."""
Parallel = ParallelOp | scf.ParallelOp


@dataclass(frozen=True)
class PollSignalsPass(ModulePass):
    """Makes long loops poll for signals."""

    name = "poll-signals"

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        poll_signals(op)


def poll_signals(module: ModuleOp) -> None:
    """Insert polls into the long loops of a module."""
    poll_functions: set[str] = set()
    min_work: dict[str, Work] = {}
    max_work: dict[str, Work] = {}
    for function in _callees_first(module):
        name = function.sym_name.data
        min_work[name] = Work(function, LOWER_GUESS, min_work)
        max_work[name] = Work(function, UPPER_GUESS, max_work)
    shared = _functions_called_in_parallel(module)
    for function in functions(module):
        name = function.sym_name.data
        if name not in shared and pipelines.PLANNED_PASSES not in function.attributes:
            poll_functions |= _PollInserter(min_work[name], max_work[name]).insert(function)
    declared = {each.sym_name.data for each in module.ops if isinstance(each, func.FuncOp)}
    for name in sorted(poll_functions - declared):
        module.body.block.add_op(func.FuncOp.external(name, *POLL_FUNCTION_TYPES[name]))


def _callees_first(module: ModuleOp) -> list[func.FuncOp]:
    """Return the functions with callees before callers; recursive ones are in any order."""
    by_name = {each.sym_name.data: each for each in functions(module)}
    order: dict[str, func.FuncOp] = {}
    stack = [(name, False) for name in reversed(by_name)]
    visited: set[str] = set()
    while stack:
        name, is_done = stack.pop()
        if is_done:
            order[name] = by_name[name]
        elif name in by_name and name not in visited:
            visited.add(name)
            stack.append((name, True))
            stack += [(callee, False) for callee in _callees(by_name[name])]
    return list(order.values())


def _callees(function: func.FuncOp) -> list[str]:
    return [_callee(op) for op in walk(function) if isinstance(op, func.CallOp)]


def _callee(call: func.CallOp) -> str:
    return call.callee.root_reference.data


def _functions_called_in_parallel(module: ModuleOp) -> set[str]:
    """Return the functions that may be called inside of an op that must not be left early."""
    by_name = {each.sym_name.data: each for each in functions(module)}
    calls = [op for op in walk(module) if isinstance(op, func.CallOp)]
    stack = [_callee(call) for call in calls if not _can_return_early(call)]
    names: set[str] = set()
    while stack:
        name = stack.pop()
        if name in by_name and name not in names:
            names.add(name)
            stack += _callees(by_name[name])
    return names


def _can_return_early(op: Operation) -> bool:
    """Whether all ops around an op, up to its function, run in one thread."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, func.FuncOp):
        if not isinstance(parent, SINGLE_THREADED_OPS):
            return False
        parent = parent.parent_op()
    return True


class TripCountGuess(NamedTuple):
    """Assumed trip counts of loops whose bounds are not known."""

    counted_loop: int
    """For other loops; the value of a size, if a bound is computed from sizes."""
    while_loop: int
    """For `while` loops."""


LOWER_GUESS, UPPER_GUESS = TripCountGuess(1 << 5, 1), TripCountGuess(1 << 10, MIN_POLLED_WORK)
"""The lower estimate determines how often a loop polls, the upper one whether it polls at all."""


class Work:
    """The number of operations of a function: in total, and per iteration of each loop."""

    def __init__(
        self, function: func.FuncOp, guess: TripCountGuess, callee_work: Mapping[str, Work]
    ):
        self.guess = guess
        # The length of a remainder is 0 for one of the two sizes, and not for the other.
        self.values = [TypicalValues(guess.counted_loop - less) for less in (0, 1)]
        self.iteration_work: Counter[Operation] = Counter()
        self.op_work: dict[Operation, int] = {}
        for op in reversed(list(walk(function))):
            self.op_work[op] = self._estimate(op, callee_work)
            parent = op.parent_op()
            if parent is not None and op is not function:
                self.iteration_work[parent] += self.op_work[op]
        self.total = self.iteration_work[function]

    def _estimate(self, op: Operation, callee_work: Mapping[str, Work]) -> int:
        if not op.regions and not isinstance(op, func.CallOp):
            return 1
        if isinstance(op, Sequential | Parallel | scf.WhileOp):
            start = FORK_JOIN_COST if isinstance(op, Parallel) else 0
            return start + self._trip_count(op) * max(1, self.iteration_work[op])
        if isinstance(op, func.CallOp):
            callee = callee_work.get(op.callee.root_reference.data)
            return 1 + (callee.total if callee is not None else 0)
        return 1 + self.iteration_work[op]

    def _trip_count(self, loop: Operation) -> int:
        """Return the trip count of a loop if it is known, else a guess."""
        if isinstance(loop, scf.WhileOp):
            return self.guess.while_loop
        counts = (
            prod(_count_steps(*each) or self.guess.counted_loop for each in values.ranges(loop))
            for values in self.values
        )
        return max(counts)


def _count_steps(lower: int | None, upper: int | None, step: int | None) -> int | None:
    if lower is None or upper is None or not step:
        return None
    return max(1, -(-(upper - lower) // step))


class _PollInserter:
    """Inserts the polls of one function."""

    def __init__(self, min_work: Work, max_work: Work):
        self.min_work = min_work
        self.max_work = max_work
        self.called_functions: set[str] = set()

    def insert(self, function: func.FuncOp) -> set[str]:
        """Insert all polls, and return the names of the functions that they call."""
        stack: list[Operation] = [function]
        while stack:
            op = stack.pop()
            if self.max_work.op_work[op] < MIN_POLLED_WORK:
                continue
            if isinstance(op, Parallel):
                self._poll_parallel_loop(op, function)
                continue
            if not isinstance(op, SINGLE_THREADED_OPS):
                continue
            if (
                not isinstance(op, Sequential | scf.WhileOp)
                or self.max_work.iteration_work[op] >= MIN_POLLED_WORK
            ):
                stack += [each for region in op.regions for b in region.blocks for each in b.ops]
            work = self.min_work.iteration_work[op]
            if isinstance(op, scf.WhileOp):
                self._poll_while_loop(op, work)
            elif isinstance(op, Sequential) and work >= MIN_WORK_PER_POLL:
                self._insert_poll(op.regions[0].blocks[0], work)
            elif isinstance(op, Sequential) and _can_split(op):
                self._insert_poll(_split_into_chunks(op, CHUNK_WORK // max(1, work)), CHUNK_WORK)
        return self.called_functions

    def _insert_poll(self, block: Block, work: int) -> None:
        builder = Builder(InsertPoint.at_start(block))
        self._insert_call(POLL, [_i64_constant(work, builder)], builder)

    def _poll_while_loop(self, loop: scf.WhileOp, work: int) -> None:
        """Make a loop count its iterations, and poll once every `ITERATIONS_PER_POLL` of them."""
        condition_block, body_block = (region.blocks[0] for region in loop.regions)
        builder = Builder(InsertPoint.before(loop))
        zero = _i64_constant(0, builder)
        counts = [each.insert_arg(i64, len(each.args)) for each in (condition_block, body_block)]
        condition, end = condition_block.last_op, body_block.last_op
        assert condition is not None
        assert end is not None
        condition.operands = [*condition.operands, counts[0]]
        body_builder = Builder(InsertPoint.at_start(body_block))
        next_count = body_builder.insert(
            arith.AddiOp(counts[1], _i64_constant(1, body_builder))
        ).results[0]
        remainder = body_builder.insert(
            arith.AndIOp(next_count, _i64_constant(ITERATIONS_PER_POLL - 1, body_builder))
        ).results[0]
        is_due = body_builder.insert(
            arith.CmpiOp(remainder, _i64_constant(0, body_builder), "eq")
        ).results[0]
        body = Block([scf.YieldOp()])
        self._insert_poll(body, ITERATIONS_PER_POLL * max(1, work))
        body_builder.insert(scf.IfOp(is_due, [], Region(body)))
        end.operands = [*end.operands, next_count]
        types = [*loop.result_types, i64]
        regions = [_move_to_new_region(region) for region in loop.regions]
        counting = builder.insert(scf.WhileOp([*loop.operands, zero], types, *regions))
        counting.location = loop.location
        for old, new in zip(loop.results, counting.results, strict=False):
            old.replace_all_uses_with(new)
        loop.detach()
        loop.erase()

    def _poll_parallel_loop(self, loop: Parallel, function: func.FuncOp) -> None:
        if loop.results or self.max_work.iteration_work[loop] < MIN_WORK_PER_POLL:
            return
        work = self.min_work.iteration_work[loop]
        # Anywhere else, LLVM would move the stack pointer, and keep a register for the stack frame.
        start = Builder(InsertPoint.at_start(function.body.blocks[0]))
        flag = start.insert(memref.AllocaOp.get(i8, None, [1])).results[0]
        outer_builder = Builder(InsertPoint.before(loop))
        zero = outer_builder.insert(index_constant(0)).results[0]
        unset = outer_builder.insert(arith.ConstantOp(IntegerAttr(0, i8))).results[0]
        outer_builder.insert(memref.StoreOp.get(unset, flag, [zero]))
        address = _buffer_address(flag, outer_builder)
        block = loop.regions[0].blocks[0]
        body = Block()
        *ops, end = list(block.ops)
        for op in ops:
            op.detach()
            body.add_op(op)
        body.add_op(scf.YieldOp())
        body_builder = Builder(InsertPoint.before(end))
        stops = self._insert_call(
            POLL_PARALLEL, [address, _i64_constant(work, body_builder)], body_builder
        )
        true = body_builder.insert(arith.ConstantOp(IntegerAttr(1, i1))).results[0]
        continues = body_builder.insert(arith.XOrIOp(stops.results[0], true)).results[0]
        body_builder.insert(scf.IfOp(continues, [], Region(body)))
        self._insert_call(STOP, [address], Builder(InsertPoint.after(loop)))

    def _insert_call(self, name: str, arguments: list[SSAValue], builder: Builder) -> func.CallOp:
        self.called_functions.add(name)
        return builder.insert(func.CallOp(name, arguments, POLL_FUNCTION_TYPES[name][1]))


def _i64_constant(number: int, builder: Builder) -> SSAValue:
    return builder.insert(arith.ConstantOp(IntegerAttr(number, i64))).results[0]


def _buffer_address(buffer: SSAValue, builder: Builder) -> SSAValue:
    assert isinstance(buffer.type, MemRefType)
    pointer = memref.ExtractAlignedPointerAsIndexOp.get(buffer)
    return builder.insert(arith.IndexCastOp(builder.insert(pointer).results[0], i64)).results[0]


def _can_split(loop: Sequential) -> bool:
    """Whether the bounds are constants, or the upper bound is a value."""
    if isinstance(loop, scf.ForOp):
        return True
    upper = loop.upperBoundMap.data
    return upper.num_dims == 0 and len(upper.results) == 1


def _split_into_chunks(loop: Sequential, chunk: int) -> Block:
    """Replace a loop by one over chunks of its iterations, and return the body of that loop."""
    inits = loop.iter_args if isinstance(loop, scf.ForOp) else loop.inits
    block = Block(arg_types=[IndexType(), *(init.type for init in inits)])
    body = loop.regions[0]
    if isinstance(loop, scf.ForOp):
        outer = _split_scf(loop, chunk, block, body)
    else:
        outer = _split_affine(loop, chunk, block, body)
    for old, new in zip(loop.results, outer.results, strict=True):
        old.replace_all_uses_with(new)
    loop.detach()
    loop.erase()
    return block


def _split_scf(loop: scf.ForOp, chunk: int, block: Block, body: Region) -> Operation:
    outer_builder = Builder(InsertPoint.before(loop))
    count = outer_builder.insert(index_constant(chunk)).results[0]
    step = outer_builder.insert(arith.MuliOp(loop.step, count)).results[0]
    lower, upper, single = loop.lb, loop.ub, loop.step
    outer = outer_builder.insert(scf.ForOp(lower, upper, step, list(loop.iter_args), Region(block)))
    outer.location = loop.location
    start, *carried = block.args
    body_builder = Builder(InsertPoint.at_end(block))
    next_start = body_builder.insert(arith.AddiOp(start, step)).results[0]
    end = body_builder.insert(arith.MinSIOp(next_start, upper)).results[0]
    inner = body_builder.insert(scf.ForOp(start, end, single, carried, _move_to_new_region(body)))
    inner.location = loop.location
    body_builder.insert(scf.YieldOp(*inner.results))
    return outer


def _split_affine(loop: affine.ForOp, chunk: int, block: Block, body: Region) -> Operation:
    step = loop.step.value.data
    types = [init.type for init in loop.inits]
    upper = loop.upperBoundMap.data
    outer = affine.ForOp.from_region(
        loop.lowerBoundOperands, loop.upperBoundOperands, loop.inits, types,
        loop.lowerBoundMap, loop.upperBoundMap, Region(block), step * chunk,
    )  # fmt: skip
    outer.location = loop.location
    Builder(InsertPoint.before(loop)).insert(outer)
    start, *carried = block.args
    first = AffineExpr.dimension(0)
    end = AffineMap(1, upper.num_symbols, (first + step * chunk, *upper.results))
    body_builder = Builder(InsertPoint.at_end(block))
    inner = affine.ForOp.from_region(
        [start], [start, *loop.upperBoundOperands], carried, types,
        AffineMapAttr(AffineMap(1, 0, (first,))), AffineMapAttr(end), _move_to_new_region(body),
        step,
    )  # fmt: skip
    inner.location = loop.location
    body_builder.insert(inner)
    body_builder.insert(affine.YieldOp.get(*inner.results))
    return outer


def _move_to_new_region(body: Region) -> Region:
    """Move the blocks of a region to a new one."""
    result = Region()
    body.move_blocks(result)
    return result
