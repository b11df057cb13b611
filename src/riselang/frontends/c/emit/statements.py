"""Emission of the bodies of model statements: assignments, and data-dependent code."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Region, SSAValue

from riselang.frontends.c.emit.indices import INDEX
from riselang.frontends.c.emit.values import Emitter
from riselang.frontends.c.model.iteration_sets import bound
from riselang.frontends.c.parse import syntax
from riselang.frontends.c.parse.syntax import Assign, Binary, Declare, If, Statement


class StatementEmitter:
    """Emits the body of a model statement."""

    def __init__(self, emitter: Emitter):
        self._out = emitter

    def statement(self, statement: Statement) -> None:
        with self._out.at(statement.place):
            match statement:
                case Assign():
                    self._assign(statement)
                case syntax.Block():
                    for inner in statement.statements:
                        self.statement(inner)
                case Declare(value=None):
                    pass
                case Declare():
                    variable = statement.variable
                    assert statement.value is not None
                    target = syntax.Access(statement.place, variable.type, variable, ())
                    self._assign(Assign(statement.place, target, statement.value))
                case If():
                    self._if(statement)
                case syntax.For():
                    self._for(statement)
                case _:
                    raise AssertionError(f"{type(statement).__name__} in a model statement")

    def _assign(self, statement: Assign) -> None:
        value = statement.value
        if statement.is_compound and isinstance(value, Binary) and value.operator in ("+", "*"):
            result = self._out.swapped(value)
        else:
            result = self._out.value(value)
        self._out.store(result, statement.target)

    def _if(self, statement: If) -> None:
        condition = self._out.truth(statement.condition)
        branches = [statement.then]
        branches += [statement.otherwise] if statement.otherwise is not None else []
        regions: list[Region] = []
        for branch in branches:
            block = Block()
            with self._out.inside(block):
                self.statement(branch)
            block.add_op(scf.YieldOp())
            regions.append(Region(block))
        self._out.insert(scf.IfOp(condition, [], regions[0], second_region(regions)))

    def _for(self, loop: syntax.For) -> None:
        """Emit a loop with a data-dependent bound, which is known when the loop begins."""
        found = bound(loop)
        assert found is not None
        out, (operator, end) = self._out, found
        first = out.as_index(loop.first)
        last = out.as_index(end)
        size = abs(loop.step)
        one, stride = out.indices.constant(1), out.indices.constant(size)
        if loop.step < 0:
            # Counted from 0: the distance from the first value.
            gap = out.add(arith.SubiOp(first, last))
            lower, upper = out.indices.constant(0), gap
        else:
            lower, upper = first, last
        if operator in ("<=", ">="):
            upper = out.add(arith.AddiOp(upper, one))
        block = Block(arg_types=[INDEX])
        block.args[0].name_hint = loop.variable.hint
        with out.inside(block):
            index: SSAValue = block.args[0]
            if loop.step < 0:
                index = out.add(arith.SubiOp(first, index))
            type = loop.variable.type
            out.scalars[loop.variable] = out.add(arith.IndexCastOp(index, type.mlir))
            self.statement(loop.body)
        del out.scalars[loop.variable]
        block.add_op(scf.YieldOp())
        out.insert(scf.ForOp(lower, upper, stride, [], Region(block)))


def second_region(regions: Sequence[Region]) -> Region | None:
    return regions[1] if len(regions) > 1 else None
