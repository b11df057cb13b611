"""Modules as native MLIR reads them."""

from __future__ import annotations

from io import StringIO

from xdsl.ir import Operation
from xdsl.printer import Printer

from riselang.dialects.module import deep_stack
from riselang.timing import timed

WITH_OWN_REGION = ("linalg.generic", "linalg.yield", "linalg.index", "linalg.map", "linalg.reduce")


def native_text(module: Operation, *, locations: bool = False) -> str:
    """The module in generic form, which leaves nothing to a printer's taste."""
    stream = StringIO()
    with timed("print"), deep_stack():
        _Printer(stream=stream, print_generic_format=True, print_debuginfo=locations).print_op(
            module
        )
    return stream.getvalue() + "\n"


class _Printer(Printer):
    """Named ops of linalg have a region that follows from the name; MLIR wants to make its own."""

    def print_op(self, op: Operation) -> None:
        is_named = op.name.startswith("linalg.") and op.name not in WITH_OWN_REGION
        if is_named:
            self.print_generic_format = False
        super().print_op(op)
        if is_named:
            self.print_generic_format = True
