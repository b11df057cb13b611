"""Vectorization of innermost loops whose iterations do not depend on each other.

A loop becomes one over vectors, and a scalar tail. Each statement is computed for all lanes before
the next begins, which is valid since no iteration needs another. Lanes compute what iterations did,
so results are bitwise identical.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, math, memref, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from riselang.frontends.c.emit.values import FLOAT_OPS, MATH_OPS, Emitter, substituted
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import ModelStatement
from riselang.frontends.c.parse.c_types import CType
from riselang.frontends.c.parse.libc import exact_op
from riselang.frontends.c.parse.syntax import (
    Access,
    Assign,
    Binary,
    Call,
    Conditional,
    Expression,
    Fma,
    Literal,
    Unary,
    Variable,
    operands,
)
from riselang.support.machine import this_machine

_INTEGER_OPS = {
    "+": arith.AddiOp, "-": arith.SubiOp, "*": arith.MuliOp, "&": arith.AndIOp,
    "|": arith.OrIOp, "^": arith.XOrIOp,
}  # fmt: skip
VECTORS = 8
"""The number of machine vectors that are computed together: in one statement, or in several."""


@dataclass(frozen=True)
class Instance:
    """A statement in a loop, with the values of its iterators."""

    statement: ModelStatement
    counters: Mapping[Variable, Linear]

    def indices(self, access: Access) -> list[Linear] | None:
        """Return the indices of an access in terms of the emitted loops."""
        subscript = self.statement.subscripts.get(access)
        if subscript is None or subscript.indices is None:
            return None
        names = {name: self.counters[variable] for variable, name in self.statement.iterators}
        return [substituted(index, names) for index in subscript.indices]


def lanes_of(instances: Sequence[Instance], loop: str) -> int | None:
    """Return the vector length in iterations; None if the loop cannot be vectorized."""
    if not all(is_vectorisable(each.statement) for each in instances):
        return None
    widest = 0
    for instance in instances:
        body = instance.statement.body
        assert isinstance(body, Assign)
        if step_of(instance, body.target, loop) != 1:
            return None
        reads = [part for part in values_in(body.value) if isinstance(part, Access)]
        reads = [read for read in reads if read in instance.statement.subscripts]
        if any(step_of(instance, read, loop) not in (0, 1) for read in reads):
            return None
        widest = max(widest, body.target.type.bits)
    vectors = max(2, VECTORS // len(instances)) if len(instances) > 1 else VECTORS // 2
    return vectors * this_machine().lanes(widest // 8)


def is_vectorisable(statement: ModelStatement) -> bool:
    """Whether a statement can be computed on vectors."""
    body = statement.body
    if not isinstance(body, Assign) or not body.target.indices or body.target.type.is_bool:
        return False
    if statement.checks:
        return False
    type = body.target.type
    counters = {variable for variable, _ in statement.iterators}
    return all(_is_simple(part, type, statement, counters) for part in values_in(body.value))


def _is_simple(
    part: Expression, type: CType, statement: ModelStatement, counters: set[Variable]
) -> bool:
    if part.type != type and not (
        isinstance(part, Binary) and part.operator in ("<", "<=", ">", ">=")
    ):
        return False
    match part:
        case Literal() | Fma():
            return True
        case Access():
            return part.variable not in counters and (
                part not in statement.subscripts or part in statement.certain
            )
        case Unary():
            return part.operator == "-" and type.is_float
        case Binary():
            return part.operator in (FLOAT_OPS if type.is_float else _INTEGER_OPS)
        case Conditional():
            return extreme(part) is not None
        case Call():
            return exact_op(part.function) is not None
        case _:
            return False


def extreme(expression: Conditional) -> str | None:
    """Return `min` or `max` if a conditional of integers is one; else None."""
    test = expression.condition
    if not isinstance(test, Binary) or not expression.type.is_integer:
        return None
    if test.left.type != expression.type or not expression.type.is_signed:
        return None
    sides = (expression.first, expression.second)
    if test.operator in ("<", "<="):
        kinds = ("min", "max")
    elif test.operator in (">", ">="):
        kinds = ("max", "min")
    else:
        return None
    if sides == (test.left, test.right):
        return kinds[0]
    return kinds[1] if sides == (test.right, test.left) else None


def values_in(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and its operands, without the subscripts of elements."""
    stack = [expression]
    while stack:
        found = stack.pop()
        yield found
        if isinstance(found, Conditional) and extreme(found) is not None:
            stack += [found.first, found.second]
        elif not isinstance(found, Access):
            stack.extend(operands(found))


