"""Emission of C expressions as ops, with C's rules for types, signs and rounding."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects import affine, arith, func, math
from xdsl.dialects.builtin import FloatAttr, IntegerType, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from riselang.frontends.c.emit.bounds_checks import is_trapping
from riselang.frontends.c.emit.check_emitter import CheckEmitter
from riselang.frontends.c.emit.indices import INDEX
from riselang.frontends.c.emit.output import OpInserter
from riselang.frontends.c.emit.row_pointers import emit_element_load, emit_element_store
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
    walk_expression,
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


CalledFunctions = dict[str, tuple[list[Attribute], Attribute | None]]
"""Functions by name, with their argument and result types; None is void."""


class ExpressionEmitter(OpInserter):
    """Emits expressions, and tracks their variables."""

    def __init__(self, scop: Scop, block: Block):
        super().__init__(scop, block)
        self.scalars: dict[Variable, SSAValue] = {}
        """Variables that are values and do not change."""
        self.memory: dict[Variable, SSAValue] = {}
        """Buffers of arrays, and of scalars that are written."""
        self.counters: dict[Variable, Linear] = {}
        """The loop variables, in terms of the emitted loops."""
        self.called_functions: CalledFunctions = {}
        """Library functions, with their argument and result types."""
        self.registers: dict[tuple[Variable, tuple[Linear, ...]], SSAValue] = {}
        """Elements that are in registers during a loop, by their indices."""
        self.statement: ModelStatement | None = None
        self._checks = CheckEmitter(self)

    # Memory

    def emit_load(self, access: Access) -> SSAValue:
        element = self._element_key(access)
        if element in self.registers:
            return self.registers[element]
        buffer = self.memory[access.variable]
        if self._is_checked(access):
            value = self._checks.load(access, buffer, self._emit_indices(access))
            return self._convert_loaded(value, access.type)
        affine_indices = self._affine_indices(access)
        if affine_indices is not None:
            map, operands = self.indices.access_map(affine_indices)
            value = self.add(affine.LoadOp(buffer, operands, map))
        else:
            value = emit_element_load(self, access, buffer, self._emit_indices(access))
        return self._convert_loaded(value, access.type)

    def emit_store(self, value: SSAValue, access: Access) -> None:
        element = self._element_key(access)
        if element in self.registers:
            self.registers[element] = value
            return
        buffer = self.memory[access.variable]
        if access.type.is_bool:
            value = self.add(arith.ExtUIOp(value, IntegerType(8)))
        if self._is_checked(access):
            self._checks.store(value, access, buffer, self._emit_indices(access))
            return
        affine_indices = self._affine_indices(access)
        if affine_indices is not None:
            map, operands = self.indices.access_map(affine_indices)
            self.insert(affine.StoreOp(value, buffer, operands, map))
        else:
            emit_element_store(self, value, access, buffer, self._emit_indices(access))

    def _is_checked(self, access: Access) -> bool:
        return self.statement is not None and access in self.statement.checked_accesses

    def _element_key(self, access: Access) -> tuple[Variable, tuple[Linear, ...]]:
        """Return an access by its indices in terms of the emitted loops."""
        relation = (
            self.statement.access_relations.get(access) if self.statement is not None else None
        )
        if relation is None or relation.indices is None or not self.registers:
            return access.variable, (Linear(-1),)  # no element has this index
        renaming = self._counter_bindings()
        return access.variable, tuple(
            substitute_names(index, renaming) for index in relation.indices
        )

    def _convert_loaded(self, value: SSAValue, type: CType) -> SSAValue:
        if not type.is_bool:
            return value
        zero = self.add(arith.ConstantOp.from_int_and_width(0, 8))
        return self.add(arith.CmpiOp(value, zero, "ne"))

    def _affine_indices(self, access: Access) -> list[Linear] | None:
        """Return the indices of an access in terms of the emitted loops, if they are affine."""
        if access.variable.row_pointers:
            return None
        if self.statement is None or access not in self.statement.access_relations:
            return [] if not access.indices else None
        indices = self.statement.access_relations[access].indices
        if indices is None:
            return None
        substituted = [substitute_names(index, self._counter_bindings()) for index in indices]
        return substituted if self.indices.is_affine(substituted) else None

    def _emit_indices(self, access: Access) -> list[SSAValue]:
        relation = (
            self.statement.access_relations.get(access) if self.statement is not None else None
        )
        if relation is not None and relation.indices is not None:
            return [
                self.indices.emit_linear(substitute_names(index, self._counter_bindings()))
                for index in relation.indices
            ]
        return [self.emit_index(index) for index in access.indices]

    def _counter_bindings(self) -> dict[str, Linear]:
        assert self.statement is not None
        return {name: self.counters[variable] for variable, name in self.statement.iterators}

    def emit_index(self, expression: Expression) -> SSAValue:
        """Emit a C integer as an index."""
        value = self.emit_value(expression)
        type = expression.type
        if type.bits < 64:
            widen = arith.ExtSIOp if type.is_signed else arith.ExtUIOp
            value = self.add(widen(value, _I64))
        return self.add(arith.IndexCastOp(value, INDEX))

    # Values

    def emit_value(self, expression: Expression) -> SSAValue:
        with self.at_location(expression.location):
            match expression:
                case Literal():
                    return self._emit_literal(expression)
                case Access():
                    return self._emit_access(expression)
                case Unary():
                    return self._emit_unary(expression)
                case Binary():
                    return self._emit_binary(expression)
                case Conditional():
                    return self._emit_conditional(expression)
                case Convert():
                    return self._emit_conversion(expression)
                case Call():
                    return self._emit_call(expression)
                case Fma():
                    parts = [self.emit_value(e) for e in (
                        expression.first, expression.second, expression.third)]  # fmt: skip
                    return self.add(math.FmaOp(parts[0], parts[1], parts[2]))
                case _:
                    raise AssertionError(f"{type(expression).__name__} is not a value")

    def _emit_literal(self, expression: Literal) -> SSAValue:
        type = expression.type
        if type.is_float:
            attribute = FloatAttr(float(expression.value), type.mlir_type)  # type: ignore[arg-type]
            return self.add(arith.ConstantOp(attribute))
        bits = 1 if type.is_bool else type.bits
        value = int(expression.value)
        if not type.is_signed and not type.is_bool and value > type.largest // 2:
            value -= type.largest + 1
        return self.add(arith.ConstantOp.from_int_and_width(value, bits))

    def emit_zero(self, type: CType) -> SSAValue:
        return self._emit_literal(Literal(self.scop.location, type, 0))

    def _emit_access(self, expression: Access) -> SSAValue:
        variable = expression.variable
        if variable in self.scalars:
            return self.scalars[variable]
        if variable in self.counters:
            index = self.indices.emit_linear(self.counters[variable])
            return self._index_to_integer(index, variable.type)
        if variable in self.scop.fixed_values:
            return self.emit_value(self.scop.fixed_values[variable])
        return self.emit_load(expression)

    def _index_to_integer(self, index: SSAValue, type: CType) -> SSAValue:
        return self.add(arith.IndexCastOp(index, type.mlir_type))

    def _emit_unary(self, expression: Unary) -> SSAValue:
        if expression.operator == "!":
            return self._boolean_to_number(self.emit_boolean(expression), expression.type)
        operand = self.emit_value(expression.operand)
        type = expression.type
        if expression.operator == "~":
            ones = self.add(arith.ConstantOp.from_int_and_width(-1, type.bits))
            return self.add(arith.XOrIOp(operand, ones))
        if type.is_float:
            return self.add(arith.NegfOp(operand))
        zero = self.add(arith.ConstantOp.from_int_and_width(0, type.bits))
        return self.add(arith.SubiOp(zero, operand))

    def _emit_binary(self, expression: Binary) -> SSAValue:
        operator, type = expression.operator, expression.type
        if operator in _SIGNED_TESTS or operator in ("&&", "||"):
            return self._boolean_to_number(self.emit_boolean(expression), type)
        left, right = self.emit_value(expression.left), self.emit_value(expression.right)
        if operator in ("<<", ">>"):
            right = self._resize_integer(right, expression.right.type, type)
            right = self._checks.emit_shift_distance(right, type) if self.scop.is_checked else right
        elif self.scop.is_checked and is_trapping(expression):
            return self._checks.emit_division(
                expression, left, right, _arithmetic_ops(type)[operator]
            )
        return self.add(_arithmetic_ops(type)[operator](left, right))

    def emit_swapped(self, expression: Binary) -> SSAValue:
        """Emit a sum or product, the right operand first: `a += b` computes b before it reads a."""
        right, left = self.emit_value(expression.right), self.emit_value(expression.left)
        with self.at_location(expression.location):
            return self.add(_arithmetic_ops(expression.type)[expression.operator](right, left))

    def _boolean_to_number(self, truth: SSAValue, type: CType) -> SSAValue:
        if type.is_bool:
            return truth
        return self.add(arith.ExtUIOp(truth, IntegerType(type.bits)))

    # Booleans

    def emit_boolean(self, expression: Expression) -> SSAValue:
        """Emit whether a value is nonzero, as an i1."""
        with self.at_location(expression.location):
            match expression:
                case Unary(operator="!"):
                    one = self.add(arith.ConstantOp.from_int_and_width(1, 1))
                    return self.add(arith.XOrIOp(self.emit_boolean(expression.operand), one))
                case Binary(operator=operator) if operator in _SIGNED_TESTS:
                    return self._emit_comparison(expression)
                case Binary(operator="&&"):
                    return self._emit_short_circuit(expression, is_and=True)
                case Binary(operator="||"):
                    return self._emit_short_circuit(expression, is_and=False)
                case _:
                    return self._emit_nonzero(self.emit_value(expression), expression.type)

    def _emit_comparison(self, expression: Binary) -> SSAValue:
        left, right = self.emit_value(expression.left), self.emit_value(expression.right)
        operator, type = expression.operator, expression.left.type
        if type.is_float:
            return self.add(arith.CmpfOp(left, right, _FLOAT_TESTS[operator]))
        tests = _SIGNED_TESTS if type.is_signed else _UNSIGNED_TESTS
        return self.add(arith.CmpiOp(left, right, tests[operator]))

    def _emit_nonzero(self, value: SSAValue, type: CType) -> SSAValue:
        if type.is_bool:
            return value
        if type.is_float:
            zero = self.add(arith.ConstantOp(FloatAttr(0.0, type.mlir_type)))  # type: ignore[arg-type]
            return self.add(arith.CmpfOp(value, zero, "une"))
        zero = self.add(arith.ConstantOp.from_int_and_width(0, type.bits))
        return self.add(arith.CmpiOp(value, zero, "ne"))

    def _emit_short_circuit(self, expression: Binary, *, is_and: bool) -> SSAValue:
        """Emit a short-circuit operator: the right operand is evaluated only if the left does not
        decide."""
        left = self.emit_boolean(expression.left)
        if is_speculatable(expression.right):
            right = self.emit_boolean(expression.right)
            return self.add((arith.AndIOp if is_and else arith.OrIOp)(left, right))
        decided = self.add(arith.ConstantOp.from_int_and_width(int(not is_and), 1))
        branches = (lambda: self.emit_boolean(expression.right), lambda: decided)
        first, second = branches if is_and else reversed(branches)
        return self.emit_choice(left, i1, first, second)

    def _emit_conditional(self, expression: Conditional) -> SSAValue:
        condition = self.emit_boolean(expression.condition)
        first, second = expression.first, expression.second
        if is_speculatable(first) and is_speculatable(second):
            return self.add(
                arith.SelectOp(condition, self.emit_value(first), self.emit_value(second))
            )
        type = expression.type.mlir_type
        return self.emit_choice(
            condition, type, lambda: self.emit_value(first), lambda: self.emit_value(second)
        )

    # Conversions and calls

    def _emit_conversion(self, expression: Convert) -> SSAValue:
        source, target = expression.operand.type, expression.type
        if target.is_bool:
            return self.emit_boolean(expression.operand)
        value = self.emit_value(expression.operand)
        if source.is_float and target.is_float:
            op = arith.ExtFOp if source.bits < target.bits else arith.TruncFOp
            return self.add(op(value, target.mlir_type)) if source.bits != target.bits else value
        if source.is_float and self.scop.is_checked:
            return self._checks.emit_float_to_integer(value, source, target)
        if source.is_float:
            op = arith.FPToSIOp if target.is_signed else arith.FPToUIOp
            return self.add(op(value, IntegerType(target.bits)))
        if target.is_float:
            is_signed = source.is_signed and not source.is_bool
            op = arith.SIToFPOp if is_signed else arith.UIToFPOp
            return self.add(op(value, target.mlir_type))  # type: ignore[arg-type]
        return self._resize_integer(value, source, target)

    def _resize_integer(self, value: SSAValue, source: CType, target: CType) -> SSAValue:
        bits = 1 if source.is_bool else source.bits
        if bits == target.bits:
            return value
        if bits > target.bits:
            return self.add(arith.TruncIOp(value, IntegerType(target.bits)))
        widen = arith.ExtSIOp if source.is_signed and source != BOOL else arith.ExtUIOp
        return self.add(widen(value, IntegerType(target.bits)))

    def _emit_call(self, expression: Call) -> SSAValue:
        arguments = [self.emit_value(argument) for argument in expression.arguments]
        exact = exact_op(expression.function)
        if exact is not None:
            return self.add(MATH_OPS[exact](*arguments))
        types = [argument.type for argument in arguments]
        self.called_functions[expression.function] = (types, expression.type.mlir_type)
        return self.add(func.CallOp(expression.function, arguments, [expression.type.mlir_type]))


def is_speculatable(expression: Expression) -> bool:
    """Whether a value may be computed speculatively: nothing is loaded or divided."""
    for part in walk_expression(expression):
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


def substitute_names(linear: Linear, values: Mapping[str, Linear]) -> Linear:
    """Substitute quasi-affine expressions for names in another one."""
    total = Linear(linear.constant)
    for atom, factor in linear.terms:
        if isinstance(atom, str):
            part = values.get(atom, Linear.of(atom))
        else:
            inner = substitute_names(atom.dividend, values)
            kind = type(atom)
            part = Linear.of(kind(inner, atom.divisor))
            if inner.is_constant:
                part = Linear(_evaluate_atom(kind(inner, atom.divisor)))
        total += part.times(factor)
    return total


def _evaluate_atom(atom: object) -> int:
    from riselang.frontends.c.model.linear import Quotient, Remainder

    assert isinstance(atom, Quotient | Remainder)
    constant = atom.dividend.constant
    return constant // atom.divisor if isinstance(atom, Quotient) else constant % atom.divisor


def _arithmetic_ops(type: CType) -> Mapping[str, Callable[..., Operation]]:
    if type.is_float:
        return FLOAT_OPS
    return _SIGNED_OPS if type.is_signed else _UNSIGNED_OPS
