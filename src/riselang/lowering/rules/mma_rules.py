"""Lowers `mma` to the dot-product instructions of the CPU, or to loops if there are none."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.dot_units import DotUnit, dot_units_of
from riselang.dialects.rise.types import ScalarType
from riselang.lowering.dot_products import Operand, emit_dot_products
from riselang.lowering.functional_values import Closure, Delayed, Lazy, Value
from riselang.lowering.rule_registry import reads, stores
from riselang.lowering.stored_values import data_type
from riselang.lowering.translation import Translation, result_type, size_argument
from riselang.support.machine import this_machine
from riselang.term.multiply_add import is_multiply_add
from riselang.term.nodes import Literal, Pattern


class MmaRules(Translation):
    """The rule for mma."""

    @reads("mma")
    def read_mma(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        function = self.force(arguments[0])
        unit = None if self.for_gpu else _select_unit(pattern, function)
        if unit is None:
            return self.materialize(
                result_type(pattern), lambda target: self.store_mma(pattern, arguments, target)
            )
        rows = self.contiguous_buffer(arguments[2], 3)
        columns = self.contiguous_buffer(arguments[3], 2)
        init = self.scalar_value(arguments[1])
        (result,) = self.allocate_buffers(result_type(pattern))
        target = self.add(codegen.CastOp([result], result_type(pattern)))
        accumulators = Operand(target, result, ())
        emit_dot_products(
            self.emitter, self.allocate_buffers, unit, init, accumulators, rows, columns
        )
        return self.add(codegen.CastOp([result], result_type(pattern)))

    @stores("mma")
    def store_mma(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        """Store the results; those of instructions are copied from a contiguous buffer."""
        function = self.force(arguments[0])
        if not self.for_gpu and _select_unit(pattern, function) is not None:
            self.copy(self.read_data(self.read_mma(pattern, arguments)), target)
            return
        rows, columns = self.store_if_computed(arguments[2]), self.store_if_computed(arguments[3])
        init = self.scalar_value(arguments[1])
        self.store_dot_products(pattern, function, init, rows, columns, target)

    def store_dot_products(
        self,
        pattern: Pattern,
        function: Value,
        init: SSAValue,
        rows: SSAValue,
        columns: SSAValue,
        target: SSAValue,
    ) -> None:
        """Store the results, one element after the other."""
        group = self.emitter.length_value(size_argument(pattern, "g"))
        chunk_length = size_argument(pattern, "h") * size_argument(pattern, "g")
        chunk = self.emitter.length_value(chunk_length)
        depth = size_argument(pattern, "k") * chunk_length
        type = pattern.argument("t")
        assert isinstance(type, ScalarType)

        def store_row(i: SSAValue) -> None:
            target_row = self.add(codegen.IdxOp(target, i))

            def store_element(j: SSAValue) -> None:
                start = self.add(arith.MuliOp(j, group))

                def step(k: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                    quotient = self.add(arith.DivUIOp(k, group))
                    remainder = self.add(arith.RemUIOp(k, group))
                    column = self.add(codegen.IdxOp(columns, quotient))
                    position = self.add(arith.AddiOp(start, remainder))
                    rows_of_chunk = self.add(codegen.IdxOp(rows, self.add(arith.DivUIOp(k, chunk))))
                    row = self.add(codegen.IdxOp(rows_of_chunk, i))
                    element = self.add(codegen.IdxOp(row, self.add(arith.RemUIOp(k, chunk))))
                    other = self.add(codegen.IdxOp(column, position))
                    pair = self.add(codegen.TupleOp(element, other))
                    accumulator = self.add(codegen.CastOp([carried[0]], type))
                    return self.unwrap(self.read_application(function, [accumulator, pair]))

                zero, one = self.emitter.constant(0), self.emitter.constant(1)
                end = self.emitter.length_value(depth)
                (total,) = self.emitter.range_loop(zero, end, one, [init], step)
                self.copy(
                    self.add(codegen.CastOp([total], type)),
                    self.add(codegen.IdxOp(target_row, j)),
                )

            self.emit_loop(size_argument(pattern, "n"), "scf", store_element)

        self.emit_loop(size_argument(pattern, "m"), "scf", store_row)

    def scalar_value(self, lazy: Lazy) -> SSAValue:
        """Return a builtin scalar, which is an `arith.constant` if it is a literal."""
        if isinstance(lazy, Delayed) and isinstance(lazy.term, Literal):
            return self.add(arith.ConstantOp(lazy.term.attribute.builtin_attribute))
        (scalar,) = self.unwrap(self.read_data(lazy))
        return scalar

    def contiguous_buffer(self, lazy: Lazy, dimensions: int) -> Operand:
        """Return an array as a contiguous part of a buffer, into which it is copied if needed."""
        value = self.store_if_computed(lazy)
        operand = _find_buffer(value, dimensions)
        if operand is not None:
            return operand
        type = data_type(value)
        (buffer,) = self.allocate_buffers(type)
        stored = self.add(codegen.CastOp([buffer], type))
        self.copy(value, stored)
        return Operand(self.add(codegen.CastOp([buffer], type)), buffer, ())


def _find_buffer(value: SSAValue, dimensions: int) -> Operand | None:
    """Return an array that is a buffer, or an element of an array in a buffer."""
    part, indices = value, list[SSAValue]()
    while True:
        part = _component(part)
        if not isinstance(part.owner, codegen.IdxOp):
            break
        indices.append(part.owner.index)
        part = part.owner.array
    if not isinstance(part.owner, codegen.CastOp) or len(part.owner.sources) != 1:
        return None
    (buffer,) = part.owner.sources
    if not isinstance(buffer.type, MemRefType):
        return None
    is_whole = buffer.type.get_num_dims() == dimensions + len(indices)
    return Operand(value, buffer, tuple(reversed(indices))) if is_whole else None


def _component(value: SSAValue) -> SSAValue:
    """Return the value that a component of a pair of known values is."""
    while isinstance(value.owner, codegen.FstOp | codegen.SndOp):
        (pair,) = value.owner.operands
        if not isinstance(pair.owner, codegen.TupleOp):
            break
        first, second = pair.owner.operands
        value = first if isinstance(value.owner, codegen.FstOp) else second
    return value


def _select_unit(pattern: Pattern, function: Value) -> DotUnit | None:
    """Return the first unit of this machine for the types and sizes of a pattern."""
    if not isinstance(function, Closure) or not is_multiply_add(function.function):
        return None
    sizes = [size_argument(pattern, name) for name in ("m", "n", "k", "h", "g")]
    if not all(size.is_constant for size in sizes):
        return None
    rows, columns, chunks, chunk, group = (size.constant for size in sizes)
    types = (pattern.argument("s"), pattern.argument("t"), group)
    for unit in dot_units_of(this_machine()):
        is_typed = (unit.source, unit.accumulator, unit.group) == types
        if is_typed and unit.fits(rows, columns, chunks * chunk * group, chunk * group):
            return unit
    return None