def step_of(instance: Instance, access: Access, loop: str) -> int | None:
    """Return the distance in memory that an access moves in one iteration; None if unknown."""
    indices = instance.indices(access)
    if indices is None or not indices:
        return None if indices is None else 0
    steps: list[int] = []
    for index in indices:
        step = 0
        for atom, factor in index.terms:
            if isinstance(atom, str):
                step += factor if atom == loop else 0
            elif loop in atom.dividend.names():
                return None
        steps.append(step)
    return steps[-1] if not any(steps[:-1]) else None


class VectorEmitter:
    """Emits statements for as many iterations as there are lanes."""

    def __init__(
        self,
        emitter: Emitter,
        lanes: int,
        loop: str,
        kept: Mapping[tuple[Variable, tuple[Linear, ...]], SSAValue],
    ):
        self._out = emitter
        self._lanes = lanes
        self._loop = loop
        self._kept = kept
        """Loop-invariant elements, loaded before the loop."""
        self._instance: Instance | None = None

    def statement(self, instance: Instance) -> None:
        body = instance.statement.body
        assert isinstance(body, Assign)
        self._instance = instance
        with self._out.at(body.place):
            value = self._value(body.value)
            buffer = self._out.memory[body.target.variable]
            self._out.insert(vector.StoreOp(value, buffer, self._indices(body.target)))

    def _indices(self, access: Access) -> list[SSAValue]:
        assert self._instance is not None
        found = self._instance.indices(access)
        assert found is not None
        return [self._out.indices.value(index) for index in found]

    def _vector(self, type: CType) -> VectorType[Attribute]:
        return VectorType(type.mlir, [self._lanes])

    def _spread(self, value: SSAValue, type: CType) -> SSAValue:
        return self._out.add(vector.BroadcastOp(value, self._vector(type)))

    def _value(self, expression: Expression) -> SSAValue:
        with self._out.at(expression.place):
            match expression:
                case Literal():
                    return self._spread(self._out.value(expression), expression.type)
                case Access():
                    return self._access(expression)
                case Unary():
                    return self._out.add(arith.NegfOp(self._value(expression.operand)))
                case Binary():
                    return self._binary(expression)
                case Conditional():
                    sides = self._value(expression.first), self._value(expression.second)
                    op = arith.MinSIOp if extreme(expression) == "min" else arith.MaxSIOp
                    return self._out.add(op(*sides))
                case Fma():
                    parts = [self._value(each) for each in operands(expression)]
                    return self._out.add(math.FmaOp(parts[0], parts[1], parts[2]))
                case Call():
                    exact = exact_op(expression.function)
                    assert exact is not None
                    parts = [self._value(each) for each in operands(expression)]
                    return self._out.add(MATH_OPS[exact](*parts))
                case _:
                    raise AssertionError(f"{type(expression).__name__} in a vector")

    def _binary(self, expression: Binary) -> SSAValue:
        operations = FLOAT_OPS if expression.type.is_float else _INTEGER_OPS
        left, right = self._value(expression.left), self._value(expression.right)
        return self._out.add(operations[expression.operator](left, right))

    def _access(self, access: Access) -> SSAValue:
        assert self._instance is not None
        if access not in self._instance.statement.subscripts:
            return self._spread(self._out.value(access), access.type)
        found = self._instance.indices(access)
        assert found is not None
        element = (access.variable, tuple(found))
        if element in self._kept:
            return self._spread(self._kept[element], access.type)
        buffer, indices = self._out.memory[access.variable], self._indices(access)
        if step_of(self._instance, access, self._loop) == 0:
            element = self._out.add(memref.LoadOp.get(buffer, indices))
            return self._spread(element, access.type)
        return self._out.add(vector.LoadOp(buffer, indices, self._vector(access.type)))
