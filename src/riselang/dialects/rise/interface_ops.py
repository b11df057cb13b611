"""The interface to other dialects: embedded ops, lowering units, input and output buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    Pure,
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.lexer import Span

from riselang.dialects.rise.functional import (
    MisplacedOp,
    ReturnOp,
    add_parsed_attributes,
    parse_defined_operand,
    returned_value,
    single_block,
)
from riselang.dialects.rise.lane_types import Lanes, unwrap_type
from riselang.dialects.rise.operation import RiseOperation
from riselang.dialects.rise.traits import StoresProgram
from riselang.dialects.rise.type_binding import type_variables
from riselang.dialects.rise.types import DataType, RiseType, ScalarType, VectorType, leaves
from riselang.support.counts import format_count


@irdl_op_definition
class EmbedOp(RiseOperation):
    """Contains ops of other dialects on scalars: `rise.embed(%a, %b) { ... } : !rise.scalar<f32>`.

    The block arguments have the names of the operands, or their own: `rise.embed(%b = %a)`. Their
    types are builtin types, such as `f32` and `vector<4xf32>`.
    """

    name = "rise.embed"
    arguments = var_operand_def(ScalarType | VectorType)
    body = region_def()
    result = result_def(ScalarType | VectorType)
    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect(), RecursivelySpeculatable())

    def __init__(self, arguments: Sequence[SSAValue], body: Region, result_type: Lanes):
        super().__init__(operands=[arguments], regions=[body], result_types=[result_type])

    def verify_(self) -> None:
        block = single_block(self.body, "the embed")
        wanted = [unwrap_type(cast(Lanes, argument.type)) for argument in self.arguments]
        found = [argument.type for argument in block.args]
        if wanted != found:
            raise VerifyException(
                f"expected a block that takes ({_format_types(wanted)}), but found one that takes "
                f"({_format_types(found)})"
            )
        value = returned_value(self.body, "the embed")
        result = self.result.type
        if value.type != unwrap_type(result):
            raise VerifyException(
                f"expected a region that returns {unwrap_type(result)}, but found one that returns "
                f"{value.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: _parse_embedded(parser), " in the operands"
        )
        outer, undefined = parser.ssa_values, set(parser.forward_ssa_references)
        # The region is isolated: only the operands, unwrapped, are visible in it.
        parser.ssa_values = {}
        region = parser.parse_region(
            [
                Parser.Argument(name, unwrap_type(cast(Lanes, value.type)))
                for name, value in operands
            ]
        )
        parser.ssa_values = outer
        for name in parser.forward_ssa_references.keys() - undefined:
            parser.raise_error(
                f"%{name} is not visible in this embed; list it among the operands",
                getattr(parser, "first_uses", {}).get(name),
            )
        parser.parse_punctuation(":", " and the type of the embedded value")
        position = parser.pos
        result = parser.parse_type()
        if not isinstance(result, Lanes):
            parser.raise_error(f"an embed returns a scalar or a vector, not {result}", position)
        return add_parsed_attributes(parser, cls([value for _, value in operands], region, result))

    def print(self, printer: Printer) -> None:
        block = self.body.blocks[0]
        names: set[str] = set()
        with printer.in_parens():
            for position, (inner, argument) in enumerate(
                zip(block.args, self.arguments, strict=True)
            ):
                printer.print_string(", " if position else "")
                _print_embedded(printer, inner, argument, names)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)
        printer.print_op_attributes(self.attributes)


def _parse_embedded(parser: Parser) -> tuple[Span[str], SSAValue]:
    span = parser._current_token.span  # pyright: ignore[reportPrivateUsage]
    content, position = parser.lexer.input.content, span.end
    if content[position:].lstrip().startswith("="):
        parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
    value = parse_defined_operand(parser)
    if not isinstance(value.type, Lanes):
        parser.raise_error(f"an embed takes scalars and vectors, but this is {value.type}", span)
    return span, value


def _print_embedded(printer: Printer, inner: SSAValue, operand: SSAValue, names: set[str]) -> None:
    """Print an operand; it has the same name inside, or another one if it is listed twice."""
    known = printer._ssa_values.get(operand)  # pyright: ignore[reportPrivateUsage]
    if known in names:
        printer.print_ssa_value(inner)
        printer.print_string(" = ")
        printer.print_ssa_value(operand)
        return
    name = printer.print_ssa_value(operand)
    names.add(name)
    printer._ssa_values[inner] = name  # pyright: ignore[reportPrivateUsage]


def _format_types(types: Sequence[Attribute]) -> str:
    return ", ".join(str(type) for type in types)


@irdl_op_definition
class LoweringUnitOp(RiseOperation):
    """Contains a RISE program within a function; ends in a bare `rise.return`."""

    name = "rise.lowering_unit"
    body = region_def()
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, body: Region):
        super().__init__(regions=[body])

    def verify_(self) -> None:
        block = single_block(self.body, "the lowering unit")
        if not isinstance(block.last_op, ReturnOp) or block.last_op.values:
            raise VerifyException("must end in 'rise.return' without a value")
        for op in block.ops:
            if not op.name.startswith("rise.") or isinstance(op, LoweringUnitOp):
                raise MisplacedOp(
                    op, "is in a lowering unit, which may contain only ops of the rise dialect"
                )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        region = parser.parse_region()
        if region.blocks and not isinstance(region.blocks[-1].last_op, ReturnOp):
            region.blocks[-1].add_op(ReturnOp())
        return add_parsed_attributes(parser, cls(region))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class InOp(RiseOperation):
    """Reads a value from one buffer per scalar leaf: `rise.in %a : !rise.array<4, scalar<f32>>`."""

    name = "rise.in"
    buffers = var_operand_def(MemRefType)
    result = result_def(DataType)
    traits = traits_def(Pure())

    def __init__(self, buffers: Sequence[SSAValue], type: RiseType):
        super().__init__(operands=[buffers], result_types=[type])

    def verify_(self) -> None:
        check_buffers([buffer.type for buffer in self.buffers], cast(RiseType, self.result.type))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        buffers = _parse_buffers(parser)
        parser.parse_punctuation(":", " and the RISE type of the input")
        position = parser.pos
        type = parser.parse_type()
        if not isinstance(type, DataType):
            parser.raise_error(f"an input is data, but {type} is not a RISE data type", position)
        return add_parsed_attributes(parser, cls(buffers, type))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.buffers, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class OutOp(RiseOperation):
    """Stores a value in one buffer per scalar leaf: `rise.out %buffer <- %value`."""

    name = "rise.out"
    buffers = var_operand_def(MemRefType)
    value = operand_def(DataType)
    traits = traits_def(StoresProgram())

    def __init__(self, buffers: Sequence[SSAValue], value: SSAValue):
        super().__init__(operands=[buffers, value])

    def verify_(self) -> None:
        check_buffers([buffer.type for buffer in self.buffers], cast(RiseType, self.value.type))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        buffers = _parse_buffers(parser)
        parser.parse_punctuation("<", " of '<-' and the value to store")
        parser.parse_punctuation("-", " of '<-' and the value to store")
        return add_parsed_attributes(parser, cls(buffers, parse_defined_operand(parser)))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.buffers, printer.print_ssa_value)
        printer.print_string(" <- ")
        printer.print_ssa_value(self.value)
        printer.print_op_attributes(self.attributes)


def _parse_buffers(parser: Parser) -> list[SSAValue]:
    return parser.parse_comma_separated_list(
        parser.Delimiter.NONE, lambda: parse_defined_operand(parser), " in the buffers"
    )


def check_buffers(buffers: Sequence[Attribute], type: RiseType) -> None:
    """Check that there is one memref, of the right shape, for each scalar leaf of `type`."""
    if any(True for _ in type_variables(type)):
        raise VerifyException(
            f"stores a value of type {type}, which is not fully known, so no buffer can hold it"
        )
    expected = list(leaves(type))
    if len(buffers) != len(expected):
        raise VerifyException(
            f"expected {format_count(len(expected), 'buffer')} for {type}, one for each "
            f"scalar in it, but found {len(buffers)}"
        )
    for buffer, (lengths, leaf) in zip(buffers, expected, strict=True):
        if not isinstance(buffer, MemRefType):
            raise VerifyException(f"expected a memref for {type}, but found {buffer}")
        if not isinstance(buffer.layout, NoneAttr):
            raise VerifyException(f"expected a contiguous memref, but found {buffer}")
        shape = list(buffer.get_shape())
        fits = len(shape) == len(lengths) and all(
            dimension == (length.constant if length.is_constant else DYNAMIC_INDEX)
            for dimension, length in zip(shape, lengths, strict=True)
        )
        is_boxed_scalar = not lengths and shape == [1]
        if buffer.element_type != leaf.storage or not (fits or is_boxed_scalar):
            wanted = "x".join([*(str(length) for length in lengths), str(leaf.storage)])
            raise VerifyException(f"expected memref<{wanted}> for {type}, but found {buffer}")
