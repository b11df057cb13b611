"""Innermost loops scheduled for the machine: vectorized, or with elements in registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Block, Region, SSAValue

from riselang.frontends.c.emit import trees
from riselang.frontends.c.emit.indices import INDEX
from riselang.frontends.c.emit.nodes import callee, is_parallel, only_users
from riselang.frontends.c.emit.prefetching import ask_ahead
from riselang.frontends.c.emit.registers import Kept, kept_elements
from riselang.frontends.c.emit.values import Emitter
from riselang.frontends.c.emit.vectors import Instance, VectorEmitter, lanes_of
from riselang.frontends.c.model.linear import Linear
from riselang.support.errors import SourceLocation


class Loops(Protocol):
    """The interface to the loop emitter that innermost loops need."""

    bindings: dict[str, Linear]

    def node(self, node: Any) -> None: ...

    def forget(self, name: str) -> None: ...

    def source_of(self, node: Any, name: str) -> tuple[str, SourceLocation]: ...


class Innermost:
    """Emits innermost loops."""

    def __init__(self, emitter: Emitter, loops: Loops):
        self._out = emitter
        self._loops = loops

    def is_written(self, name: str, node: Any) -> bool:
        """Emit a loop vectorized, or else with elements in registers; False if neither is
        possible."""
        return self._in_vectors(name, node) or self._in_registers(name, node)

    def ask_ahead(self, name: str, node: Any) -> None:
        """Emit prefetches at the start of a scalar loop, for elements that it needs later."""
        users = only_users(node.for_get_body())
        try:
            instances = [self._instance(user, {name: Linear.of(name)}) for user in users]
        except trees.NotLinear:
            return
        ask_ahead(self._out, instances, name, trees.number(node.for_get_inc()))

    def _in_vectors(self, name: str, node: Any) -> bool:
        """Emit an innermost loop vectorized, with a scalar tail; return whether that is
        possible."""
        users = only_users(node.for_get_body())
        if not is_parallel(node) or not users or trees.number(node.for_get_inc()) != 1:
            return False
        try:
            instances = [self._instance(user, {name: Linear.of(name)}) for user in users]
        except trees.NotLinear:
            return False
        lanes = lanes_of(instances, name)
        if lanes is None:
            return False
        indices, out = self._out.indices, self._out
        with out.at(self._loops.source_of(node, name)[1]):
            lower, upper = self._bounds(node)
            stride = indices.constant(lanes)
            count = out.add(arith.SubiOp(upper, lower))
            whole = out.add(arith.SubiOp(count, out.add(arith.RemSIOp(count, stride))))
            # The trip count may be negative if there are no iterations.
            end = out.add(arith.MaxSIOp(lower, out.add(arith.AddiOp(lower, whole))))
            runs = out.add(arith.CmpiOp(lower, end, "slt"))
            block = Block()
            with out.inside(block):
                kept = kept_elements(out.scop, instances, name)
                spread = {each.element: self._loaded(each) for each in kept}
                vectors = VectorEmitter(out, lanes, name, spread)
                self._stepped(name, lower, end, stride, node, instances, vectors)
                out.insert(scf.YieldOp())
            out.insert(scf.IfOp(runs, [], Region(block), None))
            self._stepped(name, end, upper, indices.constant(1), node, instances, None)
        return True

    def _in_registers(self, name: str, node: Any) -> bool:
        """Emit an innermost loop with elements in registers; return whether there are any."""
        users = only_users(node.for_get_body())
        try:
            instances = [self._instance(user, {name: Linear.of(name)}) for user in users]
        except trees.NotLinear:
            return False
        kept = kept_elements(self._out.scop, instances, name) if users else []
        if not any(each.is_written for each in kept):
            return False
        indices, out = self._out.indices, self._out
        with out.at(self._loops.source_of(node, name)[1]):
            lower, upper = self._bounds(node)
            stride = indices.constant(trees.number(node.for_get_inc()))
            runs = out.add(arith.CmpiOp(lower, upper, "slt"))
            block = Block()
            with out.inside(block):
                self._carried(name, lower, upper, stride, node, kept)
                out.insert(scf.YieldOp())
            out.insert(scf.IfOp(runs, [], Region(block), None))
        return True

    def _bounds(self, node: Any) -> tuple[SSAValue, SSAValue]:
        """Return the first value of a loop, and the first value past its end."""
        indices, out = self._out.indices, self._out
        lower = indices.of_tree(node.for_get_init(), self._loops.bindings)
        upper = indices.of_tree(node.for_get_cond().get_op_arg(1), self._loops.bindings)
        if trees.operation(node.for_get_cond()) == "le":
            upper = out.add(arith.AddiOp(upper, indices.constant(1)))
        return lower, upper

    def _carried(
        self, name: str, lower: SSAValue, upper: SSAValue, stride: SSAValue, node: Any,
        kept: Sequence[Kept],
    ) -> None:  # fmt: skip
        """Emit a loop with loop-carried elements."""
        out, written = self._out, [each for each in kept if each.is_written]
        outer = dict(out.registers)
        values = {each.element: self._loaded(each) for each in kept}
        starts = [values[each.element] for each in written]
        block = Block(arg_types=[INDEX, *(start.type for start in starts)])
        block.args[0].name_hint = self._loops.source_of(node, name)[0]
        self._loops.forget(name)
        out.indices.others[name] = block.args[0]
        with out.inside(block):
            out.registers.update(values)
            for each, argument in zip(written, block.args[1:], strict=True):
                out.registers[each.element] = argument
            self.ask_ahead(name, node)
            self._loops.node(node.for_get_body())
            out.insert(scf.YieldOp(*(out.registers[each.element] for each in written)))
        out.registers = outer
        loop = out.insert(scf.ForOp(lower, upper, stride, starts, Region(block)))
        for each, result in zip(written, loop.results, strict=True):
            out.insert(memref.StoreOp.get(result, out.memory[each.element[0]], self._place(each)))

    def _loaded(self, kept: Kept) -> SSAValue:
        buffer = self._out.memory[kept.element[0]]
        return self._out.add(memref.LoadOp.get(buffer, self._place(kept)))

    def _place(self, kept: Kept) -> list[SSAValue]:
        return [self._out.indices.value(index) for index in kept.element[1]]

    def _stepped(
        self, name: str, lower: SSAValue, upper: SSAValue, stride: SSAValue, node: Any,
        instances: Sequence[Instance], vectors: VectorEmitter | None,
    ) -> None:  # fmt: skip
        """Emit a loop over vectors of iterations, or over single ones."""
        block = Block(arg_types=[INDEX])
        block.args[0].name_hint = self._loops.source_of(node, name)[0]
        self._loops.forget(name)
        self._out.indices.others[name] = block.args[0]
        with self._out.inside(block):
            if vectors is None:
                self._loops.node(node.for_get_body())
            else:
                for instance in instances:
                    vectors.statement(instance)
        block.add_op(scf.YieldOp())
        self._out.insert(scf.ForOp(lower, upper, stride, [], Region(block)))

    def _instance(self, call: Any, own: dict[str, Linear]) -> Instance:
        statement = self._out.scop.statement(callee(call))
        bindings = {**self._loops.bindings, **own}
        counters = {
            variable: trees.linear(call.get_op_arg(at + 1), bindings)
            for at, (variable, _) in enumerate(statement.iterators)
        }
        return Instance(statement, counters)
