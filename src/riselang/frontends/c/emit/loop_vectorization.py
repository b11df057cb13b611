"""Vectorization of innermost loops whose iterations do not depend on each other.

A loop becomes loops over several vectors and over one, and a tail: one vector with a mask if the
CPU has masks, one that repeats iterations of the vector before it, or a scalar loop. Each statement
is computed for all lanes before the next begins, which is valid since no iteration needs another.
Lanes compute what iterations did, so results are bitwise identical.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, math, memref, vector
from xdsl.dialects.builtin import DenseArrayBase, VectorType, i64
from xdsl.ir import Attribute, SSAValue

from riselang.frontends.c.emit.expression_emitter import (
    FLOAT_OPS,
    MATH_OPS,
    ExpressionEmitter,
    substitute_names,
)
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
    direct_operands,
)
from riselang.support.machine import this_machine

_INTEGER_OPS = {
    "+": arith.AddiOp, "-": arith.SubiOp, "*": arith.MuliOp, "&": arith.AndIOp,
    "|": arith.OrIOp, "^": arith.XOrIOp,
}  # fmt: skip
VECTORS_PER_ITERATION = 8
"""The number of machine vectors that are computed together: in one statement, or in several."""


Elements = Mapping[tuple[Variable, tuple[Linear, ...]], SSAValue]
"""The values of array elements, by array and indices."""


@dataclass(frozen=True)
class StatementInstance:
    """A statement in a loop, with the values of its iterators."""

    statement: ModelStatement
    counters: Mapping[Variable, Linear]

    def indices(self, access: Access) -> list[Linear] | None:
        """Return the indices of an access in terms of the emitted loops."""
        subscript = self.statement.access_relations.get(access)
        if subscript is None or subscript.indices is None:
            return None
        names = {name: self.counters[variable] for variable, name in self.statement.iterators}
        return [substitute_names(index, names) for index in subscript.indices]


@dataclass(frozen=True)
class VectorShape:
    """How many iterations of a loop are computed together."""

    lanes: int
    """The iterations of one machine vector."""
    vectors: int
    """The number of machine vectors, as long as there are enough iterations."""
    can_mask: bool
    """Whether the last vector can be computed with a mask, if there are fewer iterations."""


def vector_shape(instances: Sequence[StatementInstance], loop: str) -> VectorShape | None:
    """Return the shape of the vectors of a loop; None if it cannot be vectorized."""
    if not all(is_vectorizable(each.statement) for each in instances) or _is_copy(instances, loop):
        return None
    widest, strides = 0, set[int | None]()
    for instance in instances:
        body = instance.statement.body
        assert isinstance(body, Assign)
        if access_stride(instance, body.target, loop) != 1:
            return None
        reads = [part for part in walk_values(body.value) if isinstance(part, Access)]
        reads = [read for read in reads if read in instance.statement.access_relations]
        strides |= {access_stride(instance, read, loop) for read in reads}
        widest = max(widest, body.target.type.bits)
    if not strides <= {-1, 0, 1}:
        return None
    vectors = (
        max(2, VECTORS_PER_ITERATION // len(instances))
        if len(instances) > 1
        else VECTORS_PER_ITERATION // 2
    )
    machine = this_machine()
    return VectorShape(machine.lanes(widest // 8), vectors, machine.has_masks and -1 not in strides)


def can_repeat(instances: Sequence[StatementInstance]) -> bool:
    """Whether an iteration may run twice: none reads an array that any of them writes."""
    written = {
        each.variable.storage for instance in instances for each in instance.statement.writes
    }
    read = {each.variable.storage for instance in instances for each in instance.statement.reads}
    return not written & read


def _is_copy(instances: Sequence[StatementInstance], loop: str) -> bool:
    """Whether a loop copies elements, which LLVM replaces with one call of `memcpy`."""
    body = instances[0].statement.body
    if len(instances) > 1 or not isinstance(body, Assign) or not isinstance(body.value, Access):
        return False
    return access_stride(instances[0], body.value, loop) == 1


def is_vectorizable(statement: ModelStatement) -> bool:
    """Whether a statement can be computed on vectors."""
    body = statement.body
    if not isinstance(body, Assign) or not body.target.indices or body.target.type.is_bool:
        return False
    if statement.checked_accesses:
        return False
    type = body.target.type
    counters = {variable for variable, _ in statement.iterators}
    return all(
        _is_vectorizable_part(part, type, statement, counters) for part in walk_values(body.value)
    )


def _is_vectorizable_part(
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
                part not in statement.access_relations or part in statement.must_accesses
            )
        case Unary():
            return part.operator == "-" and type.is_float
        case Binary():
            return part.operator in (FLOAT_OPS if type.is_float else _INTEGER_OPS)
        case Conditional():
            return min_or_max(part) is not None
        case Call():
            return exact_op(part.function) is not None
        case _:
            return False


def min_or_max(expression: Conditional) -> str | None:
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


def walk_values(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and its operands, without the subscripts of elements."""
    stack = [expression]
    while stack:
        value = stack.pop()
        yield value
        if isinstance(value, Conditional) and min_or_max(value) is not None:
            stack += [value.first, value.second]
        elif not isinstance(value, Access):
            stack.extend(direct_operands(value))


