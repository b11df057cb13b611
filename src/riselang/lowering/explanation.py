"""Prints lowered programs with a comment after each loop and access that names its pattern."""

from __future__ import annotations

from io import StringIO

from xdsl.dialects import affine, memref, scf
from xdsl.dialects.builtin import FileLineColLoc, NameLoc
from xdsl.ir import Operation
from xdsl.printer import Printer

from riselang.dialects.rise import codegen
from riselang.support.profiling import time_span
from riselang.support.recursion import with_deep_stack

COMMENTED_OPS = (
    affine.ForOp, affine.ParallelOp, affine.LoadOp, affine.StoreOp, scf.ForOp, scf.ParallelOp,
    scf.WhileOp, memref.LoadOp, memref.StoreOp, memref.AllocOp, memref.AllocaOp, codegen.IdxOp,
    codegen.AssignOp,
)  # fmt: skip


def format_with_comments(module: Operation) -> str:
    """Format a module with comments; the text parses back to the same module."""
    lines: list[str] = []
    for line, op in lines_with_ops(module):
        comment = op_comment(op) if isinstance(op, COMMENTED_OPS) else None
        lines.append(line if comment is None else f"{line}  // {comment}")
    return "\n".join(lines) + "\n"


@with_deep_stack
def lines_with_ops(module: Operation) -> list[tuple[str, Operation | None]]:
    """Return each line of the module's text with the op that starts on it, the innermost one."""
    stream = _LineCountingStream()
    printer = _Printer(stream=stream)
    with time_span("print"):
        printer.print_op(module)
    lines = stream.getvalue().split("\n")
    return [(line, printer.ops.get(number)) for number, line in enumerate(lines)]


def op_comment(op: Operation) -> str | None:
    """Return `map at dot.rise:2` for an op that was emitted for a pattern."""
    location = op.location
    if not isinstance(location, NameLoc):
        return None
    name, source_location = location.desc.data, location.location
    if not isinstance(source_location, FileLineColLoc):
        return name
    file = source_location.filename.data.replace("\\", "/").rpartition("/")[2]
    return f"{name} at {file}:{source_location.line.data}"


class _LineCountingStream(StringIO):
    """A stream that counts the lines written to it."""

    number = 0

    def write(self, text: str, /) -> int:
        self.number += text.count("\n")
        return super().write(text)


class _Printer(Printer):
    def __init__(self, stream: _LineCountingStream):
        super().__init__(stream=stream)
        self._lines = stream
        self.ops: dict[int, Operation] = {}

    def print_op(self, op: Operation) -> None:
        self.ops[self._lines.number] = op
        super().print_op(op)
