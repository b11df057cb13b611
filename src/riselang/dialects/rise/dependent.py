"""Functions of sizes and data types: `rise.depLambda (n : nat) -> T { ... }`, `rise.depApply`."""

from __future__ import annotations

from typing import Self, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.free_names import free_names, visible_names
from riselang.dialects.rise.functional import (
    add_parsed_attributes,
    parse_defined_operand,
    returned_value,
    single_block,
)
from riselang.dialects.rise.operation import RiseOperation
from riselang.dialects.rise.pattern_ops import parse_nat_or_type, print_nat_or_type
from riselang.dialects.rise.type_binding import dep_fun, instantiate_binder
from riselang.dialects.rise.type_syntax import parse_binder
from riselang.dialects.rise.types import KINDS, DataType, DepFunType, NatAttr, RiseType
from riselang.nat import Nat


@irdl_op_definition
class DepLambdaOp(RiseOperation):
    """A function of a size or data type, which the types in its region mention by name."""

    name = "rise.depLambda"
    parameter = prop_def(StringAttr)
    kind = prop_def(StringAttr)
    body = region_def()
    result = result_def(DepFunType)
    traits = traits_def(Pure())

    def __init__(self, parameter: str, kind: str, body: Region, result: RiseType):
        super().__init__(
            properties={"parameter": StringAttr(parameter), "kind": StringAttr(kind)},
            regions=[body],
            result_types=[dep_fun(kind, parameter, result)],
        )

    def verify_(self) -> None:
        name, kind = self.parameter.data, self.kind.data
        if kind not in KINDS:
            raise VerifyException(f"must depend on a nat or on data, but not on '{kind}'")
        if single_block(self.body, "the dependent lambda").args:
            raise VerifyException("must not take values; nest a lambda inside it")
        value = returned_value(self.body, "the dependent lambda")
        if not isinstance(value.type, RiseType):
            raise VerifyException(f"expected to return a RISE type, but found {value.type}")
        actual = dep_fun(kind, name, value.type)
        if actual != self.result.type:
            raise VerifyException(
                f"is declared as {self.result.type}, but its result makes it {actual}"
            )
        self._check_scope(name)
        # Passes that do not know about names would merge equal ops inside and outside.
        if name in visible_names(self):
            raise VerifyException(
                f"binds {name}, but another {name} is in scope; rename one of them"
            )

    def _check_scope(self, name: str) -> None:
        """Reject values from outside whose types mention another size with that name."""
        inside = set(self.body.walk())
        for op in inside:
            for operand in op.operands:
                if operand.owner in inside or not isinstance(operand.type, RiseType):
                    continue
                if getattr(operand.owner, "parent_op", lambda: None)() in inside:
                    continue
                if name in free_names(operand.type):
                    raise VerifyException(
                        f"binds {name}, but uses a value from outside with the type "
                        f"{operand.type}, which mentions another {name}; rename one of them"
                    )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        with parser.in_parens():
            name, kind = parse_binder(parser)
        parser.parse_punctuation("->", " and the result type of the dependent lambda")
        position = parser.pos
        result = parser.parse_type()
        if not isinstance(result, RiseType):
            parser.raise_error(f"expected a RISE type, but found {result}", position)
        return add_parsed_attributes(parser, cls(name, kind, parser.parse_region(), result))

    def print(self, printer: Printer) -> None:
        printer.print_string(f" ({self.parameter.data} : {self.kind.data}) -> ")
        printer.print_attribute(returned_value(self.body, "the dependent lambda").type)
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class DepApplyOp(RiseOperation):
    """Applies a dependent function: `rise.depApply %f, #rise.nat<4>`."""

    name = "rise.depApply"
    function = operand_def(DepFunType)
    argument = prop_def(Attribute)
    result = result_def(RiseType)
    traits = traits_def(NoMemoryEffect())

    def __init__(self, function: SSAValue, argument: Nat | RiseType):
        attribute = NatAttr(argument) if isinstance(argument, Nat) else argument
        super().__init__(
            operands=[function],
            properties={"argument": attribute},
            result_types=[dep_application_type(function.type, attribute)],
        )

    @property
    def value(self) -> Nat | RiseType:
        argument = self.argument
        return argument.data if isinstance(argument, NatAttr) else cast(RiseType, argument)

    def verify_(self) -> None:
        expected = dep_application_type(self.function.type, self.argument)
        if expected != self.result.type:
            raise VerifyException(
                f"expected a result of type {expected}, but found {self.result.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        function = parse_defined_operand(parser)
        parser.parse_punctuation(",", " and the size or data type")
        position = parser.pos
        argument = parse_nat_or_type(parser)
        try:
            return add_parsed_attributes(parser, cls(function, argument))
        except VerifyException as error:
            parser.raise_error(f"'rise.depApply' {error}", position)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.function)
        printer.print_string(", ")
        print_nat_or_type(printer, self.argument)
        printer.print_op_attributes(self.attributes)


def dep_application_type(function: Attribute, argument: Attribute) -> RiseType:
    """The type of applying a dependent function; rejects an argument of the wrong kind."""
    if not isinstance(function, DepFunType):
        raise VerifyException(f"expected a dependent function to apply, but found {function}")
    if function.kind.data == "nat":
        if isinstance(argument, NatAttr):
            return instantiate_binder(function, argument.data)
        raise VerifyException(f"expected a size such as #rise.nat<4>, but found {argument}")
    if isinstance(argument, DataType):
        return instantiate_binder(function, argument)
    raise VerifyException(f"expected a data type such as #rise.scalar<f32>, but found {argument}")
