"""The lambda calculus: lambda, apply, return and literals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, TypeVar, cast

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, IsTerminator, NoMemoryEffect, Pure, ReturnLike
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.attributes import LiteralAttr
from riselang.dialects.rise.operation import RiseOperation
from riselang.dialects.rise.pattern_ops import parse_trailing_type
from riselang.dialects.rise.traits import (
    ApplicationFolder,
    ApplicationPatterns,
    AppliesFunction,
    ConstantFolder,
    LambdaCallable,
)
from riselang.dialects.rise.types import (
    DataType,
    FunType,
    RiseType,
    fun,
    uncurry,
)

OpT = TypeVar("OpT", bound=Operation)


def parse_defined_operand(parser: Parser) -> SSAValue:
    """Parse an operand that is already defined, so that its type is known."""
    operand = parser.parse_unresolved_operand()
    values = parser.ssa_values.get(operand.operand_name)
    if values is None:
        parser.raise_error(
            f"%{operand.operand_name} is used here before it is defined", operand.span
        )
    if operand.index >= len(values):
        parser.raise_error(
            f"%{operand.operand_name} has {len(values)} results, not {operand.index + 1}",
            operand.span,
        )
    return values[operand.index]


class MisplacedOp(VerifyException):
    """An op that is not allowed where it is, found by the verifier of the op around it."""

    def __init__(self, op: Operation, problem: str):
        super().__init__(problem)
        self.op = op


def add_parsed_attributes(parser: Parser, op: OpT) -> OpT:
    """Parse the attribute dictionary that may follow `op`, and add it."""
    op.attributes.update(parser.parse_optional_attr_dict())
    return op


@irdl_op_definition
class ReturnOp(RiseOperation):
    """Ends a lambda or an embed (with one value), or a lowering unit (without a value)."""

    name = "rise.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), ReturnLike(), Pure())

    def __init__(self, values: Sequence[SSAValue] = ()):
        super().__init__(operands=[values])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_optional_unresolved_operand()
        if operand is None:
            return add_parsed_attributes(parser, cls())
        parser.parse_punctuation(":", " and the type of the returned value")
        return add_parsed_attributes(
            parser, cls([parser.resolve_operand(operand, parser.parse_type())])
        )

    def print(self, printer: Printer) -> None:
        if self.values:
            printer.print_string(" ")
            printer.print_ssa_value(self.values[0])
            printer.print_string(" : ")
            printer.print_attribute(self.values[0].type)
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        if len(self.values) > 1:
            raise VerifyException(f"expected at most one value, but found {len(self.values)}")


def returned_value(region: Region, owner: str) -> SSAValue:
    """The value that `region` returns; rejects a region that does not return one value."""
    block = single_block(region, owner)
    last = block.last_op
    if not isinstance(last, ReturnOp) or len(last.values) != 1:
        raise VerifyException(
            f"expected the region of {owner} to end in 'rise.return' with one value"
        )
    return last.values[0]


def single_block(region: Region, owner: str) -> Block:
    if len(region.blocks) != 1:
        raise VerifyException(
            f"expected one block in the region of {owner}, but found {len(region.blocks)}"
        )
    return region.blocks[0]


@irdl_op_definition
class LambdaOp(RiseOperation):
    """A function: `rise.lambda (%x : T, ...) -> U { ... }`; parameters are curried."""

    name = "rise.lambda"
    body = region_def()
    result = result_def(FunType)
    traits = traits_def(Pure(), LambdaCallable())

    def __init__(self, body: Region, result_type: FunType):
        super().__init__(regions=[body], result_types=[result_type])

    def verify_(self) -> None:
        block = single_block(self.body, "the lambda")
        value = returned_value(self.body, "the lambda")
        if not block.args:
            raise VerifyException("needs at least one parameter")
        parts = [*(argument.type for argument in block.args), value.type]
        for part in parts:
            if not isinstance(part, RiseType):
                raise VerifyException(f"must take and return RISE types, but {part} is not one")
        actual = fun(*cast("list[RiseType]", parts))
        if actual != self.result.type:
            raise VerifyException(
                f"is declared as {self.result.type}, but its parameters and its result make it "
                f"{actual}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: _parse_parameter(parser), " in the parameters"
        )
        position = parser.pos
        if parser.parse_optional_punctuation(":") is not None:
            declared = parser.parse_type()
        else:
            parser.parse_punctuation("->", " and the result type of the lambda")
            declared = _declared_type(parser, names, parser.parse_type())
        if not isinstance(declared, FunType):
            parser.raise_error(
                f"expected a function type for the lambda, but found {declared}", position
            )
        arguments = _resolve_parameters(parser, names, declared, position)
        return add_parsed_attributes(parser, cls(parser.parse_region(arguments), declared))

    def print(self, printer: Printer) -> None:
        block = self.body.blocks[0]
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(block.args, lambda argument: _print_parameter(printer, argument))
        result: RiseType = self.result.type
        for _ in block.args:
            assert isinstance(result, FunType)
            result = result.output
        printer.print_string(" -> ")
        printer.print_attribute(result)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.print_op_attributes(self.attributes)


_Parameter = tuple[Parser.UnresolvedArgument, "RiseType | None"]


def _parse_parameter(parser: Parser) -> _Parameter:
    name = parser.parse_argument(expect_type=False)
    if parser.parse_optional_punctuation(":") is None:
        return name, None
    position = parser.pos
    type = parser.parse_type()
    if not isinstance(type, RiseType):
        parser.raise_error(f"a lambda takes RISE types, but {type} is not one", position)
    return name, type


def _print_parameter(printer: Printer, argument: SSAValue) -> None:
    printer.print_ssa_value(argument)
    printer.print_string(" : ")
    printer.print_attribute(argument.type)


def _declared_type(parser: Parser, names: Sequence[_Parameter], result: Attribute) -> FunType:
    if not isinstance(result, RiseType):
        parser.raise_error(f"a lambda returns a RISE type, but {result} is not one")
    parts: list[RiseType] = []
    for name, type in names:
        if type is None:
            parser.raise_error(
                f"parameter {name.name.text} has no type; write ({name.name.text} : !rise...), "
                "or the type of the lambda after a ':'",
                name.name,
            )
        parts.append(type)
    if not parts:
        parser.raise_error("a lambda needs at least one parameter")
    return fun(*parts, result)


def _resolve_parameters(
    parser: Parser, names: Sequence[_Parameter], declared: FunType, position: int
) -> list[Parser.Argument]:
    arguments: list[Parser.Argument] = []
    rest: RiseType = declared
    for name, type in names:
        if not isinstance(rest, FunType):
            parser.raise_error(
                f"found {len(names)} parameters, but {declared} takes {len(arguments)}",
                position,
            )
        if type is not None and type != rest.input:
            parser.raise_error(
                f"the parameter has type {type}, but {declared} takes {rest.input}", name.name
            )
        arguments.append(name.resolve(rest.input))
        rest = rest.output
    return arguments


@irdl_op_definition
class ApplyOp(RiseOperation):
    """Applies a function to one or more arguments: `rise.apply %f, %x, %y`."""

    name = "rise.apply"
    function = operand_def(FunType)
    arguments = var_operand_def(RiseType)
    result = result_def(RiseType)
    # Not `Pure`: a while may not terminate and a checkIdx may fail, so it must not be speculated.
    traits = traits_def(
        NoMemoryEffect(), ApplicationFolder(), ApplicationPatterns(), AppliesFunction()
    )

    def __init__(self, function: SSAValue, arguments: Sequence[SSAValue]):
        result = application_type(function.type, [argument.type for argument in arguments])
        super().__init__(operands=[function, arguments], result_types=[result])

    def verify_(self) -> None:
        expected = application_type(
            self.function.type, [argument.type for argument in self.arguments]
        )
        if expected != self.result.type:
            raise VerifyException(
                f"expected a result of type {expected}, but found {self.result.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        function, *arguments = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, lambda: parse_defined_operand(parser), " in the arguments"
        )
        try:
            op = cls(function, arguments)
        except VerifyException as error:
            parser.raise_error(f"'rise.apply' {error}", position)
        parse_trailing_type(parser, op.result)
        return add_parsed_attributes(parser, op)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)


def application_type(function: Attribute, arguments: Sequence[Attribute]) -> RiseType:
    """The type of applying `function` to `arguments`; rejects arguments of the wrong type."""
    if not arguments:
        raise VerifyException("needs at least one argument")
    result = function
    for position, argument in enumerate(arguments, 1):
        if not isinstance(result, FunType):
            if position == 1:
                raise VerifyException(f"expected a function to apply, but found {function}")
            limit = len(uncurry(cast(FunType, function))[0])
            raise VerifyException(
                f"passes {len(arguments)} arguments to a function that takes at most {limit}"
            )
        if argument != result.input:
            raise VerifyException(
                f"expected argument {position} of type {result.input}, but found {argument}"
            )
        result = result.output
    assert isinstance(result, RiseType)
    return result


@irdl_op_definition
class LiteralOp(RiseOperation):
    """A constant, which is a scalar or an array: `rise.literal #rise.lit<0.0>`."""

    name = "rise.literal"
    value = prop_def(LiteralAttr)
    result = result_def(DataType)
    traits = traits_def(Pure(), ConstantLike(), ConstantFolder())

    def __init__(self, value: LiteralAttr):
        super().__init__(properties={"value": value}, result_types=[value.type])

    def verify_(self) -> None:
        if self.result.type != self.value.type:
            raise VerifyException(
                f"expected a result of type {self.value.type}, but found {self.result.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        content = parser.lexer.input.content
        if content.startswith("#lit", position):
            # The prefix may be left out.
            parser.parse_characters("#lit")
            value = LiteralAttr.new(LiteralAttr.parse_parameters(parser))
        else:
            value = parser.parse_attribute()
        if not isinstance(value, LiteralAttr):
            parser.raise_error("expected a literal such as #rise.lit<0.0>", position)
        op = cls(value)
        parse_trailing_type(parser, op.result)
        return add_parsed_attributes(parser, op)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        printer.print_op_attributes(self.attributes)
