"""Regions of foreign ops as strings: `embed[f32]("^bb0(%a: f32): ... rise.return %b : f32", x)`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import StringIO

from xdsl.ir import Attribute

from riselang.dialects.rise.lane_types import Lanes, wrap_type
from riselang.dialects.rise.types import ScalarType
from riselang.support.errors import RiseError, UserError
from riselang.support.recursion import with_deep_stack
from riselang.term.foreign import ForeignRegion

# A region is parsed as the region of a module; its own text starts on the second line.
_BEFORE, _AFTER = '"builtin.module"() ({\n', "\n}) : () -> ()"


class InvalidRegion(Exception):
    """A text that is not a valid region; `offset` is the offset of the error, if it is known."""

    def __init__(self, message: str, offset: int | None = None):
        super().__init__(message)
        self.message = message
        self.offset = offset


def unquote(literal: str) -> str:
    return re.sub(r"\\(.)", r"\1", literal[1:-1], flags=re.DOTALL)


def region_text(foreign: ForeignRegion) -> str:
    """Print the block of a region; in generic form if the pretty form does not round-trip."""
    pretty = _print_region(foreign, generic=False)
    try:
        is_same = parse_region(pretty).text == foreign.text
    except InvalidRegion:
        is_same = False
    return pretty if is_same else _print_region(foreign, generic=True)


@with_deep_stack
def _print_region(foreign: ForeignRegion, generic: bool) -> str:
    from xdsl.printer import Printer

    stream = StringIO()
    printer = Printer(stream=stream, print_generic_format=generic)
    printer.print_region(foreign.region.clone(), print_entry_block_args=True)
    return stream.getvalue().strip()[1:-1].strip("\n")


def parse_region(text: str) -> ForeignRegion:
    """Parse a region; raise `InvalidRegion` if the text is not one."""
    from riselang.dialects.module import parse_module

    try:
        module = parse_module(f"{_BEFORE}{text}{_AFTER}", "embed")
    except RiseError as error:
        raise InvalidRegion(error.message, _error_offset(error, text)) from None
    return ForeignRegion(module.body.clone())


def _error_offset(error: RiseError, text: str) -> int | None:
    if error.location is None:
        return None
    lines = text.splitlines(keepends=True)
    number = error.location.line - 2
    if not 0 <= number < len(lines):
        return None
    return min(sum(len(line) for line in lines[:number]) + error.location.column - 1, len(text))


def operand_types(foreign: ForeignRegion, result: Lanes) -> Sequence[Lanes]:
    """Return the types of the region's operands; raise `InvalidRegion` if it returns no
    `result`."""
    from xdsl.ir import Block
    from xdsl.utils.exceptions import DiagnosticException, VerifyException

    from riselang.dialects.rise.interface_ops import EmbedOp

    try:
        first = foreign.region.first_block
        arguments = () if first is None else first.args
        types = [_operand_type(argument.type) for argument in arguments]
        values = Block(arg_types=types).args
        EmbedOp(values, foreign.region.clone(), result).verify()
    except (VerifyException, DiagnosticException, UserError) as error:
        raise InvalidRegion(str(error).strip().splitlines()[-1]) from None
    return types


def _operand_type(plain: Attribute) -> Lanes:
    """Return the RISE type that is unwrapped to `plain`."""
    return wrap_type(plain) or ScalarType(plain)  # whose verifier reports the error
