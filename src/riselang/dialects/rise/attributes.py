"""Attributes of the dialect: literals, and data types in attribute syntax (`#rise.scalar<f32>`)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.type_syntax import parse_bare_type, parse_type_body, print_bare_type
from riselang.dialects.rise.types import ScalarType, f32, integer_width, is_float, wrap_integer

Number = int | float
STRUCT_FORMATS = {Float16Type: "<e", Float32Type: "<f", Float64Type: "<d"}


@irdl_attr_definition
class LiteralAttr(ParametrizedAttribute):
    """A scalar constant: `#rise.lit<0.0>` is f32, `#rise.lit<0, scalar<i32>>` states its type."""

    name = "rise.lit"
    value: Attribute
    type: ScalarType

    @property
    def builtin_attribute(self) -> FloatAttr | IntegerAttr:
        """The value as a builtin attribute, which is signless if it is an integer."""
        assert isinstance(self.value, FloatAttr | IntegerAttr)
        if not self.type.is_unsigned:
            return self.value
        storage = ScalarType(self.type.storage)
        number = wrap_integer(int(self.number), storage)
        return IntegerAttr(number, cast(IntegerType, storage.element))

    @property
    def number(self) -> Number:
        if isinstance(self.value, FloatAttr):
            return self.value.value.data
        return cast("IntegerAttr", self.value).value.data

    def verify(self) -> None:
        value_type = getattr(self.value, "type", None)
        if value_type != self.type.element:
            raise VerifyException(f"the literal's value has type {value_type}, not {self.type}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            position = parser.pos
            number, is_bits = _parse_number(parser)
            type = f32
            if parser.parse_optional_punctuation(",") is not None:
                type = parse_bare_type(parser)
                if not isinstance(type, ScalarType):
                    parser.raise_error(f"a literal is a scalar, but {type} is not", position)
        try:
            literal_attribute = literal(_float_from_bits(number, type) if is_bits else number, type)
        except (VerifyException, OverflowError, ValueError) as error:
            problem = f"{number} is not a literal of type {type.element}: {error}"
            parser.raise_error(problem, position)
        return list(literal_attribute.parameters)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if isinstance(self.value, FloatAttr):
                printer.print_float(self.value.value.data, self.value.type)
            else:
                printer.print_string(str(self.number))
            if self.type != f32:
                printer.print_string(", ")
                print_bare_type(printer, self.type)


def literal(number: Number, type: ScalarType) -> LiteralAttr:
    """The literal `number` of scalar type `type`; rejects a number that the type cannot hold."""
    element = type.element
    if is_float(type):
        value = FloatAttr(float(number), cast(Float32Type, element))
    elif isinstance(element, IndexType | IntegerType):
        if isinstance(number, float):
            raise VerifyException("a float is not an integer literal")
        value = IntegerAttr(_wrap_literal(int(number), type), element)
    else:
        raise VerifyException(f"{element} has no literals")
    return LiteralAttr(value, type)


def _wrap_literal(number: int, type: ScalarType) -> int:
    width = integer_width(type)
    least = 0 if type.is_unsigned else -(1 << (width - 1))
    if not least <= number < (1 << width):
        kind = "an unsigned integer of " if type.is_unsigned else ""
        raise VerifyException(f"it does not fit into {kind}{width} bits")
    return wrap_integer(number, type)


def _parse_number(parser: AttrParser) -> tuple[Number, bool]:
    """Parse a number; also return whether it has the form of a float's bits (`0x7FC00000`)."""
    boolean = parser.parse_optional_boolean()
    if boolean is not None:
        return int(boolean), False
    is_hexadecimal = parser.lexer.input.content[parser.pos : parser.pos + 2] in ("0x", "0X")
    return parser.parse_number(), is_hexadecimal


def _float_from_bits(number: Number, type: ScalarType) -> Number:
    if not is_float(type):
        return number
    bits = int(number)
    if isinstance(type.element, BFloat16Type):
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    code = STRUCT_FORMATS[cast("type[Float32Type]", type.element.__class__)]
    size = struct.calcsize(code)
    return struct.unpack(code, bits.to_bytes(size, "little"))[0]


def _make_type_attribute(keyword: str) -> type[ParametrizedAttribute]:
    """An attribute such as `#rise.scalar<f32>`, which is parsed as the type itself."""

    def parse_parameters(cls: object, parser: AttrParser) -> Sequence[Attribute]:
        return [parse_type_body(parser, keyword)]

    def new(cls: object, params: Sequence[Attribute]) -> Attribute:
        return params[0]

    members = {
        "name": f"rise.{keyword}",
        "parse_parameters": classmethod(parse_parameters),
        "new": classmethod(new),
    }
    return irdl_attr_definition(type(f"{keyword}Spelling", (ParametrizedAttribute,), members))


TYPE_ATTRIBUTES = tuple(
    _make_type_attribute(keyword)
    for keyword in ("scalar", "array", "tuple", "idx", "vector", "var")
)