def access_stride(instance: StatementInstance, access: Access, loop: str) -> int | None:
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
        emitter: ExpressionEmitter,
        lanes: int,
        loop: str,
        elements: Elements,
        mask: SSAValue | None = None,
    ):
        self._out = emitter
        self._lanes = lanes
        self._loop = loop
        self._elements = elements
        """Loop-invariant elements, loaded before the loop."""
        self._mask = mask
        """The lanes that are loaded and stored; None for all."""
        self._instance: StatementInstance | None = None

    def emit_statement(self, instance: StatementInstance) -> None:
        body = instance.statement.body
        assert isinstance(body, Assign)
        self._instance = instance
        with self._out.at_location(body.location):
            value = self._emit_value(body.value)
            buffer = self._out.memory[body.target.variable]
            indices = self._emit_indices(body.target)
            self._out.insert(
                vector.StoreOp(value, buffer, indices)
                if self._mask is None
                else vector.MaskedStoreOp(buffer, indices, self._mask, value)
            )

    def _emit_indices(self, access: Access, lane: int = 0) -> list[SSAValue]:
        """Emit the indices of the element that a lane accesses."""
        assert self._instance is not None
        indices = self._instance.indices(access)
        assert indices is not None
        later = {self._loop: Linear.of(self._loop) + Linear(lane)}
        return [self._out.indices.emit_linear(substitute_names(each, later)) for each in indices]

    def _vector_type(self, type: CType) -> VectorType[Attribute]:
        return VectorType(type.mlir_type, [self._lanes])

    def _broadcast(self, value: SSAValue, type: CType) -> SSAValue:
        return self._out.add(vector.BroadcastOp(value, self._vector_type(type)))

    def _emit_value(self, expression: Expression) -> SSAValue:
        with self._out.at_location(expression.location):
            match expression:
                case Literal():
                    return self._broadcast(self._out.emit_value(expression), expression.type)
                case Access():
                    return self._emit_access(expression)
                case Unary():
                    return self._out.add(arith.NegfOp(self._emit_value(expression.operand)))
                case Binary():
                    return self._emit_binary(expression)
                case Conditional():
                    sides = self._emit_value(expression.first), self._emit_value(expression.second)
                    op = arith.MinSIOp if min_or_max(expression) == "min" else arith.MaxSIOp
                    return self._out.add(op(*sides))
                case Fma():
                    parts = [self._emit_value(each) for each in direct_operands(expression)]
                    return self._out.add(math.FmaOp(parts[0], parts[1], parts[2]))
                case Call():
                    exact = exact_op(expression.function)
                    assert exact is not None
                    parts = [self._emit_value(each) for each in direct_operands(expression)]
                    return self._out.add(MATH_OPS[exact](*parts))
                case _:
                    raise AssertionError(f"{type(expression).__name__} in a vector")

    def _emit_binary(self, expression: Binary) -> SSAValue:
        operations = FLOAT_OPS if expression.type.is_float else _INTEGER_OPS
        left, right = self._emit_value(expression.left), self._emit_value(expression.right)
        return self._out.add(operations[expression.operator](left, right))

    def _emit_access(self, access: Access) -> SSAValue:
        assert self._instance is not None
        if access not in self._instance.statement.access_relations:
            return self._broadcast(self._out.emit_value(access), access.type)
        found = self._instance.indices(access)
        assert found is not None
        element = (access.variable, tuple(found))
        if element in self._elements:
            return self._broadcast(self._elements[element], access.type)
        buffer, type = self._out.memory[access.variable], self._vector_type(access.type)
        stride = access_stride(self._instance, access, self._loop)
        indices = self._emit_indices(access, self._lanes - 1 if stride == -1 else 0)
        if stride == 0:
            element = self._out.add(memref.LoadOp.get(buffer, indices))
            return self._broadcast(element, access.type)
        if self._mask is not None:
            zero = self._broadcast(self._out.emit_zero(access.type), access.type)
            return self._out.add(vector.MaskedLoadOp(buffer, indices, self._mask, zero))
        value = self._out.add(vector.LoadOp(buffer, indices, type))
        if stride == 1:
            return value
        order = DenseArrayBase.from_list(i64, range(self._lanes)[::-1])
        return self._out.add(vector.ShuffleOp(value, value, order, result_type=type))
