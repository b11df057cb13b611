"""The code of one thread of a kernel: affine loops and accesses as arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, memref, scf
from xdsl.dialects.builtin import MemRefType, i1
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintKind, AffineMap
from xdsl.rewriter import InsertPoint

from riselang.frontends.c.gpu.folding import IndexBuilder
from riselang.support.errors import LimitationError

Values = dict[SSAValue, SSAValue]
"""The new value for each value of the original function."""


class ThreadCode:
    """Copies ops of a function."""

    def bound(
        self, op: affine.ForOp, index: IndexBuilder, values: Values, *, is_lower: bool
    ) -> SSAValue:
        map = (op.lowerBoundMap if is_lower else op.upperBoundMap).data
        operands = op.lowerBoundOperands if is_lower else op.upperBoundOperands
        known = [values[each] for each in operands]
        found = [index.expression(each, map, known) for each in map.results]
        total = found[0]
        for value in found[1:]:
            total = index.binary(arith.MaxSIOp if is_lower else arith.MinSIOp, total, value)
        return total

    def condition(self, op: affine.IfOp, index: IndexBuilder, values: Values) -> SSAValue:
        conditions = op.condition.data
        known = [values[each] for each in op.args]
        map = AffineMap(conditions.num_dims, conditions.num_symbols, ())
        total = index.constant(1, i1)
        for constraint in conditions.constraints:
            left = index.expression(constraint.lhs, map, known)
            right = index.expression(constraint.rhs, map, known)
            predicate = "eq" if constraint.kind is AffineConstraintKind.eq else "sge"
            if constraint.kind is AffineConstraintKind.le:
                predicate = "sle"
            total = index.binary(arith.AndIOp, total, index.compare(left, right, predicate))
        return total

    def copy(self, op: Operation, index: IndexBuilder, values: Values) -> None:
        """Copy an op to a thread, with affine ops as arithmetic."""
        match op:
            case affine.ApplyOp():
                known = [values[each] for each in op.mapOperands]
                values[op.result] = index.expression(op.map.data.results[0], op.map.data, known)
            case affine.LoadOp():
                subscripts = self._subscripts(op.map.data, op.indices, index, values)
                load = memref.LoadOp.get(values[op.memref], subscripts)
                values[op.result] = index.insert(load).results[0]
            case affine.StoreOp():
                subscripts = self._subscripts(op.map.data, op.indices, index, values)
                index.insert(memref.StoreOp.get(values[op.value], values[op.memref], subscripts))
            case affine.ForOp():
                self._copy_loop(op, index, values)
            case affine.IfOp():
                self._copy_if(op, index, values)
            case affine.YieldOp():
                index.insert(scf.YieldOp(*(values[each] for each in op.arguments)))
            case memref.AllocaOp() | memref.AllocOp():
                self._copy_allocation(op, index, values)
            case memref.DeallocOp():
                return
            case _:
                self._copy_plain(op, index, values)

    def copy_jammed(
        self, ops: Sequence[Operation], index: IndexBuilder, copies: Sequence[Values]
    ) -> None:
        """Copy ops once for each of several iterations, with loops around all of them."""
        if len(copies) == 1:
            for op in ops:
                self.copy(op, index, copies[0])
            return
        for op in ops:
            if isinstance(op, affine.YieldOp):
                continue
            if not isinstance(op, affine.ForOp):
                for values in copies:
                    self.copy(op, index, values)
                continue
            lower = self.bound(op, index, copies[0], is_lower=True)
            upper = self.bound(op, index, copies[0], is_lower=False)
            step = index.constant(op.step.value.data)
            body = Block(arg_types=[lower.type])
            inner = index.at(Builder(InsertPoint.at_end(body)))
            variable = op.body.block.args[0]
            own_values = [{**values, variable: body.args[0]} for values in copies]
            self.copy_jammed(list(op.body.block.ops), inner, own_values)
            inner.insert(scf.YieldOp())
            index.insert(scf.ForOp(lower, upper, step, [], Region(body)))

    def _subscripts(
        self,
        map: AffineMap,
        operands: Sequence[SSAValue],
        index: IndexBuilder,
        values: Values,
    ) -> list[SSAValue]:
        known = [values[each] for each in operands]
        return [index.expression(each, map, known) for each in map.results]

    def _copy_loop(self, op: affine.ForOp, index: IndexBuilder, values: Values) -> None:
        lower = self.bound(op, index, values, is_lower=True)
        upper = self.bound(op, index, values, is_lower=False)
        step = index.constant(op.step.value.data)
        body = self._copy_block(op.body.block, index, values)
        inits = [values[each] for each in op.inits]
        loop = index.insert(scf.ForOp(lower, upper, step, inits, Region(body)))
        values.update(zip(op.results, loop.results, strict=True))

    def _copy_if(self, op: affine.IfOp, index: IndexBuilder, values: Values) -> None:
        condition = self.condition(op, index, values)
        regions = [
            Region([self._copy_block(block, index, values) for block in region.blocks])
            for region in (op.then_region, op.else_region)
        ]
        types = [each.type for each in op.results]
        chosen = index.insert(scf.IfOp(condition, types, regions[0], regions[1]))
        values.update(zip(op.results, chosen.results, strict=True))

    def _copy_allocation(
        self, op: memref.AllocaOp | memref.AllocOp, index: IndexBuilder, values: Values
    ) -> None:
        assert isinstance(op.memref.type, MemRefType)
        lengths = [values[each] for each in op.dynamic_sizes]
        if any(each not in index.known for each in lengths):
            raise LimitationError(
                "the length of a local array is not known at the call, so the function cannot run "
                "on a GPU"
            )
        dynamic = iter(lengths)
        shape = [
            index.known[next(dynamic)] if length < 0 else length
            for length in op.memref.type.get_shape()
        ]
        new = memref.AllocaOp.get(op.memref.type.element_type, 64, shape)
        values[op.memref] = index.insert(new).results[0]

    def _copy_plain(self, op: Operation, index: IndexBuilder, values: Values) -> None:
        clone = op.clone_without_regions(dict(values))
        for region, new in zip(op.regions, clone.regions, strict=True):
            for block in region.blocks:
                new.add_block(self._copy_block(block, index, values))
        index.insert(clone)
        values.update(zip(op.results, clone.results, strict=True))
        index.note_result(clone)

    def _copy_block(self, block: Block, index: IndexBuilder, values: Values) -> Block:
        copy = Block(arg_types=[each.type for each in block.args])
        own_values = {**values, **dict(zip(block.args, copy.args, strict=True))}
        inner = index.at(Builder(InsertPoint.at_end(copy)))
        for op in block.ops:
            self.copy(op, inner, own_values)
        return copy
