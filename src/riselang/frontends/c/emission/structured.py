"""Statements over whole arrays as `linalg.generic`: each array at some of the loops, in an order.

What is computed for each element is what the statement says, in the same order; loops that the
target has not are reductions, and run upwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import AffineMapAttr, MemRefType
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import GenericOp, YieldOp
from xdsl.ir import Block, Region
from xdsl.ir.affine import AffineExpr, AffineMap

from riselang.frontends.c.emission.values import Emitter
from riselang.frontends.c.linear import Linear
from riselang.frontends.c.model import ModelStatement, Scop
from riselang.frontends.c.syntax import Access, Assign, Expression, operands
from riselang.frontends.c.tactics.matching import Factor, NoMatch, factor_of
from riselang.frontends.c.tactics.products import NoProduct, is_upward, lengths_of


def structured_factors(scop: Scop, statement: ModelStatement) -> tuple[Factor, ...] | None:
    """The target and what is read of arrays, if the statement is a structured op; else None."""
    body = statement.body
    if not isinstance(body, Assign) or not body.target.indices or not statement.is_certain:
        return None
    used = list(_accesses(body.value))
    read = [each for each in used if each.indices]
    accesses = [body.target, *dict.fromkeys(each for each in read if each != body.target)]
    try:
        factors = tuple(factor_of(access, statement) for access in accesses)
        lengths_of(scop, statement, factors)
    except (NoMatch, NoProduct):
        return None
    # What is written must not be read at another place, and no scalar may change.
    if any(factor.array is factors[0].array for factor in factors[1:]):
        return None
    is_plain = all(access.indices for access in (*statement.reads, *statement.writes))
    variables = {variable for variable, _ in statement.iterators}
    counts = any(each.variable in variables for each in used)
    is_number = not any(factor.array.type.is_bool for factor in factors)
    if not is_plain or not is_number or counts or not is_upward(scop, statement):
        return None
    return factors if statement.iterators else None


def _accesses(expression: Expression) -> Iterator[Access]:
    """What a value is computed from, without what is computed for subscripts."""
    if isinstance(expression, Access):
        yield expression
        return
    for operand in operands(expression):
        yield from _accesses(operand)


class StructuredEmitter:
    """Writes the op of a statement."""

    def __init__(self, out: Emitter, statement: ModelStatement, factors: Sequence[Factor]):
        self._out = out
        self._statement = statement
        self._factors = factors
        self._loops = [name for _, name in statement.iterators]

    def run(self) -> None:
        target, *inputs = self._factors
        body = self._statement.body
        assert isinstance(body, Assign)
        out = self._out
        buffers = [out.memory[factor.array] for factor in (*inputs, target)]
        types = [buffer.type for buffer in buffers]
        block = Block(arg_types=[type.element_type for type in types
                                 if isinstance(type, MemRefType)])  # fmt: skip
        with out.at(self._statement.place):
            self._fill(block, (*inputs, target), body)
            kinds = [
                IteratorTypeAttr.parallel() if loop in target.loops
                else IteratorTypeAttr.reduction()
                for loop in self._loops
            ]  # fmt: skip
            maps = [self._map(factor) for factor in (*inputs, target)]
            out.insert(GenericOp(buffers[:-1], buffers[-1:], Region(block), maps, kinds))

    def _fill(self, block: Block, factors: Sequence[Factor], body: Assign) -> None:
        """The block: elements come in, and what is stored goes out."""
        out = self._out
        outer = (out.statement, dict(out.counters), dict(out.registers))
        out.statement = self._statement
        for variable, name in self._statement.iterators:
            out.counters[variable] = Linear.of(name)
        for factor, argument in zip(factors, block.args, strict=True):
            place = tuple(Linear.of(loop) for loop in factor.loops)
            out.registers[factor.array, place] = argument
        with out.inside(block):
            out.insert(YieldOp(out.value(body.value)))
        out.statement, counters, registers = outer
        out.counters.clear()
        out.counters.update(counters)
        out.registers.clear()
        out.registers.update(registers)

    def _map(self, factor: Factor) -> AffineMapAttr:
        results = tuple(AffineExpr.dimension(self._loops.index(loop)) for loop in factor.loops)
        return AffineMapAttr(AffineMap(len(self._loops), 0, results))
