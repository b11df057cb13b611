"""Attributes of the dialect: literals, and data types in attribute syntax (`#rise.scalar<f32>`)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.type_syntax import parse_bare_type, parse_type_body, print_bare_type
from riselang.dialects.rise.types import (
    SCALAR_NAMES,
    ArrayType,
    DataType,
    ScalarType,
    array,
    f32,
    innermost,
    integer_width,
    is_float,
    is_small_float,
    wrap_integer,
)
from riselang.nat import Nat
from riselang.support.element_types import dtype_named

Number = int | float
Numbers: TypeAlias = "Number | tuple[Numbers, ...]"
"""A number, or the elements of an array, which may be arrays."""
MAX_LITERAL_ELEMENTS = 64
"""The number of scalars in the largest captured or imported array that becomes a literal."""
STRUCT_FORMATS = {Float16Type: "<e", Float32Type: "<f", Float64Type: "<d"}


@irdl_attr_definition
class LiteralAttr(ParametrizedAttribute):
    """A scalar or an array of scalars: `#rise.lit<0.0>` is f32, `#rise.lit<[1, 2], scalar<i32>>`
    states the type of its scalars."""

    name = "rise.lit"
    value: Attribute
    """The scalar, or an `ArrayAttr` with the scalars of an array in row-major order."""
    type: DataType

    @property
    def scalar_type(self) -> ScalarType:
        """The type of the scalar, or of the scalars of an array."""
        type = innermost(self.type)
        assert isinstance(type, ScalarType)
        return type

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(length.constant for length in _array_parts(self.type)[0])

    @property
    def builtin_attribute(self) -> FloatAttr | IntegerAttr:
        """The scalar as a builtin attribute, which is signless if it is an integer."""
        assert not isinstance(self.type, ArrayType)
        return _builtin_attribute(self.value, self.scalar_type)

    @property
    def dense_attribute(self) -> DenseIntOrFPElementsAttr:
        """An array as a builtin attribute, whose integers are signless."""
        type = self.scalar_type
        scalars: list[Any] = [_builtin_attribute(each, type).value.data for each in self._scalars]
        tensor = TensorType(cast(AnyFloat, type.storage), self.shape)
        return DenseIntOrFPElementsAttr.from_list(tensor, scalars)

    @property
    def number(self) -> Numbers:
        """The number, or those of an array in nested tuples."""
        if not isinstance(self.value, ArrayAttr):
            return _number_of(self.value)
        numbers: list[Numbers] = [*self.numbers]
        for length in reversed(self.shape):
            numbers = [
                tuple(numbers[start : start + length]) for start in range(0, len(numbers), length)
            ]
        return numbers[0]

    @property
    def scalar(self) -> Number:
        """The number of a literal that is a scalar."""
        assert not isinstance(self.value, ArrayAttr)
        return _number_of(self.value)

    @property
    def numbers(self) -> list[Number]:
        """The numbers of an array in row-major order; a single one of a scalar."""
        return [_number_of(each) for each in self._scalars]

    @property
    def elements(self) -> list[LiteralAttr]:
        """The scalars of an array in row-major order."""
        type = self.scalar_type
        return [LiteralAttr(each, type) for each in self._scalars]

    @property
    def _scalars(self) -> Sequence[Attribute]:
        is_array = isinstance(self.value, ArrayAttr)
        return cast("ArrayAttr[Attribute]", self.value).data if is_array else (self.value,)

    def verify(self) -> None:
        lengths, scalar = _array_parts(self.type)
        if isinstance(self.value, ArrayAttr) != bool(lengths):
            raise VerifyException(f"the literal's value does not have the type {self.type}")
        if not all(length.is_constant for length in lengths):
            raise VerifyException(f"the lengths of {self.type} are not known")
        scalars = self._scalars
        if len(scalars) != prod(self.shape) or not scalars:
            raise VerifyException(f"{self.type} does not have {len(scalars)} scalars")
        for each in scalars:
            value_type = getattr(each, "type", None)
            if value_type != scalar.element:
                raise VerifyException(f"the literal's value has type {value_type}, not {scalar}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            position = parser.pos
            parsed = _parse_numbers(parser)
            type = f32
            if parser.parse_optional_punctuation(",") is not None:
                type = parse_bare_type(parser)
                if not isinstance(type, ScalarType):
                    parser.raise_error(f"a literal is a scalar, but {type} is not", position)
        try:
            literal_attribute = literal(_interpret_bits(parsed, type), type)
        except (VerifyException, OverflowError, ValueError) as error:
            problem = f"{_source_text(parsed)} is not a literal of type {type.element}: {error}"
            parser.raise_error(problem, position)
        return list(literal_attribute.parameters)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self._print_elements(printer, list(self._scalars), self.shape)
            if self.scalar_type != f32:
                printer.print_string(", ")
                print_bare_type(printer, self.scalar_type)

    def _print_elements(
        self, printer: Printer, scalars: Sequence[Attribute], shape: Sequence[int]
    ) -> None:
        if not shape:
            (scalar,) = scalars
            if isinstance(scalar, FloatAttr):
                printer.print_float(scalar.value.data, scalar.type)
            else:
                printer.print_string(str(_number_of(scalar)))
            return
        size = len(scalars) // shape[0]
        with printer.in_square_brackets():
            for position in range(shape[0]):
                if position:
                    printer.print_string(", ")
                part = scalars[position * size : (position + 1) * size]
                self._print_elements(printer, part, shape[1:])


def _array_parts(type: DataType) -> tuple[list[Nat], ScalarType]:
    """Return the lengths of nested arrays, and the type of their scalars."""
    lengths: list[Nat] = []
    element: Attribute = type
    while isinstance(element, ArrayType):
        lengths.append(element.length)
        element = element.element
    if not isinstance(element, ScalarType):
        raise VerifyException(f"a literal is a scalar or an array of scalars, not {type}")
    return lengths, element


def _number_of(scalar: Attribute) -> Number:
    if isinstance(scalar, FloatAttr):
        return scalar.value.data
    return cast("IntegerAttr", scalar).value.data


def _builtin_attribute(scalar: Attribute, type: ScalarType) -> FloatAttr | IntegerAttr:
    assert isinstance(scalar, FloatAttr | IntegerAttr)
    if not type.is_unsigned:
        return scalar
    storage = ScalarType(type.storage)
    number = wrap_integer(int(_number_of(scalar)), storage)
    return IntegerAttr(number, cast(IntegerType, storage.element))


def literal(number: Numbers, type: ScalarType) -> LiteralAttr:
    """The literal of a number, or of an array of numbers in nested tuples.

    `type` is that of the scalars. Rejects numbers that it cannot hold.
    """
    if not isinstance(number, tuple):
        return LiteralAttr(_scalar_attribute(number, type), type)
    shape = shape_of_numbers(number)
    scalars = ArrayAttr(_scalar_attribute(each, type) for each in flatten_numbers(number))
    result: DataType = type
    for length in reversed(shape):
        result = array(length, result)
    return LiteralAttr(scalars, result)


def array_literal(scalars: Sequence[LiteralAttr], type: DataType) -> LiteralAttr:
    """The literal of an array type, from scalars in row-major order."""
    return LiteralAttr(ArrayAttr(each.value for each in scalars), type)


def _scalar_attribute(number: Number, type: ScalarType) -> FloatAttr | IntegerAttr:
    element = type.element
    if is_float(type):
        return FloatAttr(float(number), cast(Float32Type, element))
    if isinstance(element, IndexType | IntegerType):
        if isinstance(number, float):
            raise VerifyException("a float is not an integer literal")
        return IntegerAttr(_wrap_literal(int(number), type), element)
    raise VerifyException(f"{element} has no literals")


def shape_of_numbers(numbers: Numbers) -> tuple[int, ...]:
    """Return the lengths of nested tuples of numbers; rejects those that are not regular."""
    if not isinstance(numbers, tuple):
        return ()
    shapes = {shape_of_numbers(each) for each in numbers}
    if len(shapes) > 1:
        raise VerifyException("the elements of an array must have equal shapes")
    if not shapes:
        raise VerifyException("an array literal must have elements")
    return (len(numbers), *shapes.pop())


def flatten_numbers(numbers: Numbers) -> list[Number]:
    """Return the numbers of nested tuples in row-major order."""
    if not isinstance(numbers, tuple):
        return [numbers]
    return [number for each in numbers for number in flatten_numbers(each)]


def _wrap_literal(number: int, type: ScalarType) -> int:
    width = integer_width(type)
    least = 0 if type.is_unsigned else -(1 << (width - 1))
    if not least <= number < (1 << width):
        kind = "an unsigned integer of " if type.is_unsigned else ""
        raise VerifyException(f"it does not fit into {kind}{width} bits")
    return wrap_integer(number, type)


_Parsed: TypeAlias = "tuple[Number, bool] | list[_Parsed]"
"""A number and whether it has the form of a float's bits (`0x7FC00000`), or a list of such."""


def _parse_numbers(parser: AttrParser) -> _Parsed:
    if (elements := parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: _parse_numbers(parser)
    )) is not None:  # fmt: skip
        return elements
    boolean = parser.parse_optional_boolean()
    if boolean is not None:
        return int(boolean), False
    is_hexadecimal = parser.lexer.input.content[parser.pos : parser.pos + 2] in ("0x", "0X")
    return parser.parse_number(), is_hexadecimal


def _interpret_bits(parsed: _Parsed, type: ScalarType) -> Numbers:
    if isinstance(parsed, list):
        return tuple(_interpret_bits(each, type) for each in parsed)
    number, is_bits = parsed
    return _float_from_bits(number, type) if is_bits else number


def _source_text(parsed: _Parsed) -> str:
    if isinstance(parsed, list):
        return f"[{', '.join(map(_source_text, parsed))}]"
    return str(parsed[0])


def _float_from_bits(number: Number, type: ScalarType) -> Number:
    if not is_float(type):
        return number
    bits = int(number)
    if is_small_float(type):
        return float(np.uint8(bits).view(dtype_named(SCALAR_NAMES[type])))
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
