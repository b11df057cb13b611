"""The arith dialect as MLIR has it: comparisons, select and conversions also work on vectors.

xDSL's definitions of these ops support only scalars. Ours are subclasses of them, so passes written
for xDSL's ops still recognize them. On scalars they are the same, and an op on vectors is valid if
it is valid on each lane.
"""

from __future__ import annotations

from typing import Self, TypeVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType, i1
from xdsl.ir import Attribute, Block, Dialect, Operation, SSAValue
from xdsl.irdl import traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

CONVERSIONS: tuple[type[Operation], ...] = (
    arith.SIToFPOp, arith.UIToFPOp, arith.FPToSIOp, arith.FPToUIOp,
    arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.IndexCastOp,
)  # fmt: skip


Comparison = TypeVar("Comparison", arith.CmpfOp, arith.CmpiOp)


class CmpfOp(arith.CmpfOp):
    """`arith.cmpf`, whose result is a vector of i1 if the operands are vectors."""

    def verify_(self) -> None:
        _verify_lanes(self, arith.CmpfOp)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return with_i1_result(super().parse(parser))


class CmpiOp(arith.CmpiOp):
    """`arith.cmpi`, whose result is a vector of i1 if the operands are vectors."""

    # xDSL's canonicalization would replace a vector of i1 by a single i1.
    traits = traits_def(Pure())

    def verify_(self) -> None:
        _verify_lanes(self, arith.CmpiOp)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return with_i1_result(super().parse(parser))


class SelectOp(arith.SelectOp):
    """`arith.select`, which selects lane by lane if the condition is a vector."""

    def verify_(self) -> None:
        if self.cond.type == i1:  # which may select between whole vectors
            arith.SelectOp.verify_(self)
        else:
            _verify_lanes(self, arith.SelectOp)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = [parser.parse_unresolved_operand()]
        for _ in range(2):
            parser.parse_punctuation(",")
            operands.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        condition, type = i1, parser.parse_type()
        if parser.parse_optional_punctuation(",") is not None:
            condition, type = type, parser.parse_type()
        values = parser.resolve_operands(operands, [condition, type, type], parser.pos)
        return cls.create(operands=values, result_types=[type], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if self.cond.type != i1:
            printer.print_attribute(self.cond.type)
            printer.print_string(", ")
        printer.print_attribute(self.result.type)


def with_i1_result(op: Comparison) -> Comparison:
    """Give a comparison that xDSL parsed an i1 result for each lane."""
    if not isinstance(op.lhs.type, VectorType):
        return op
    operands, results = list(op.operands), [_vector_like(op.lhs.type, i1)]
    op.drop_all_references()
    return op.__class__.create(operands=operands, result_types=results, properties=op.properties)


def _verify_lanes(op: Operation, scalar: type[Operation]) -> None:
    """Reject an op that xDSL's definition rejects on the lanes."""
    types = [*op.operand_types, *op.result_types]
    if not any(isinstance(type, VectorType) for type in types):
        scalar.verify_(op)
        return
    shape = _vector_like(types[0], i1)
    if any(_vector_like(type, i1) != shape for type in types):
        raise VerifyException("expected vectors of the same shape")
    lanes = [type.element_type for type in types if isinstance(type, VectorType)]
    operands = Block(arg_types=lanes[: len(op.operands)]).args
    results = lanes[len(op.operands) :]
    twin = scalar.create(operands=operands, result_types=results, properties=op.properties)
    scalar.verify_(twin)


def _vector_like(type: Attribute, lane: Attribute) -> Attribute:
    """`lane`, or a vector of it with the shape of `type` if that is a vector."""
    if isinstance(type, VectorType):
        return VectorType(lane, type.shape, type.scalable_dims)
    return lane


def _make_conversion_op(scalar: type[Operation]) -> type[Operation]:
    """xDSL's definition of a conversion, extended to vectors."""

    def verify_(self: Operation) -> None:
        _verify_lanes(self, scalar)

    methods = {"verify_": verify_, "parse": _parse_conversion, "__module__": __name__}
    return type(scalar.__name__, (scalar,), methods)


@classmethod
def _parse_conversion(cls: type[Operation], parser: Parser) -> Operation:
    """Parse `%a : f32 to f64`; xDSL's parser checks the types itself."""
    operand = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    source = parser.parse_type()
    parser.parse_characters("to")
    result = parser.parse_type()
    value = parser.resolve_operand(operand, source)
    return cls.create(operands=[value], result_types=[result], attributes=attributes)


def _make_dialect() -> Dialect:
    ours = {
        op.name: op for op in (CmpfOp, CmpiOp, SelectOp, *map(_make_conversion_op, CONVERSIONS))
    }
    operations = [ours.get(op.name, op) for op in arith.Arith.operations]
    constants = arith.ArithConstantMaterializationInterface()
    return Dialect("arith", operations, list(arith.Arith.attributes), [constants])


Arith = _make_dialect()
_OPERATIONS = {op.name: op for op in Arith.operations}


def conversion(name: str, value: SSAValue, type: Attribute) -> Operation:
    """Create the op `name` that converts a scalar, or each lane of a vector, to a type."""
    return _OPERATIONS[name].create(operands=[value], result_types=[type])
