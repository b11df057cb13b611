"""Emission of the bodies of model statements: assignments, and data-dependent code."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Block, Region, SSAValue

from riselang.frontends.c.emit.expression_emitter import ExpressionEmitter
from riselang.frontends.c.emit.indices import INDEX
from riselang.frontends.c.model.iteration_sets import loop_bound
from riselang.frontends.c.parse import syntax
from riselang.frontends.c.parse.syntax import Assign, Binary, Declare, If, Statement, While


class StatementEmitter:
    """Emits the body of a model statement."""

    def __init__(self, emitter: ExpressionEmitter):
        self._out = emitter

    def emit_statement(self, statement: Statement) -> None:
        with self._out.at_location(statement.location):
            match statement:
                case Assign():
                    self._emit_assign(statement)
                case syntax.Block():
                    for inner in statement.statements:
                        self.emit_statement(inner)
                case Declare(value=None):
                    pass
                case Declare():
                    variable = statement.variable
                    assert statement.value is not None
                    target = syntax.Access(statement.location, variable.type, variable, ())
                    self._emit_assign(Assign(statement.location, target, statement.value))
                case If():
                    self._emit_if(statement)
                case syntax.For():
                    self._emit_for(statement)
                case While():
                    self._emit_while(statement)
                case _:
                    raise AssertionError(f"{type(statement).__name__} in a model statement")

    def _emit_assign(self, statement: Assign) -> None:
        value = statement.value
        if statement.is_compound and isinstance(value, Binary) and value.operator in ("+", "*"):
            result = self._out.emit_swapped(value)
        else:
            result = self._out.emit_value(value)
        self._out.emit_store(result, statement.target)

    def _emit_if(self, statement: If) -> None:
        condition = self._out.emit_boolean(statement.condition)
        branches = [statement.then]
        branches += [statement.otherwise] if statement.otherwise is not None else []
        regions: list[Region] = []
        for branch in branches:
            block = Block()
            with self._out.inside_block(block):
                self.emit_statement(branch)
            block.add_op(scf.YieldOp())
            regions.append(Region(block))
        self._out.insert(scf.IfOp(condition, [], regions[0], second_region(regions)))

    def _emit_for(self, loop: syntax.For) -> None:
        """Emit a loop with a data-dependent bound, which is known when the loop begins."""
        bound = loop_bound(loop)
        assert bound is not None
        out, (operator, end) = self._out, bound
        first = out.emit_index(loop.first)
        last = out.emit_index(end)
        size = abs(loop.step)
        one, stride = out.indices.emit_constant(1), out.indices.emit_constant(size)
        if loop.step < 0:
            # Counted from 0: the distance from the first value.
            gap = out.add(arith.SubiOp(first, last))
            lower, upper = out.indices.emit_constant(0), gap
        else:
            lower, upper = first, last
        if operator in ("<=", ">="):
            upper = out.add(arith.AddiOp(upper, one))
        block = Block(arg_types=[INDEX])
        block.args[0].name_hint = loop.variable.ascii_name
        with out.inside_block(block):
            index: SSAValue = block.args[0]
            if loop.step < 0:
                index = out.add(arith.SubiOp(first, index))
            type = loop.variable.type
            out.scalars[loop.variable] = out.add(arith.IndexCastOp(index, type.mlir_type))
            self.emit_statement(loop.body)
        del out.scalars[loop.variable]
        block.add_op(scf.YieldOp())
        out.insert(scf.ForOp(lower, upper, stride, [], Region(block)))

    def _emit_while(self, loop: While) -> None:
        """Emit a loop whose trip count is not known; a failed check ends it."""
        out = self._out
        before, after = Block(), Block()
        with out.inside_block(before):
            if loop.tests_last:
                self.emit_statement(loop.body)
                self.emit_statement(loop.update)
            self.emit_statement(loop.prelude)
            condition = out.emit_boolean(loop.condition)
            if out.failure is not None:
                zero = out.indices.emit_constant(0)
                count = out.add(memref.LoadOp.get(out.failure, [zero]))
                none = out.add(arith.ConstantOp.from_int_and_width(0, 64))
                is_sound = out.add(arith.CmpiOp(count, none, "eq"))
                condition = out.add(arith.AndIOp(condition, is_sound))
            out.insert(scf.ConditionOp(condition))
        with out.inside_block(after):
            if not loop.tests_last:
                self.emit_statement(loop.body)
                self.emit_statement(loop.update)
            out.insert(scf.YieldOp())
        out.insert(scf.WhileOp([], [], Region(before), Region(after)))


def second_region(regions: Sequence[Region]) -> Region | None:
    return regions[1] if len(regions) > 1 else None
