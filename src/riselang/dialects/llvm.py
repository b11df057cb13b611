"""The LLVM dialect with `llvm.fence`, which xDSL does not have."""

from __future__ import annotations

from typing import Self

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer

ORDERING, ORDERING_NUMBER = "seq_cst", 7
"""The only ordering that is supported, with its number in MLIR."""


@irdl_op_definition
class FenceOp(IRDLOperation):
    """Orders the memory accesses before it before those after it, as all threads see them."""

    name = "llvm.fence"
    ordering = prop_def(IntegerAttr)

    def __init__(self):
        super().__init__(properties={"ordering": IntegerAttr(ORDERING_NUMBER, i64)})

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {ORDERING}")
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_keyword(ORDERING)
        op = cls()
        op.attributes.update(parser.parse_optional_attr_dict())
        return op


LLVM = Dialect("llvm", [*llvm.LLVM.operations, FenceOp], list(llvm.LLVM.attributes))
