"""Innermost loops scheduled for the machine: vectorized, or with elements in registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import VectorType, i1
from xdsl.ir import Block, Region, SSAValue

from riselang.frontends.c.emit import isl_expressions
from riselang.frontends.c.emit.expression_emitter import ExpressionEmitter
from riselang.frontends.c.emit.indices import INDEX
from riselang.frontends.c.emit.interleaved_extrema import CHAINS, chained_extremum, combine_chains
from riselang.frontends.c.emit.interleaved_reductions import ReductionEmitter, reduction_groups
from riselang.frontends.c.emit.isl_ast import callee_name, is_parallel_loop, statement_calls
from riselang.frontends.c.emit.loop_vectorization import (
    Elements,
    StatementInstance,
    VectorEmitter,
    VectorShape,
    can_repeat,
    vector_shape,
)
from riselang.frontends.c.emit.prefetching import prefetch_elements
from riselang.frontends.c.emit.registers import RegisterElement, register_elements
from riselang.frontends.c.model.linear import Linear
from riselang.support.errors import SourceLocation


class LoopContext(Protocol):
    """The interface to the loop emitter that innermost loops need."""

    bindings: dict[str, Linear]

    def emit_node(self, node: Any) -> None: ...

    def forget_binding(self, name: str) -> None: ...

    def source_of(self, node: Any, name: str) -> tuple[str, SourceLocation]: ...


@dataclass(frozen=True)
class CarriedLoop:
    """A loop with elements in registers."""

    name: str
    node: Any
    step: int
    elements: Sequence[RegisterElement]

    @property
    def written(self) -> list[RegisterElement]:
        return [element for element in self.elements if element.is_written]


class InnermostEmitter:
    """Emits innermost loops."""

    def __init__(self, emitter: ExpressionEmitter, loops: LoopContext):
        self._out = emitter
        self._loops = loops

    def try_emit(self, name: str, node: Any) -> bool:
        """Emit a loop vectorized, or else with elements in registers; False if neither is
        possible."""
        return (
            self._emit_vectorized(name, node)
            or self._emit_reductions(name, node)
            or self._emit_in_registers(name, node)
        )

    def emit_prefetches(self, name: str, node: Any) -> None:
        """Emit prefetches at the start of a scalar loop, for elements that it needs later."""
        users = statement_calls(node.for_get_body())
        try:
            instances = [self._make_instance(user, {name: Linear.of(name)}) for user in users]
        except isl_expressions.NotLinear:
            return
        prefetch_elements(
            self._out, instances, name, isl_expressions.read_number(node.for_get_inc())
        )

    def _emit_vectorized(self, name: str, node: Any) -> bool:
        """Emit an innermost loop vectorized; return whether that is possible."""
        instances = self._parallel_instances(name, node)
        shape = vector_shape(instances, name) if instances else None
        if shape is None:
            return False
        out = self._out
        with out.at_location(self._loops.source_of(node, name)[1]):
            lower, upper = self._loop_bounds(node)
            runs = out.add(arith.CmpiOp(lower, upper, "slt"))
            block = Block()
            with out.inside_block(block):
                elements = register_elements(out.scop, instances, name)
                spread = {each.element: self._load_element(each) for each in elements}
                first = lower
                for lanes in (shape.lanes * shape.vectors, shape.lanes):
                    stride = out.indices.emit_constant(lanes)
                    end = self._last_full_step(lower, upper, stride)
                    vectors = VectorEmitter(out, lanes, name, spread)
                    self._emit_stepped_loop(name, lower, end, stride, node, instances, vectors)
                    lower = end
                self._emit_tail(name, first, lower, upper, node, instances, shape, spread)
                out.insert(scf.YieldOp())
            out.insert(scf.IfOp(runs, [], Region(block), None))
        return True

    def _emit_tail(
        self, name: str, first: SSAValue, lower: SSAValue, upper: SSAValue, node: Any,
        instances: Sequence[StatementInstance], shape: VectorShape, elements: Elements,
    ) -> None:  # fmt: skip
        """Emit the iterations from `lower` that fill no vector: one with a mask, or one that
        repeats iterations from `first`, or one by one."""
        out, size, vectors = self._out, 1, None
        if shape.can_mask:
            count, size = out.add(arith.SubiOp(upper, lower)), shape.lanes
            mask = out.add(vector.CreateMaskOp([count], VectorType(i1, [size])))
            vectors = VectorEmitter(out, size, name, elements, mask)
        elif can_repeat(instances):
            lanes = out.indices.emit_constant(shape.lanes)
            start = out.add(arith.SubiOp(upper, lanes))
            is_long = out.add(arith.CmpiOp(first, start, "sle"))
            is_partial = out.add(arith.CmpiOp(lower, upper, "slt"))
            repeats = out.add(arith.AndIOp(is_long, is_partial))
            start = out.add(arith.SelectOp(repeats, start, upper))
            last = VectorEmitter(out, shape.lanes, name, elements)
            self._emit_stepped_loop(name, start, upper, lanes, node, instances, last)
            lower = out.add(arith.SelectOp(is_long, upper, lower))
        stride = out.indices.emit_constant(size)
        self._emit_stepped_loop(name, lower, upper, stride, node, instances, vectors)

    def _parallel_instances(self, name: str, node: Any) -> list[StatementInstance]:
        """Return the instances in a loop whose iterations are independent; none if it is not."""
        if not is_parallel_loop(node) or isl_expressions.read_number(node.for_get_inc()) != 1:
            return []
        try:
            users = statement_calls(node.for_get_body())
            return [self._make_instance(user, {name: Linear.of(name)}) for user in users]
        except isl_expressions.NotLinear:
            return []

    def _emit_reductions(self, name: str, node: Any) -> bool:
        """Emit interleaved reductions as the lanes of vectors; return whether that is possible."""
        users = statement_calls(node.for_get_body())
        if not users or isl_expressions.read_number(node.for_get_inc()) != 1:
            return False
        try:
            instances = [self._make_instance(user, {name: Linear.of(name)}) for user in users]
        except isl_expressions.NotLinear:
            return False
        groups = reduction_groups(self._out.scop, instances, name)
        if groups is None:
            return False
        out = self._out
        with out.at_location(self._loops.source_of(node, name)[1]):
            lower, upper = self._loop_bounds(node)
            block = Block()
            runs = out.add(arith.CmpiOp(lower, upper, "slt"))
            with out.inside_block(block):
                emitters = [ReductionEmitter(out, group, name) for group in groups]
                values = [each.load_invariants() for each in emitters]
                for columns in (emitters[0].columns, 1):
                    stride = out.indices.emit_constant(columns)
                    end = self._last_full_step(lower, upper, stride) if columns > 1 else upper
                    values = self._emit_reduction_loop(
                        name, (lower, end, stride), node, emitters, values, columns
                    )
                    lower = end
                for emitter, value in zip(emitters, values, strict=True):
                    emitter.store_sums(value)
                out.insert(scf.YieldOp())
            out.insert(scf.IfOp(runs, [], Region(block), None))
        return True

    def _emit_reduction_loop(
        self, name: str, bounds: tuple[SSAValue, SSAValue, SSAValue], node: Any,
        emitters: Sequence[ReductionEmitter], starts: Sequence[SSAValue], columns: int,
    ) -> list[SSAValue]:  # fmt: skip
        """Emit a loop whose iterations are `columns` iterations of the source."""
        out = self._out
        block = Block(arg_types=[INDEX, *(start.type for start in starts)])
        block.args[0].name_hint = self._loops.source_of(node, name)[0]
        self._loops.forget_binding(name)
        out.indices.non_affine_values[name] = block.args[0]
        with out.inside_block(block):
            pairs = zip(emitters, block.args[1:], strict=True)
            out.insert(scf.YieldOp(*(each.emit_columns(value, columns) for each, value in pairs)))
        return list(out.insert(scf.ForOp(*bounds, starts, Region(block))).results)

    def _last_full_step(self, lower: SSAValue, upper: SSAValue, stride: SSAValue) -> SSAValue:
        """Return where a loop ends whose every step has as many iterations as its stride."""
        out = self._out
        count = out.add(arith.SubiOp(upper, lower))
        full_end = out.add(arith.SubiOp(count, out.add(arith.RemSIOp(count, stride))))
        # The trip count may be negative if there are no iterations.
        return out.add(arith.MaxSIOp(lower, out.add(arith.AddiOp(lower, full_end))))

    def _emit_in_registers(self, name: str, node: Any) -> bool:
        """Emit an innermost loop with elements in registers; return whether there are any."""
        users = statement_calls(node.for_get_body())
        try:
            instances = [self._make_instance(user, {name: Linear.of(name)}) for user in users]
        except isl_expressions.NotLinear:
            return False
        elements = register_elements(self._out.scop, instances, name) if users else []
        if not any(each.is_written for each in elements):
            return False
        out, kind = self._out, chained_extremum(instances, elements, name)
        step = isl_expressions.read_number(node.for_get_inc())
        with out.at_location(self._loops.source_of(node, name)[1]):
            lower, upper = self._loop_bounds(node)
            runs = out.add(arith.CmpiOp(lower, upper, "slt"))
            block = Block()
            with out.inside_block(block):
                loop = CarriedLoop(name, node, step, elements)
                values = {each.element: self._load_element(each) for each in elements}
                if kind is not None:
                    end = self._last_full_step(
                        lower, upper, out.indices.emit_constant(step * CHAINS)
                    )
                    chains = self._emit_carried_loop(loop, lower, end, values, CHAINS)
                    values[loop.written[0].element] = combine_chains(out, kind, chains)
                    lower = end
                results = self._emit_carried_loop(loop, lower, upper, values)
                for element, result in zip(loop.written, results, strict=True):
                    buffer = out.memory[element.element[0]]
                    out.insert(memref.StoreOp.get(result, buffer, self._indices_of(element)))
                out.insert(scf.YieldOp())
            out.insert(scf.IfOp(runs, [], Region(block), None))
        return True

    def _loop_bounds(self, node: Any) -> tuple[SSAValue, SSAValue]:
        """Return the first value of a loop, and the first value past its end."""
        indices, out = self._out.indices, self._out
        lower = indices.emit_isl_expression(node.for_get_init(), self._loops.bindings)
        upper = indices.emit_isl_expression(node.for_get_cond().get_op_arg(1), self._loops.bindings)
        if isl_expressions.operation_name(node.for_get_cond()) == "le":
            upper = out.add(arith.AddiOp(upper, indices.emit_constant(1)))
        return lower, upper

    def _emit_carried_loop(
        self, loop: CarriedLoop, lower: SSAValue, upper: SSAValue, values: Elements,
        chains: int = 1,
    ) -> list[SSAValue]:  # fmt: skip
        """Emit a loop with loop-carried elements; each of its iterations is one iteration of every
        chain, which has elements of its own."""
        out, outer = self._out, dict(self._out.registers)
        starts = [values[element.element] for element in loop.written] * chains
        block = Block(arg_types=[INDEX, *(start.type for start in starts)])
        block.args[0].name_hint = self._loops.source_of(loop.node, loop.name)[0]
        stride = out.indices.emit_constant(loop.step * chains)
        ends: list[SSAValue] = []
        with out.inside_block(block):
            carried = list(block.args[1:])
            for chain in range(chains):
                counter = block.args[0]
                if chain:
                    distance = out.indices.emit_constant(loop.step * chain)
                    counter = out.add(arith.AddiOp(counter, distance))
                self._loops.forget_binding(loop.name)
                out.indices.non_affine_values[loop.name] = counter
                out.registers.update(values)
                for element in loop.written:
                    out.registers[element.element] = carried.pop(0)
                if not chain:
                    self.emit_prefetches(loop.name, loop.node)
                self._loops.emit_node(loop.node.for_get_body())
                ends += [out.registers[element.element] for element in loop.written]
            out.insert(scf.YieldOp(*ends))
        out.registers = outer
        return list(out.insert(scf.ForOp(lower, upper, stride, starts, Region(block))).results)

    def _load_element(self, element: RegisterElement) -> SSAValue:
        buffer = self._out.memory[element.element[0]]
        return self._out.add(memref.LoadOp.get(buffer, self._indices_of(element)))

    def _indices_of(self, element: RegisterElement) -> list[SSAValue]:
        return [self._out.indices.emit_linear(index) for index in element.element[1]]

    def _emit_stepped_loop(
        self, name: str, lower: SSAValue, upper: SSAValue, stride: SSAValue, node: Any,
        instances: Sequence[StatementInstance], vectors: VectorEmitter | None,
    ) -> None:  # fmt: skip
        """Emit a loop over vectors of iterations, or over single ones."""
        block = Block(arg_types=[INDEX])
        block.args[0].name_hint = self._loops.source_of(node, name)[0]
        self._loops.forget_binding(name)
        self._out.indices.non_affine_values[name] = block.args[0]
        with self._out.inside_block(block):
            if vectors is None:
                self._loops.emit_node(node.for_get_body())
            else:
                for instance in instances:
                    vectors.emit_statement(instance)
        block.add_op(scf.YieldOp())
        self._out.insert(scf.ForOp(lower, upper, stride, [], Region(block)))

    def _make_instance(self, call: Any, own: dict[str, Linear]) -> StatementInstance:
        statement = self._out.scop.find_statement(callee_name(call))
        bindings = {**self._loops.bindings, **own}
        counters = {
            variable: isl_expressions.read_linear(call.get_op_arg(position + 1), bindings)
            for position, (variable, _) in enumerate(statement.iterators)
        }
        return StatementInstance(statement, counters)
