"""A lower bound on the floating-point operations of loops, whatever LLVM makes of them.

`loop_work` estimates the work of loops. A bound must not count what LLVM may save: it moves what
does not change out of a loop, and in code that it unrolls, it computes equal values once. So loops
are executed on names of values instead of values, and operations on the same values count once.
Short loops, which LLVM may unroll, are executed whole. Of long ones, two iterations are executed:
what is new in the second is new in those that follow. Operations on constants do not count, nor do
those in a branch.

Only f32 and f64 count, the latter twice, since a vector holds half as many: for other types, there
are instructions that perform more operations.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from xdsl.dialects import affine, arith, func, memref, scf
from xdsl.dialects.builtin import (
    AffineMapAttr,
    Float32Type,
    Float64Type,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.traits import IsTerminator

from riselang.lowering.loop_counts import has_known_trip_count, loop_ranges, trip_count

SHORT_LOOP = 256
"""The iterations of a loop, with those of loops in it, that LLVM may unroll."""
MAX_STEPS = 40_000
"""The number of ops to execute: programs that need more have no bound."""
OPERATIONS = {
    **dict.fromkeys(("arith.addf", "arith.subf", "arith.mulf", "arith.divf"), 1),
    **dict.fromkeys(("math.sqrt", "math.exp", "math.log", "math.sin", "math.cos"), 1),
    "math.fma": 2, "vector.fma": 2,
}  # fmt: skip
"""The operations of each lane. A call of the math library counts as one."""
FLOAT_SIZES: dict[type[Attribute], int] = {Float32Type: 1, Float64Type: 2}
"""How many times the space of an f32 in a vector a float takes."""
LOADS = ("affine.load", "affine.vector_load")
STORES = ("affine.store", "affine.vector_store")
FOR_LOOPS = affine.ForOp | affine.ParallelOp | scf.ForOp | scf.ParallelOp

Name = Any
"""An integer if it is known, as those of loop counters; otherwise what computes the value."""


class _NoBoundError(Exception):
    """The operations of the program cannot be bounded."""


def least_operations(module: ModuleOp, name: str) -> int:
    """Return how many operations on f32, or the equivalent, a call to a function performs at least.

    The module is at the affine stage. The result is 0 if there is no bound.
    """
    functions = (op for op in module.ops if isinstance(op, func.FuncOp))
    function = next(op for op in functions if op.sym_name.data == name)
    try:
        return _Executor().run(function.body.block)
    except _NoBoundError:
        return 0


@dataclass
class _Executor:
    """Executes loops on names of values, and counts operations on the same values once."""

    names: dict[SSAValue, Name] = field(default_factory=dict[SSAValue, Name])
    numbers: dict[Name, int] = field(default_factory=dict[Name, int])
    """A number for each operation that was executed, by its op and its operands."""
    memory: dict[Name, Name] = field(default_factory=dict[Name, Name])
    """What was stored last at each address."""
    steps: int = 0

    def run(self, block: Block) -> int:
        """Return how many operations a block performs that were not performed before."""
        count = 0
        for op in block.ops:
            count += self._run_op(op)
        return count

    def _run_op(self, op: Operation) -> int:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise _NoBoundError
        if isinstance(op, FOR_LOOPS):
            return self._run_loop(op)
        if op.regions:
            self._forget_stores(op)
            self._name_results(op, ("branch", self._number((self.steps,))))
        elif op.name in STORES:
            value, buffer, *indices = op.operands
            self.memory[self._address(op, buffer, indices)] = self._name(value)
        elif op.name in LOADS:
            buffer, *indices = op.operands
            address = self._address(op, buffer, indices)
            self.names[op.results[0]] = self.memory.get(address, address)
        elif not op.has_trait(IsTerminator):
            return self._run_operation(op)
        return 0

    def _run_operation(self, op: Operation) -> int:
        operands = [self._name(operand) for operand in op.operands]
        if isinstance(op, arith.ConstantOp):
            value = op.value
            is_integer = isinstance(value, IntegerAttr)
            self.names[op.result] = value.value.data if is_integer else ("constant", str(value))
            return 0
        if isinstance(op, affine.ApplyOp):
            (self.names[op.result],) = _apply(op.map.data, operands)
            return 0
        if isinstance(op, memref.AllocOp | memref.AllocaOp):
            self.names[op.results[0]] = ("buffer", id(op))
            return 0
        constants = [_is_constant(operand) for operand in operands]
        if operands and all(constants):
            self._name_results(op, ("constant", self._number((op.name, *operands))))
            return 0
        # The order of operands is ignored: LLVM knows which operations commute.
        attributes = tuple((key, str(value)) for key, value in op.properties.items())
        known = len(self.numbers)
        number = self._number((op.name, attributes, *sorted(operands, key=repr)))
        self._name_results(op, ("value", number))
        # LLVM may omit additions of 0 and multiplications by 1.
        return 0 if any(constants) or number < known else _count_operations(op)

    def _number(self, computation: Name) -> int:
        return self.numbers.setdefault(computation, len(self.numbers))

    def _forget_stores(self, op: Operation) -> None:
        """Forget what is stored in buffers that a branch may write."""
        if any(each.name in STORES for each in op.walk()):
            self.memory.clear()

    def _name(self, value: SSAValue) -> Name:
        return self.names.setdefault(value, ("parameter", id(value)))

    def _name_results(self, op: Operation, name: Name) -> None:
        for position, result in enumerate(op.results):
            self.names[result] = (*name, position)

    def _address(self, op: Operation, buffer: SSAValue, indices: Iterable[SSAValue]) -> Name:
        map = op.properties["map"]
        assert isinstance(map, AffineMapAttr)
        type = _element_type(op)
        values = _apply(map.data, [self._name(index) for index in indices])
        return ("element", str(type), self._name(buffer), values)

    def _run_loop(self, loop: Operation) -> int:
        if not has_known_trip_count(loop):
            raise _NoBoundError
        counters: list[Sequence[int]] = []
        for lower, upper, step in loop_ranges(loop):
            assert lower is not None
            assert upper is not None
            assert step is not None
            counters.append(range(lower, upper, step))
        length = prod(map(len, counters))
        block = loop.regions[0].blocks[0]
        is_short = length <= 2 or length * _iterations(block) <= SHORT_LOOP
        carried = self._carried_names(loop)
        count, latest = 0, 0
        iterations = list(itertools.islice(itertools.product(*counters), None if is_short else 2))
        for values in iterations:
            for argument, value in zip(block.args, (*values, *carried), strict=False):
                self.names[argument] = value
            latest = self.run(block)
            count += latest
            last = block.last_op
            carried = [] if last is None else [self._name(each) for each in last.operands]
        if not is_short:
            count += (length - 2) * latest
            # What a long loop carries in the end is not known.
            carried = [("result", self._number((self.steps, each))) for each in carried]
        for result, name in zip(loop.results, carried, strict=False):
            self.names[result] = name
        return count

    def _carried_names(self, loop: Operation) -> list[Name]:
        """Return the names of the values that a loop carries before its first iteration."""
        if isinstance(loop, affine.ForOp):
            return [self._name(each) for each in loop.inits]
        return [self._name(each) for each in loop.iter_args] if isinstance(loop, scf.ForOp) else []


def _iterations(block: Block) -> int:
    """Return how often the innermost loops in a block run each time the block runs."""
    most = 1
    for op in block.ops:
        if isinstance(op, FOR_LOOPS):
            for inner in op.regions[0].blocks:
                most = max(most, trip_count(op) * _iterations(inner))
    return most


def _apply(map: AffineMap, operands: Sequence[Name]) -> tuple[Name, ...]:
    """Return the results of a map, which are integers if its operands are."""
    if all(isinstance(each, int) for each in operands):
        return map.eval(operands[: map.num_dims], operands[map.num_dims :])
    return tuple((str(each), *operands) for each in map.results)


def _is_constant(name: Name) -> bool:
    return isinstance(name, int) or name[0] == "constant"


def _element_type(op: Operation) -> Attribute:
    values = (*op.results, *op.operands)
    return next(each.type for each in values if not isinstance(each.type, MemRefType))


def _count_operations(op: Operation) -> int:
    """Return how many operations on f32 take as long as an op."""
    count = OPERATIONS.get(op.name, 0)
    if not count or op.results[0].first_use is None:
        return 0
    type = op.results[0].type
    lanes, element = 1, type
    if isinstance(type, VectorType):
        lanes, element = prod(type.get_shape()), type.get_element_type()
    return count * lanes * FLOAT_SIZES.get(element.__class__, 0)
