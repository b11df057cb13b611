"""The memref dialect with `memref.prefetch`, which xDSL does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects import memref
from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, MemRefType, i32
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """Prefetches an element of a buffer; has no other effect."""

    name = "memref.prefetch"
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    is_write = prop_def(BoolAttr, prop_name="isWrite")
    locality = prop_def(IntegerAttr, prop_name="localityHint")
    is_data = prop_def(BoolAttr, prop_name="isDataCache")

    def __init__(
        self,
        buffer: SSAValue,
        indices: Sequence[SSAValue],
        locality: int = 3,
        is_write: bool = False,
        is_data: bool = True,
    ):
        properties = {
            "isWrite": BoolAttr.from_bool(is_write),
            "localityHint": IntegerAttr(locality, i32),
            "isDataCache": BoolAttr.from_bool(is_data),
        }
        super().__init__(operands=[buffer, indices], properties=properties)

    def verify_(self) -> None:
        assert isinstance(self.memref.type, MemRefType)
        rank = len(self.memref.type.get_shape())
        if len(self.indices) != rank:
            raise VerifyException(f"expected {rank} indices, but found {len(self.indices)}")
        if not 0 <= self.locality.value.data <= 3:
            raise VerifyException("expected a locality from 0 to 3")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.memref)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        access = "write" if self.is_write.value.data else "read"
        cache = "data" if self.is_data.value.data else "instr"
        printer.print_string(f", {access}, locality<{self.locality.value.data}>, {cache}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        buffer = parser.parse_unresolved_operand()
        unresolved_indices = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, parser.parse_unresolved_operand
        )
        parser.parse_punctuation(",")
        access = parser.expect(lambda: parser.parse_optional_keyword_in({"read", "write"}), "read")
        parser.parse_punctuation(",")
        parser.parse_keyword("locality")
        parser.parse_punctuation("<")
        locality = parser.parse_integer()
        parser.parse_punctuation(">")
        parser.parse_punctuation(",")
        cache = parser.expect(lambda: parser.parse_optional_keyword_in({"data", "instr"}), "data")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        indices = parser.resolve_operands(
            unresolved_indices, [IndexType()] * len(unresolved_indices), parser.pos
        )
        op = cls(
            parser.resolve_operand(buffer, type), indices, locality,
            access == "write", cache == "data",
        )  # fmt: skip
        op.attributes.update(attributes)
        return op


MemRef = Dialect("memref", [*memref.MemRef.operations, PrefetchOp], list(memref.MemRef.attributes))
