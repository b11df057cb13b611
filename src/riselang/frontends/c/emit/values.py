"""Emission of C expressions as ops, with C's rules for types, signs and rounding."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects import affine, arith, func, math, memref
from xdsl.dialects.builtin import FloatAttr, IntegerType, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from riselang.frontends.c.emit.bounds_checks import is_trapping
from riselang.frontends.c.emit.checks import CheckEmitter
from riselang.frontends.c.emit.indices import INDEX
from riselang.frontends.c.emit.output import Output
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.parse.c_types import BOOL, CType
from riselang.frontends.c.parse.libc import exact_op
from riselang.frontends.c.parse.syntax import (
    Access,
    Binary,
    Call,
    Conditional,
    Convert,
    Expression,
    Fma,
    Literal,
    Unary,
    Variable,
    inside,
)

_I64 = IntegerType(64)
FLOAT_OPS: Mapping[str, Callable[..., Operation]] = {
    "+": arith.AddfOp, "-": arith.SubfOp, "*": arith.MulfOp, "/": arith.DivfOp,
}  # fmt: skip
_SIGNED_OPS: Mapping[str, Callable[..., Operation]] = {
    "+": arith.AddiOp, "-": arith.SubiOp, "*": arith.MuliOp, "/": arith.DivSIOp,
    "%": arith.RemSIOp, "&": arith.AndIOp, "|": arith.OrIOp, "^": arith.XOrIOp,
    "<<": arith.ShLIOp, ">>": arith.ShRSIOp,
}  # fmt: skip
_UNSIGNED_OPS: Mapping[str, Callable[..., Operation]] = {
    **_SIGNED_OPS, "/": arith.DivUIOp, "%": arith.RemUIOp, ">>": arith.ShRUIOp,
}  # fmt: skip
_FLOAT_TESTS = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "une"}
_SIGNED_TESTS = {"<": "slt", "<=": "sle", ">": "sgt", ">=": "sge", "==": "eq", "!=": "ne"}
_UNSIGNED_TESTS = {"<": "ult", "<=": "ule", ">": "ugt", ">=": "uge", "==": "eq", "!=": "ne"}
MATH_OPS: Mapping[str, Callable[..., Operation]] = {
    "math.sqrt": math.SqrtOp, "math.absf": math.AbsFOp, "math.ceil": math.CeilOp,
    "math.floor": math.FloorOp, "math.trunc": math.TruncOp, "math.fma": math.FmaOp,
    "math.absi": math.AbsIOp,
}  # fmt: skip


Called = dict[str, tuple[list[Attribute], Attribute | None]]
"""Functions by name, with their argument and result types; None is void."""


class Emitter(Output):
    """Emits expressions, and tracks their variables."""

    def __init__(self, scop: Scop, block: Block):
        super().__init__(scop, block)
        self.scalars: dict[Variable, SSAValue] = {}
        """Variables that are values and do not change."""
        self.memory: dict[Variable, SSAValue] = {}
        """Buffers of arrays, and of scalars that are written."""
        self.counters: dict[Variable, Linear] = {}
        """The loop variables, in terms of the emitted loops."""
        self.called: Called = {}
        """Library functions, with their argument and result types."""
        self.registers: dict[tuple[Variable, tuple[Linear, ...]], SSAValue] = {}
        """Elements that are in registers during a loop, by their indices."""
        self.statement: ModelStatement | None = None
        self._checks = CheckEmitter(self)

    # Memory

    def load(self, access: Access) -> SSAValue:
        element = self._element(access)
        if element in self.registers:
            return self.registers[element]
        buffer = self.memory[access.variable]
        if self._is_checked(access):
            value = self._checks.load(access, buffer, self._computed_indices(access))
            return self._from_memory(value, access.type)
        found = self._affine_indices(access)
        if found is not None:
            map, operands = self.indices.access_map(found)
            value = self.add(affine.LoadOp(buffer, operands, map))
        else:
            value = self.add(memref.LoadOp.get(buffer, self._computed_indices(access)))
        return self._from_memory(value, access.type)

    def store(self, value: SSAValue, access: Access) -> None:
        element = self._element(access)
        if element in self.registers:
            self.registers[element] = value
            return
        buffer = self.memory[access.variable]
        if access.type.is_bool:
            value = self.add(arith.ExtUIOp(value, IntegerType(8)))
        if self._is_checked(access):
            self._checks.store(value, access, buffer, self._computed_indices(access))
            return
        found = self._affine_indices(access)
        if found is not None:
            map, operands = self.indices.access_map(found)
            self.insert(affine.StoreOp(value, buffer, operands, map))
        else:
            self.insert(memref.StoreOp.get(value, buffer, self._computed_indices(access)))

    def _is_checked(self, access: Access) -> bool:
        return self.statement is not None and access in self.statement.checks

    def _element(self, access: Access) -> tuple[Variable, tuple[Linear, ...]]:
        """Return an access by its indices in terms of the emitted loops."""
        known = self.statement.subscripts.get(access) if self.statement is not None else None
        if known is None or known.indices is None or not self.registers:
            return access.variable, (Linear(-1),)  # no element has this index
        renaming = self._renaming()
        return access.variable, tuple(substituted(index, renaming) for index in known.indices)

    def _from_memory(self, value: SSAValue, type: CType) -> SSAValue:
        if not type.is_bool:
            return value
        zero = self.add(arith.ConstantOp.from_int_and_width(0, 8))
        return self.add(arith.CmpiOp(value, zero, "ne"))

    def _affine_indices(self, access: Access) -> list[Linear] | None:
        """Return the indices of an access in terms of the emitted loops, if they are affine."""
        if self.statement is None or access not in self.statement.subscripts:
            return [] if not access.indices else None
        indices = self.statement.subscripts[access].indices
        if indices is None:
            return None
        moved = [substituted(index, self._renaming()) for index in indices]
        return moved if self.indices.is_affine(moved) else None

    def _computed_indices(self, access: Access) -> list[SSAValue]:
        known = self.statement.subscripts.get(access) if self.statement is not None else None
        if known is not None and known.indices is not None:
            return [
                self.indices.value(substituted(index, self._renaming())) for index in known.indices
            ]
        return [self.as_index(index) for index in access.indices]

    def _renaming(self) -> dict[str, Linear]:
        assert self.statement is not None
        return {name: self.counters[variable] for variable, name in self.statement.iterators}

    def as_index(self, expression: Expression) -> SSAValue:
        """Emit a C integer as an index."""
        value = self.value(expression)
        type = expression.type
        if type.bits < 64:
            widen = arith.ExtSIOp if type.is_signed else arith.ExtUIOp
            value = self.add(widen(value, _I64))
        return self.add(arith.IndexCastOp(value, INDEX))

    # Values

    def value(self, expression: Expression) -> SSAValue:
        with self.at(expression.place):
            match expression:
                case Literal():
                    return self._literal(expression)
                case Access():
                    return self._access(expression)
                case Unary():
                    return self._unary(expression)
                case Binary():
                    return self._binary(expression)
                case Conditional():
                    return self._conditional(expression)
                case Convert():
                    return self._converted(expression)
                case Call():
                    return self._call(expression)
                case Fma():
                    parts = [self.value(e) for e in (
                        expression.first, expression.second, expression.third)]  # fmt: skip
                    return self.add(math.FmaOp(parts[0], parts[1], parts[2]))
                case _:
                    raise AssertionError(f"{type(expression).__name__} is not a value")

    def _literal(self, expression: Literal) -> SSAValue:
        type = expression.type
        if type.is_float:
            attribute = FloatAttr(float(expression.value), type.mlir)  # type: ignore[arg-type]
            return self.add(arith.ConstantOp(attribute))
        bits = 1 if type.is_bool else type.bits
        value = int(expression.value)
        if not type.is_signed and not type.is_bool and value > type.largest // 2:
            value -= type.largest + 1
        return self.add(arith.ConstantOp.from_int_and_width(value, bits))

    def _access(self, expression: Access) -> SSAValue:
        variable = expression.variable
        if variable in self.scalars:
            return self.scalars[variable]
        if variable in self.counters:
            index = self.indices.value(self.counters[variable])
            return self._as_integer(index, variable.type)
        if variable in self.scop.fixed:
            return self.value(self.scop.fixed[variable])
        return self.load(expression)

    def _as_integer(self, index: SSAValue, type: CType) -> SSAValue:
        return self.add(arith.IndexCastOp(index, type.mlir))

    def _unary(self, expression: Unary) -> SSAValue:
        if expression.operator == "!":
            return self._as_number(self.truth(expression), expression.type)
        operand = self.value(expression.operand)
        type = expression.type
        if expression.operator == "~":
            ones = self.add(arith.ConstantOp.from_int_and_width(-1, type.bits))
            return self.add(arith.XOrIOp(operand, ones))
        if type.is_float:
            return self.add(arith.NegfOp(operand))
        zero = self.add(arith.ConstantOp.from_int_and_width(0, type.bits))
        return self.add(arith.SubiOp(zero, operand))

    def _binary(self, expression: Binary) -> SSAValue:
        operator, type = expression.operator, expression.type
        if operator in _SIGNED_TESTS or operator in ("&&", "||"):
            return self._as_number(self.truth(expression), type)
        left, right = self.value(expression.left), self.value(expression.right)
        if operator in ("<<", ">>"):
            right = self._resized(right, expression.right.type, type)
            right = self._checks.distance(right, type) if self.scop.is_checked else right
        elif self.scop.is_checked and is_trapping(expression):
            return self._checks.division(expression, left, right, _operations(type)[operator])
        return self.add(_operations(type)[operator](left, right))

    def swapped(self, expression: Binary) -> SSAValue:
        """Emit a sum or product, the right operand first: `a += b` computes b before it reads a."""
        right, left = self.value(expression.right), self.value(expression.left)
        with self.at(expression.place):
            return self.add(_operations(expression.type)[expression.operator](right, left))

    def _as_number(self, truth: SSAValue, type: CType) -> SSAValue:
        if type.is_bool:
            return truth
        return self.add(arith.ExtUIOp(truth, IntegerType(type.bits)))

    # Booleans

    def truth(self, expression: Expression) -> SSAValue:
        """Emit whether a value is nonzero, as an i1."""
        with self.at(expression.place):
            match expression:
                case Unary(operator="!"):
                    one = self.add(arith.ConstantOp.from_int_and_width(1, 1))
                    return self.add(arith.XOrIOp(self.truth(expression.operand), one))
                case Binary(operator=operator) if operator in _SIGNED_TESTS:
                    return self._comparison(expression)
                case Binary(operator="&&"):
                    return self._lazy(expression, is_and=True)
                case Binary(operator="||"):
                    return self._lazy(expression, is_and=False)
                case _:
                    return self._is_not_zero(self.value(expression), expression.type)

    def _comparison(self, expression: Binary) -> SSAValue:
        left, right = self.value(expression.left), self.value(expression.right)
        operator, type = expression.operator, expression.left.type
        if type.is_float:
            return self.add(arith.CmpfOp(left, right, _FLOAT_TESTS[operator]))
        tests = _SIGNED_TESTS if type.is_signed else _UNSIGNED_TESTS
        return self.add(arith.CmpiOp(left, right, tests[operator]))

    def _is_not_zero(self, value: SSAValue, type: CType) -> SSAValue:
        if type.is_bool:
            return value
        if type.is_float:
            zero = self.add(arith.ConstantOp(FloatAttr(0.0, type.mlir)))  # type: ignore[arg-type]
            return self.add(arith.CmpfOp(value, zero, "une"))
        zero = self.add(arith.ConstantOp.from_int_and_width(0, type.bits))
        return self.add(arith.CmpiOp(value, zero, "ne"))

    def _lazy(self, expression: Binary, *, is_and: bool) -> SSAValue:
        """Emit a short-circuit operator: the right operand is evaluated only if the left does not
        decide."""
        left = self.truth(expression.left)
        if is_safe(expression.right):
            right = self.truth(expression.right)
            return self.add((arith.AndIOp if is_and else arith.OrIOp)(left, right))
        decided = self.add(arith.ConstantOp.from_int_and_width(int(not is_and), 1))
        branches = (lambda: self.truth(expression.right), lambda: decided)
        first, second = branches if is_and else reversed(branches)
        return self.choice(left, i1, first, second)

    def _conditional(self, expression: Conditional) -> SSAValue:
        condition = self.truth(expression.condition)
        first, second = expression.first, expression.second
        if is_safe(first) and is_safe(second):
            return self.add(arith.SelectOp(condition, self.value(first), self.value(second)))
        type = expression.type.mlir
        return self.choice(condition, type, lambda: self.value(first), lambda: self.value(second))

    # Conversions and calls

    def _converted(self, expression: Convert) -> SSAValue:
        source, target = expression.operand.type, expression.type
        if target.is_bool:
            return self.truth(expression.operand)
        value = self.value(expression.operand)
        if source.is_float and target.is_float:
            op = arith.ExtFOp if source.bits < target.bits else arith.TruncFOp
            return self.add(op(value, target.mlir)) if source.bits != target.bits else value
        if source.is_float and self.scop.is_checked:
            return self._checks.integer(value, source, target)
        if source.is_float:
            op = arith.FPToSIOp if target.is_signed else arith.FPToUIOp
            return self.add(op(value, IntegerType(target.bits)))
        if target.is_float:
            is_signed = source.is_signed and not source.is_bool
            op = arith.SIToFPOp if is_signed else arith.UIToFPOp
            return self.add(op(value, target.mlir))  # type: ignore[arg-type]
        return self._resized(value, source, target)

    def _resized(self, value: SSAValue, source: CType, target: CType) -> SSAValue:
        bits = 1 if source.is_bool else source.bits
        if bits == target.bits:
            return value
        if bits > target.bits:
            return self.add(arith.TruncIOp(value, IntegerType(target.bits)))
        widen = arith.ExtSIOp if source.is_signed and source != BOOL else arith.ExtUIOp
        return self.add(widen(value, IntegerType(target.bits)))

    def _call(self, expression: Call) -> SSAValue:
        arguments = [self.value(argument) for argument in expression.arguments]
        exact = exact_op(expression.function)
        if exact is not None:
            return self.add(MATH_OPS[exact](*arguments))
        types = [argument.type for argument in arguments]
        self.called[expression.function] = (types, expression.type.mlir)
        return self.add(func.CallOp(expression.function, arguments, [expression.type.mlir]))


def is_safe(expression: Expression) -> bool:
    """Whether a value may be computed speculatively: nothing is loaded or divided."""
    for part in inside(expression):
        match part:
            case Access(indices=indices):
                if indices:
                    return False
            case Binary(operator="/" | "%") if part.type.is_integer:
                return False
            case Call():
                return False
            case Convert() if part.operand.type.is_float and part.type.is_integer:
                return False
            case _:
                pass
    return True


def substituted(linear: Linear, values: Mapping[str, Linear]) -> Linear:
    """Substitute quasi-affine expressions for names in another one."""
    total = Linear(linear.constant)
    for atom, factor in linear.terms:
        if isinstance(atom, str):
            part = values.get(atom, Linear.of(atom))
        else:
            inner = substituted(atom.dividend, values)
            kind = type(atom)
            part = Linear.of(kind(inner, atom.divisor))
            if inner.is_constant:
                part = Linear(_evaluated(kind(inner, atom.divisor)))
        total += part.times(factor)
    return total


def _evaluated(atom: object) -> int:
    from riselang.frontends.c.model.linear import Quotient, Remainder

    assert isinstance(atom, Quotient | Remainder)
    constant = atom.dividend.constant
    return constant // atom.divisor if isinstance(atom, Quotient) else constant % atom.divisor


def _operations(type: CType) -> Mapping[str, Callable[..., Operation]]:
    if type.is_float:
        return FLOAT_OPS
    return _SIGNED_OPS if type.is_signed else _UNSIGNED_OPS
