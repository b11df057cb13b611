"""Changes to xDSL in this process, each with the upstream change that would retire it.

`parse_formats_lazily`: an assembly format is parsed when its op is first parsed or printed, not
when the op is defined. Parsing all formats takes a third of the time to load xDSL's dialects, and a
program that is compiled and called from Python prints no op in its custom format. Retired when
`xdsl.irdl.irdl_op_definition` parses `assembly_format` at its first use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.irdl import IRDLOperation, OpDef, operations
from xdsl.parser import Parser
from xdsl.printer import Printer

from riselang.support.lazy import cached_property

if TYPE_CHECKING:
    from xdsl.irdl.declarative_assembly_format import FormatProgram

_accessors = operations.get_accessors_from_op_def


@dataclass(frozen=True)
class LazyFormat:
    """The assembly format of an op, which is parsed on first use."""

    text: str
    op_def: OpDef

    @cached_property
    def program(self) -> FormatProgram:
        from xdsl.irdl.declarative_assembly_format import FormatProgram

        return FormatProgram.from_str(self.text, self.op_def)

    def members(self) -> dict[str, Any]:
        """The methods of the op's class that parse and print it."""

        def parse(cls: type[IRDLOperation], parser: Parser) -> IRDLOperation:
            return self.program.parse(parser, cls)

        def print(op: IRDLOperation, printer: Printer) -> None:
            self.program.print(printer, op)

        return {"parse": classmethod(parse), "print": print}


def _members_with_lazy_format(op_def: OpDef, custom_verify: Any | None) -> dict[str, Any]:
    text, op_def.assembly_format = op_def.assembly_format, None
    members = _accessors(op_def, custom_verify)
    if text is None:
        return members
    op_def.assembly_format = text
    return members | LazyFormat(text, op_def).members()


def parse_formats_lazily() -> None:
    """Parse formats lazily in every dialect that is loaded from now on in this process."""
    operations.get_accessors_from_op_def = _members_with_lazy_format
