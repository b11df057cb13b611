"""Subscripts and bounds as affine maps, or as arithmetic where something is not affine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import affine, arith
from xdsl.dialects.builtin import AffineMapAttr, IndexType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from riselang.frontends.c.emit.isl_expressions import Bindings, operation_name, read_number
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.linear import Linear, Quotient

INDEX = IndexType()


class IndexEmitter:
    """The values of loop variables and parameters by name, and expressions over them."""

    def __init__(self, insert: Callable[[Operation], Operation]):
        self._insert = insert
        self.symbols: dict[str, SSAValue] = {}
        """Parameters, which are constant throughout the function."""
        self.loops: dict[str, SSAValue] = {}
        """Loop variables that affine maps may use."""
        self.non_affine_values: dict[str, SSAValue] = {}
        """Variables of `scf` loops, and other values that affine maps may not use."""

    def add(self, op: Operation) -> SSAValue:
        return self._insert(op).results[0]

    def is_affine(self, values: Sequence[Linear]) -> bool:
        if any(name in self.non_affine_values for value in values for name in value.names()):
            return False
        return not any(self._is_misfolded(value) for value in values)

    def _is_misfolded(self, linear: Linear) -> bool:
        """Whether a loop variable is subtracted in a dividend.

        MLIR simplifies `-i mod 2` to 1 where it knows only that i is negative.
        """
        for atom, _ in linear.terms:
            if isinstance(atom, str):
                continue
            terms = atom.dividend.terms
            if any(factor < 0 and name in self.loops for name, factor in terms):
                return True
            if self._is_misfolded(atom.dividend):
                return True
        return False

    def affine_map(self, values: Sequence[Linear]) -> tuple[AffineMapAttr, list[SSAValue]]:
        """Return a map of dimensions for loops and symbols for parameters, and its operands."""
        names = list(dict.fromkeys(name for value in values for name in value.names()))
        dims = [name for name in self.loops if name in names]
        symbols = [name for name in self.symbols if name in names]

        def resolve(name: str) -> AffineExpr:
            if name in dims:
                return AffineExpr.dimension(dims.index(name))
            return AffineExpr.symbol(symbols.index(name))

        results = tuple(value.to_affine(resolve) for value in values)
        operands = [self.loops[name] for name in dims] + [self.symbols[name] for name in symbols]
        return AffineMapAttr(AffineMap(len(dims), len(symbols), results)), operands

    def access_map(self, values: Sequence[Linear]) -> tuple[AffineMapAttr, list[SSAValue]]:
        """Return a map of dimensions alone, also for parameters: the text of accesses has no
        symbols."""
        names = list(dict.fromkeys(name for value in values for name in value.names()))
        known = {**self.loops, **self.symbols}
        dims = [name for name in known if name in names]
        results = tuple(
            value.to_affine(lambda name: AffineExpr.dimension(dims.index(name))) for value in values
        )
        return AffineMapAttr(AffineMap(len(dims), 0, results)), [known[name] for name in dims]

    def emit_linear(self, linear: Linear) -> SSAValue:
        """Emit a quasi-affine expression as an index."""
        if len(linear.terms) == 1 and linear.constant == 0 and linear.terms[0][1] == 1:
            atom = linear.terms[0][0]
            if isinstance(atom, str):
                return self._value_of(atom)
        if linear.is_constant:
            return self.emit_constant(linear.constant)
        if self.is_affine([linear]):
            map, operands = self.affine_map([linear])
            return self.add(affine.ApplyOp(operands, map))
        return self._emit_arithmetic(linear)

    def _value_of(self, name: str) -> SSAValue:
        for values in (self.loops, self.symbols, self.non_affine_values):
            if name in values:
                return values[name]
        raise AssertionError(f"{name} has no value")

    def emit_constant(self, value: int) -> SSAValue:
        return self.add(arith.ConstantOp.from_int_and_width(value, INDEX))

    def _emit_arithmetic(self, linear: Linear) -> SSAValue:
        total = self.emit_constant(linear.constant)
        for atom, factor in linear.terms:
            if isinstance(atom, str):
                part = self._value_of(atom)
            else:
                dividend, divisor = (
                    self.emit_linear(atom.dividend),
                    self.emit_constant(atom.divisor),
                )
                part = self.add(arith.FloorDivSIOp(dividend, divisor))
                if not isinstance(atom, Quotient):
                    product = self.add(arith.MuliOp(part, divisor))
                    part = self.add(arith.SubiOp(dividend, product))
            scaled = self.add(arith.MuliOp(part, self.emit_constant(factor)))
            total = self.add(arith.AddiOp(total, scaled))
        return total

    # Piecewise isl expressions

    def emit_condition(self, expression: Any, bindings: Bindings) -> SSAValue:
        """Emit an isl condition as an i1."""
        return self._to_boolean(self.emit_isl_expression(expression, bindings))

    def emit_isl_expression(self, expression: Any, bindings: Bindings) -> SSAValue:
        """Emit any isl expression as an index, or as an i1."""
        types = isl().ast_expr_type
        if expression.get_type() == types.id:
            name = expression.get_id().get_name()
            return self.emit_linear(bindings.get(name, Linear.of(name)))
        if expression.get_type() == types.int:
            return self.emit_constant(read_number(expression))
        arguments = [
            self.emit_isl_expression(expression.get_op_arg(position), bindings)
            for position in range(expression.get_op_n_arg())
        ]
        kind = operation_name(expression)
        if kind in ("and_", "and_then", "or_", "or_else", "cond", "select"):
            arguments[: 1 if kind in ("cond", "select") else None] = [
                self._to_boolean(each)
                for each in arguments[: 1 if kind in ("cond", "select") else None]
            ]
        if kind in _COMPARISONS:
            return self.add(arith.CmpiOp(arguments[0], arguments[1], _COMPARISONS[kind]))
        if kind in ("cond", "select"):
            return self.add(arith.SelectOp(*arguments))
        if kind == "minus":
            return self.add(arith.SubiOp(self.emit_constant(0), arguments[0]))
        total = arguments[0]
        for argument in arguments[1:]:
            total = self.add(_OPERATIONS[kind](total, argument))
        return total

    def _to_boolean(self, value: SSAValue) -> SSAValue:
        """Convert an isl condition that is an integer: zero is false."""
        if value.type != INDEX:
            return value
        return self.add(arith.CmpiOp(value, self.emit_constant(0), "ne"))


_COMPARISONS = {"eq": "eq", "ge": "sge", "gt": "sgt", "le": "sle", "lt": "slt"}
_OPERATIONS: dict[str, Callable[[SSAValue, SSAValue], Operation]] = {
    "add": arith.AddiOp, "sub": arith.SubiOp, "mul": arith.MuliOp, "max": arith.MaxSIOp,
    "min": arith.MinSIOp, "fdiv_q": arith.FloorDivSIOp, "pdiv_q": arith.FloorDivSIOp,
    "div": arith.DivSIOp, "pdiv_r": arith.RemSIOp, "zdiv_r": arith.RemSIOp,
    "and_": arith.AndIOp, "and_then": arith.AndIOp, "or_": arith.OrIOp, "or_else": arith.OrIOp,
}  # fmt: skip
