"""Builds the GPU version of a function of loops, for the sizes of a call.

The outermost loops with independent iterations become parallel loops, whose iterations are the
threads of a kernel; loops around these stay on the host, which launches the kernels. Sizes are
constants, so the kernels have constant numbers of threads: those of the box around the iterations.
A thread outside of the domain does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, func, memref, scf
from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp, i1
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.frontends.c.emit.isl_ast import PARALLEL_MARK
from riselang.frontends.c.gpu.folding import IndexBuilder, Range
from riselang.frontends.c.gpu.thread_code import ThreadCode, Values
from riselang.support.errors import LimitationError

COPIES = (4, 2)
"""Numbers of iterations that a thread may run at the same time, the best first."""
MIN_JAMMED_THREADS = 1 << 18
"""The fewest threads of a kernel whose threads run several iterations: fewer would leave parts of
the GPU idle."""
_PURE = ("arith.", "affine.apply", "math.")


@dataclass(frozen=True)
class GpuModule:
    """A module with the GPU version of a function."""

    module: ModuleOp
    kernels: int
    """The number of parallel loops."""


def build_gpu_module(
    function: func.FuncOp,
    shapes: Mapping[int, Sequence[int]],
    integers: Mapping[int, int],
) -> GpuModule:
    """Build a module for arguments with these shapes and values, by position.

    The new function omits integers, and takes buffers for results after its other parameters.
    """
    builder = _KernelBuilder(function, shapes, integers)
    return GpuModule(ModuleOp([builder.build()]), builder.count)


@dataclass(frozen=True)
class _Loop:
    """A parallel loop around a statement: its variable, its first value and its trip count."""

    op: affine.ForOp
    length: int
    is_exact: bool
    """Whether its bounds are constants."""


class _KernelBuilder(ThreadCode):
    def __init__(
        self,
        function: func.FuncOp,
        shapes: Mapping[int, Sequence[int]],
        integers: Mapping[int, int],
    ):
        self._function = function
        self._body = Block()
        self._index = IndexBuilder(Builder(InsertPoint.at_end(self._body)))
        self._values: Values = {}
        self.count = 0
        self._order: dict[SSAValue, int] = {
            op.memref: number
            for number, op in enumerate(function.body.block.ops)
            if isinstance(op, memref.AllocaOp) and _is_scalar(op.memref)
        }
        """The local scalars of the function, numbered."""
        for position, argument in enumerate(function.body.block.args):
            if position in integers:
                self._values[argument] = self._index.constant(integers[position], argument.type)
                continue
            type = argument.type
            if isinstance(type, MemRefType):
                type = MemRefType(type.element_type, shapes[position])
            new = self._body.insert_arg(type, len(self._body.args))
            new.name_hint = argument.name_hint
            self._values[argument] = new

    def build(self) -> func.FuncOp:
        self._host_ops(list(self._function.body.block.ops), self._index, self._values, [])
        self._index.insert(func.ReturnOp())
        types = [argument.type for argument in self._body.args]
        name = self._function.sym_name.data
        result = func.FuncOp(name, FunctionType.from_lists(types, []), Region(self._body))
        result.location = self._function.location
        return result

    # The host

    def _host_ops(
        self, ops: Sequence[Operation], index: IndexBuilder, values: Values, guards: list[SSAValue]
    ) -> None:
        run: list[Operation] = []
        for op in ops:
            if isinstance(op, affine.YieldOp | scf.YieldOp | memref.DeallocOp):
                continue
            if isinstance(op, func.ReturnOp):
                self._flush(run, index, values, guards)
                self._store_results(op, index, values)
            elif isinstance(op, affine.ForOp) and _is_parallel(op):
                self._flush(run, index, values, guards)
                self._nest([], op, index, values, guards)
            elif isinstance(op, affine.ForOp) and _has_parallel(op) and not op.inits:
                self._flush(run, index, values, guards)
                self._host_loop(op, index, values, guards)
            elif isinstance(op, affine.IfOp) and _has_parallel(op) and not op.results:
                self._flush(run, index, values, guards)
                self._host_if(op, index, values, guards)
            else:
                run.append(op)
        self._flush(run, index, values, guards)

    def _flush(
        self, run: list[Operation], index: IndexBuilder, values: Values, guards: list[SSAValue]
    ) -> None:
        """Copy consecutive ops, which one thread runs; values of index arithmetic may be used
        later."""
        effects = [op for op in run if not _is_pure(op)]
        ops = list(run)
        run.clear()
        if not guards or not effects:
            for op in ops:
                self.copy(op, index, values)
            return
        first = ops.index(effects[0])
        for op in ops[:first]:
            self.copy(op, index, values)

        def emit(inner: IndexBuilder) -> None:
            own_values = dict(values)
            for op in ops[first:]:
                self.copy(op, inner, own_values)

        self._guarded(guards, index, emit)

    def _store_results(self, op: func.ReturnOp, index: IndexBuilder, values: Values) -> None:
        for value in op.arguments:
            new = values[value]
            buffer = self._body.insert_arg(MemRefType(new.type, [1]), len(self._body.args))
            index.insert(memref.StoreOp.get(new, buffer, [index.constant(0)]))

    def _host_loop(
        self, op: affine.ForOp, index: IndexBuilder, values: Values, guards: list[SSAValue]
    ) -> None:
        loop = self._loop(op, index, values)
        body = Block(arg_types=[index.constant(0).type])
        counter = body.args[0]
        inner = index.at(Builder(InsertPoint.at_end(body)))
        inner.ranges[counter] = (0, max(loop.length - 1, 0))
        own_values = dict(values)
        own_guards = self._enter(loop, counter, inner, own_values)
        self._host_ops(list(op.body.block.ops), inner, own_values, [*guards, *own_guards])
        inner.insert(scf.YieldOp())
        bounds = [index.constant(number) for number in (0, loop.length, 1)]
        index.insert(scf.ForOp(bounds[0], bounds[1], bounds[2], [], Region(body)))

    def _host_if(
        self, op: affine.IfOp, index: IndexBuilder, values: Values, guards: list[SSAValue]
    ) -> None:
        condition = self.condition(op, index, values)
        self._host_ops(list(op.then_region.block.ops), index, values, [*guards, condition])
        if op.else_region.blocks:
            opposite = index.binary(arith.XOrIOp, condition, index.constant(1, i1))
            self._host_ops(list(op.else_region.block.ops), index, values, [*guards, opposite])

    # Kernels

    def _nest(
        self,
        outer: list[_Loop],
        op: affine.ForOp,
        index: IndexBuilder,
        values: Values,
        guards: list[SSAValue],
    ) -> None:
        """Emit a parallel loop, with the parallel loops that are directly inside of it.

        Statements in the same parallel loop may be in separate kernels, since no iteration depends
        on another one.
        """
        probe = self._probe(outer, index, values)
        loops = [*outer, self._loop(op, probe[0], probe[1])]
        groups = _groups(op.body.block)
        written = [set(self._written_scalars(group)) for group in groups]
        if len(groups) > 1 and any(written):
            # The statements of an iteration share its scalars.
            groups = [[inner for group in groups for inner in group]]
        for group in groups:
            inner = group[-1]
            if isinstance(inner, affine.ForOp) and _is_parallel(inner) and len(group) == 1:
                self._nest(loops, inner, index, values, guards)
            else:
                self._kernel(loops, group, index, values, guards)

    def _probe(
        self, loops: Sequence[_Loop], index: IndexBuilder, values: Values
    ) -> tuple[IndexBuilder, Values]:
        """Return a builder that knows the ranges of the variables of loops; what it emits is not
        used."""
        scratch = index.at(Builder(InsertPoint.at_end(Block())))
        known = dict(values)
        for loop in loops:
            counter = Block(arg_types=[loop.op.body.block.args[0].type]).args[0]
            scratch.ranges[counter] = (0, max(loop.length - 1, 0))
            self._enter(loop, counter, scratch, known)
        return scratch, known

    def _kernel(
        self,
        loops: Sequence[_Loop],
        ops: Sequence[Operation],
        index: IndexBuilder,
        values: Values,
        guards: list[SSAValue],
    ) -> None:
        """Emit a kernel with a thread for each iteration of some loops."""
        ordered = _thread_order(loops, ops)
        copies = _copies_per_thread(ordered, ops)
        if copies > 1:
            ordered[0] = replace(ordered[0], length=ordered[0].length // copies)
        total = prod(loop.length for loop in ordered)
        if total == 0:
            return
        self.count += 1
        body = Block(arg_types=[loops[0].op.body.block.args[0].type])
        inner = index.at(Builder(InsertPoint.at_end(body)))
        inner.ranges[body.args[0]] = (0, total - 1)
        counters = _split_counter(body.args[0], ordered, inner)
        scalars = self._written_scalars(ops)
        own_guards, all_values = list(guards), list[Values]()
        for number in range(copies):
            own_values = dict(values)
            for scalar in scalars:
                own_values[scalar] = inner.insert(_new_scalar(scalar)).results[0]
            for loop in loops:
                counter = counters[loop.op]
                if copies > 1 and loop.op is ordered[0].op:
                    counter = _nth_counter(counter, number, copies, inner)
                own_guards += self._enter(loop, counter, inner, own_values)
            all_values.append(own_values)
        self._guarded(own_guards, inner, lambda at: self.copy_jammed(ops, at, all_values))
        inner.insert(scf.ReduceOp())
        bounds = [index.constant(number) for number in (0, total, 1)]
        parallel = scf.ParallelOp([bounds[0]], [bounds[1]], [bounds[2]], Region(body))
        parallel.location = loops[0].op.location
        index.insert(parallel)

    def _written_scalars(self, ops: Sequence[Operation]) -> list[SSAValue]:
        """Return the local scalars that some ops write: each iteration has its own
        (`PrivatizingLoopMarker`)."""
        targets = {
            inner.memref
            for op in ops
            for inner in op.walk()
            if isinstance(inner, affine.StoreOp | memref.StoreOp)
        }
        return [
            target
            for target in sorted(targets, key=lambda each: self._order.get(each, -1))
            if target in self._order
        ]

    def _guarded(
        self,
        guards: Sequence[SSAValue],
        index: IndexBuilder,
        emit: Callable[[IndexBuilder], None],
    ) -> None:
        """Emit code that runs if all guards are true."""
        if not guards:
            emit(index)
            return
        condition = guards[0]
        for guard in guards[1:]:
            condition = index.binary(arith.AndIOp, condition, guard)
        then = Block()
        emit(index.at(Builder(InsertPoint.at_end(then))))
        then.add_op(scf.YieldOp())
        index.insert(scf.IfOp(condition, [], Region(then)))

    # Loops

    def _loop(self, op: affine.ForOp, index: IndexBuilder, values: Values) -> _Loop:
        """Return the trip count of a loop, at most."""
        step = op.step.value.data
        lower = self._bound_range(op, index, values, is_lower=True)
        upper = self._bound_range(op, index, values, is_lower=False)
        length = max(0, -((lower[0] - upper[1]) // step))
        is_exact = lower[0] == lower[1] and upper[0] == upper[1]
        return _Loop(op, length, is_exact)

    def _bound_range(
        self, op: affine.ForOp, index: IndexBuilder, values: Values, *, is_lower: bool
    ) -> Range:
        attribute = op.lowerBoundMap if is_lower else op.upperBoundMap
        operands = op.lowerBoundOperands if is_lower else op.upperBoundOperands
        map = attribute.data
        known = [values[each] for each in operands]
        ranges = [index.value_range(each, map, known) for each in map.results]
        if any(each is None for each in ranges):
            raise LimitationError(
                "the bounds of a loop depend on values that are not known at the call, so it "
                "cannot run on a GPU"
            )
        found = cast(list[Range], ranges)
        tightest = max if is_lower else min
        return tightest(each[0] for each in found), tightest(each[1] for each in found)

    def _enter(
        self, loop: _Loop, counter: SSAValue, index: IndexBuilder, values: Values
    ) -> list[SSAValue]:
        """Compute the variable of a loop from a counter; return the conditions of its bounds."""
        op, step = loop.op, loop.op.step.value.data
        lower = self.bound(op, index, values, is_lower=True)
        scaled = counter
        if step != 1:
            scaled = index.binary(arith.MuliOp, counter, index.constant(step))
        variable = scaled
        if index.known.get(lower) != 0:
            variable = index.binary(arith.AddiOp, scaled, lower)
        first, last = index.range_of(lower) or self._bound_range(op, index, values, is_lower=True)
        index.ranges[variable] = (first, last + max(loop.length - 1, 0) * step)
        if not loop.is_exact:
            upper_range = self._bound_range(op, index, values, is_lower=False)
            largest = max(first, min(index.ranges[variable][1], upper_range[1] - 1))
            index.ranges[variable] = (first, largest)
        values[op.body.block.args[0]] = variable
        if loop.is_exact:
            return []
        upper = self.bound(op, index, values, is_lower=False)
        return [index.compare(variable, upper, "slt")]


def _is_scalar(buffer: SSAValue) -> bool:
    return isinstance(buffer.type, MemRefType) and buffer.type.get_num_dims() == 0


def _new_scalar(buffer: SSAValue) -> memref.AllocaOp:
    assert isinstance(buffer.type, MemRefType)
    return memref.AllocaOp.get(buffer.type.element_type, 64, [])


def _is_parallel(op: affine.ForOp) -> bool:
    return PARALLEL_MARK in op.attributes and not op.inits


def _has_parallel(op: Operation) -> bool:
    return any(isinstance(inner, affine.ForOp) and _is_parallel(inner) for inner in op.walk())


def _is_pure(op: Operation) -> bool:
    return op.name.startswith(_PURE) or isinstance(op, memref.AllocaOp | memref.AllocOp)


def _groups(block: Block) -> list[list[Operation]]:
    """Split the body of a parallel loop at its loops; a single group if values are shared."""
    ops = [op for op in block.ops if not isinstance(op, affine.YieldOp)]
    if not any(_has_parallel(op) for op in ops):
        return [ops]
    groups: list[list[Operation]] = []
    for op in ops:
        if op.regions or not groups or groups[-1][-1].regions:
            groups.append([])
        groups[-1].append(op)
    owner = {op: number for number, group in enumerate(groups) for op in group}
    for op in ops:
        for result in op.results:
            for use in result.uses:
                top = _ancestor_in(use.operation, block)
                if top in owner and owner[top] != owner[op]:
                    return [ops]
    return groups


def _ancestor_in(op: Operation, block: Block) -> Operation:
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _thread_order(loops: Sequence[_Loop], ops: Sequence[Operation]) -> list[_Loop]:
    """Return the loops with the one last whose iterations access consecutive elements."""
    if not all(loop.is_exact for loop in loops):
        return list(loops)

    def adjacency(loop: _Loop) -> int:
        variable = loop.op.body.block.args[0]
        return sum(
            _is_last_subscript(inner, variable)
            for op in ops
            for inner in op.walk()
            if isinstance(inner, affine.LoadOp | affine.StoreOp)
        )

    best = max(loops, key=adjacency)
    if adjacency(best) <= adjacency(loops[-1]):
        return list(loops)
    return [*(loop for loop in loops if loop is not best), best]


def _is_last_subscript(op: affine.LoadOp | affine.StoreOp, variable: BlockArgument) -> bool:
    results = op.map.data.results
    if not results:
        return False
    used = {
        operand
        for position, operand in enumerate(op.indices)
        if position in results[-1].used_dims()
    }
    return variable in used


def _copies_per_thread(loops: Sequence[_Loop], ops: Sequence[Operation]) -> int:
    """Return the number of iterations of the first loop that a thread runs at the same time.

    Statements in sequential loops read the same elements for neighboring iterations; a thread that
    runs several of them loads these once.
    """
    if len(loops) < 2 or not all(loop.is_exact for loop in loops):
        return 1
    variable = loops[0].op.body.block.args[0]
    if not any(isinstance(op, affine.ForOp) for op in ops) or not all(
        _can_jam(inner, variable) for op in ops for inner in op.walk()
    ):
        return 1
    total = prod(loop.length for loop in loops)
    for copies in COPIES:
        if loops[0].length % copies == 0 and total // copies >= MIN_JAMMED_THREADS:
            return copies
    return 1


def _can_jam(op: Operation, variable: BlockArgument) -> bool:
    """Whether control flow does not depend on the variable of a loop."""
    if isinstance(op, affine.ForOp):
        return not op.inits and variable not in op.operands
    return not op.regions and not isinstance(op, affine.ApplyOp)


def _nth_counter(counter: SSAValue, number: int, copies: int, index: IndexBuilder) -> SSAValue:
    """Return the counter of one of the iterations that a thread runs."""
    first, last = index.ranges[counter]
    scaled = index.binary(arith.MuliOp, counter, index.constant(copies))
    result = index.binary(arith.AddiOp, scaled, index.constant(number))
    index.ranges[result] = (first * copies + number, last * copies + number)
    return result


def _split_counter(
    counter: SSAValue, loops: Sequence[_Loop], index: IndexBuilder
) -> dict[affine.ForOp, SSAValue]:
    """Compute the counter of each loop from the number of a thread; the last varies fastest."""
    counters: dict[affine.ForOp, SSAValue] = {}
    rest = counter
    for position in range(len(loops) - 1, -1, -1):
        loop = loops[position]
        if position == 0:
            counters[loop.op] = rest
        else:
            length = index.constant(loop.length)
            counters[loop.op] = index.binary(arith.RemUIOp, rest, length)
            rest = index.binary(arith.DivUIOp, rest, length)
        index.ranges[counters[loop.op]] = (0, loop.length - 1)
    return counters
