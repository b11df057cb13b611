"""Pass `check-floats`: makes operations on floats report results that are NaN or infinite.

Each operation whose result is not finite calls `rise_not_finite` with its number, its operands and
its result; the function finds the first operation whose operands are finite. An attribute of the
module lists the operations with their locations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    FileLineColLoc,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from riselang.dialects.location_attributes import location_attribute
from riselang.dialects.module import location_of, walk
from riselang.support.errors import SourceLocation
from riselang.support.observations import MAX_FLOAT_OPERANDS, REPORT_FLOAT
from riselang.support.recursion import with_deep_stack

FLOAT_CHECKS = "rise.float_checks"
"""The module attribute with the operations that are checked, in the order of their numbers."""


@dataclass(frozen=True)
class FloatCheck:
    """An operation that is checked."""

    name: str
    operand_count: int
    location: SourceLocation | None


FloatChecks = tuple[FloatCheck, ...]


@dataclass(frozen=True)
class CheckFloatsPass(ModulePass):
    """Makes operations on floats report results that are NaN or infinite."""

    name = "check-floats"

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        checked = [inner for inner in walk(op) if _is_checked(inner)]
        if not checked:
            return
        for number, inner in enumerate(checked):
            _check_result(inner, number)
        op.attributes[FLOAT_CHECKS] = ArrayAttr(map(_describe, checked))
        types: list[Attribute] = [i64, *[f64] * (MAX_FLOAT_OPERANDS + 1)]
        op.body.block.add_op(func.FuncOp.external(REPORT_FLOAT, types, []))


def _describe(op: Operation) -> Attribute:
    """Return the name, the number of operands and the location of an op."""
    name, location = op.name.partition(".")[2], location_attribute(location_of(op))
    return ArrayAttr([StringAttr(name), IntegerAttr(len(op.operands), i64), location])


def float_checks(module: ModuleOp) -> FloatChecks:
    """Return the operations that are checked."""
    attribute = module.attributes.get(FLOAT_CHECKS)
    return tuple(map(_read_check, attribute.data)) if isinstance(attribute, ArrayAttr) else ()


def _read_check(description: Attribute) -> FloatCheck:
    assert isinstance(description, ArrayAttr)
    name, count, location = description.data
    assert isinstance(name, StringAttr)
    assert isinstance(count, IntegerAttr)
    if not isinstance(location, FileLineColLoc):
        return FloatCheck(name.data, count.value.data, None)
    start = SourceLocation(location.filename.data, location.line.data, location.column.data)
    return FloatCheck(name.data, count.value.data, start)


def _is_checked(op: Operation) -> bool:
    """Whether an op computes a float from floats and integers."""
    dialect = op.name.partition(".")[0]
    return (
        dialect in ("arith", "math")
        and len(op.results) == 1
        and isinstance(op.results[0].type, AnyFloat)
        and 0 < len(op.operands) <= MAX_FLOAT_OPERANDS
        and not isinstance(op, arith.SelectOp | arith.BitcastOp)
    )


def _check_result(op: Operation, number: int) -> None:
    """Report the result of an op if it is not finite."""
    result = op.results[0]
    builder = Builder(InsertPoint.after(op))
    magnitude = builder.insert(math_dialect.AbsFOp(result)).results[0]
    infinity = _constant(math.inf, result.type, builder)
    is_bad = builder.insert(arith.CmpfOp(magnitude, infinity, "uge")).results[0]
    block = Block()
    inner = Builder(InsertPoint.at_end(block))
    site = inner.insert(arith.ConstantOp(IntegerAttr(number, i64))).results[0]
    operands = [_as_f64(operand, inner) for operand in op.operands]
    operands += [_constant(0.0, f64, inner)] * (MAX_FLOAT_OPERANDS - len(operands))
    values = [site, *operands, _as_f64(result, inner)]
    inner.insert(func.CallOp(REPORT_FLOAT, values, []))
    inner.insert(scf.YieldOp())
    builder.insert(scf.IfOp(is_bad, [], Region(block)))


def _constant(number: float, type: Attribute, builder: Builder) -> SSAValue:
    assert isinstance(type, AnyFloat)
    return builder.insert(arith.ConstantOp(FloatAttr(number, type))).results[0]


def _as_f64(value: SSAValue, builder: Builder) -> SSAValue:
    type = value.type
    if isinstance(type, Float64Type):
        return value
    if isinstance(type, AnyFloat):
        return builder.insert(arith.ExtFOp(value, f64)).results[0]
    if not isinstance(type, IntegerType):
        value = builder.insert(arith.IndexCastOp(value, i64)).results[0]
    return builder.insert(arith.SIToFPOp(value, f64)).results[0]
