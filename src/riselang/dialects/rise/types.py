"""The types of RISE: data types, function types, and the variables that schemes and inference use.

Both the values of the dialect and terms have these types. In text, only the outermost type has the
prefix `!rise.`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

from xdsl.dialects.builtin import (
    BFloat16Type,
    ComplexType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    Signedness,
    StringAttr,
)
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.metaclasses import InternedClass, compare_by_identity
from riselang.dialects.rise.type_syntax import parse_nat_text, parse_type_body, print_type_body
from riselang.nat import Nat, as_nat

SIGNED_WIDTHS = (1, 8, 16, 32, 64)
UNSIGNED_WIDTHS = (8, 16, 32, 64)
INDEX_WIDTH = 64
SMALL_FLOAT_TYPES = (Float8E4M3FNType, Float8E5M2Type)
FLOAT_TYPES = (*SMALL_FLOAT_TYPES, Float16Type, BFloat16Type, Float32Type, Float64Type)


@compare_by_identity
@irdl_attr_definition
class NatAttr(Data[Nat], metaclass=InternedClass):
    """A symbolic natural: `#rise.nat<N * 4 + 1>`."""

    name = "rise.nat"

    @classmethod
    def new(cls, params: Any) -> NatAttr:
        return NatAttr(params)

    def __reduce__(self) -> tuple[type[NatAttr], tuple[Nat]]:
        return NatAttr, (self.data,)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Nat:
        with parser.in_angle_brackets():
            return parse_nat_text(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


class RiseType(ParametrizedAttribute, TypeAttribute, metaclass=InternedClass):
    """Base class of every RISE type; `syntax` parses and prints them."""

    if TYPE_CHECKING:

        @property
        def is_closed(self) -> bool:
            """Whether the type mentions no variable, so that substitution does not change it."""
            ...

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self)["is_closed"] = _has_no_variable(self)

    @classmethod
    def new(cls, params: Sequence[Attribute]) -> Self:
        return cls(*params)

    def __reduce__(self) -> tuple[type[RiseType], tuple[Attribute, ...]]:
        return self.__class__, self.parameters

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        return list(parse_type_body(parser, cls.name.removeprefix("rise.")).parameters)

    def print_parameters(self, printer: Printer) -> None:
        print_type_body(printer, self)

    @property
    def expanded_size(self) -> int:
        """The number of types in its text; in memory, equal parts are shared."""
        return compute_once(self, "_written_size", _compute_expanded_size)


class DataType(RiseType):
    """A type whose values can be stored."""


@compare_by_identity
@irdl_attr_definition
class ScalarType(DataType):
    """A scalar: `scalar<f32>`, or `scalar<ui8>` for an unsigned integer."""

    name = "rise.scalar"
    element: TypeAttribute

    @property
    def is_unsigned(self) -> bool:
        """Whether it is one of u8, u16, u32 and u64."""
        element = self.element
        return isinstance(element, IntegerType) and element.signedness.data is Signedness.UNSIGNED

    @property
    def is_complex(self) -> bool:
        """Whether it is a complex number, which only nodes have: in terms, it is a pair."""
        return isinstance(self.element, ComplexType)

    @property
    def part(self) -> ScalarType:
        """The type of the real and the imaginary part of a complex number."""
        assert isinstance(self.element, ComplexType)
        return ScalarType(self.element.element_type)

    @property
    def unsigned(self) -> ScalarType:
        """The unsigned integer type of the same width."""
        assert isinstance(self.element, IntegerType)
        return ScalarType(IntegerType(self.element.width, Signedness.UNSIGNED))

    @property
    def storage(self) -> TypeAttribute:
        """The type of its values in buffers and in arith ops, which take only signless integers."""
        element = self.element
        is_integer = isinstance(element, IntegerType)
        return IntegerType(element.width) if is_integer and self.is_unsigned else element

    def verify(self) -> None:
        if isinstance(self.element, (IndexType, *FLOAT_TYPES)):
            return
        if isinstance(self.element, IntegerType) and _is_integer_element(self.element):
            return
        if isinstance(self.element, ComplexType) and _is_complex_element(self.element):
            return
        raise VerifyException(
            f"{self.element} is not a scalar type; expected f8E4M3FN, f8E5M2, f16, bf16, f32, f64, "
            "i1, i8, i16, i32, i64, ui8, ui16, ui32, ui64 or index"
        )


def _is_complex_element(element: ComplexType) -> bool:
    return isinstance(element.element_type, Float32Type | Float64Type)


def _is_integer_element(element: IntegerType) -> bool:
    widths = {Signedness.SIGNLESS: SIGNED_WIDTHS, Signedness.UNSIGNED: UNSIGNED_WIDTHS}
    return element.width.data in widths.get(element.signedness.data, ())


@compare_by_identity
@irdl_attr_definition
class ArrayType(DataType):
    """`length` elements of one type: `array<4, scalar<f32>>`."""

    name = "rise.array"
    size: NatAttr
    element: RiseType

    @property
    def length(self) -> Nat:
        return self.size.data

    def verify(self) -> None:
        require_data(self.element, "an array element")
        if self.length.is_constant and self.length.constant < 0:
            raise VerifyException(f"an array cannot have the negative length {self.length}")


@compare_by_identity
@irdl_attr_definition
class TupleType(DataType):
    """A pair; longer tuples nest to the right: `tuple<scalar<f32>, scalar<i32>>`."""

    name = "rise.tuple"
    first: RiseType
    second: RiseType

    def verify(self) -> None:
        require_data(self.first, "a tuple component")
        require_data(self.second, "a tuple component")


@compare_by_identity
@irdl_attr_definition
class IdxType(DataType):
    """An index known to be in [0, bound): `idx<n>`."""

    name = "rise.idx"
    size: NatAttr

    @property
    def bound(self) -> Nat:
        return self.size.data

    def verify(self) -> None:
        if self.bound.is_constant and self.bound.constant < 0:
            raise VerifyException(f"an index cannot have the negative bound {self.bound}")


@compare_by_identity
@irdl_attr_definition
class VectorType(DataType):
    """`length` scalars in one register: `vector<4, scalar<f32>>`."""

    name = "rise.vector"
    size: NatAttr
    element: RiseType

    @property
    def length(self) -> Nat:
        return self.size.data

    def verify(self) -> None:
        if not isinstance(self.element, ScalarType | TypeVariable):
            raise VerifyException(f"a vector consists of scalars, but {self.element} is not one")


@compare_by_identity
@irdl_attr_definition
class FunType(RiseType):
    """A function, curried: `fun<scalar<f32> -> fun<scalar<f32> -> scalar<f32>>>`."""

    name = "rise.fun"
    input: RiseType
    output: RiseType


@compare_by_identity
@irdl_attr_definition
class DepFunType(RiseType):
    """A function that takes a size or a data type: `depfun<n : nat, fun<array<n, ...> -> ...>>`.

    The variable is named by the height of its binder, so that alpha-equivalent types are equal; see
    `binding.dep_fun`, which creates these types, and `opened`, which instantiates them.
    """

    name = "rise.depfun"
    kind: StringAttr
    label: StringAttr
    body: RiseType

    @property
    def binder(self) -> str:
        return self.label.data


@compare_by_identity
@irdl_attr_definition
class TypeVariable(DataType):
    """A type variable of a scheme, or of inference (`?1`)."""

    name = "rise.var"
    label: StringAttr


Fact = TypeVar("Fact")


def compute_once(type: RiseType, name: str, compute: Callable[[RiseType], Fact]) -> Fact:
    """Cache a fact about a type: parts are shared, and the fact is needed very often.

    xDSL does not permit a cached property here.
    """
    facts = vars(type)
    try:
        return facts[name]
    except KeyError:
        return facts.setdefault(name, compute(type))


def parts_of(type: RiseType) -> tuple[RiseType, ...]:
    """The types that a type is made of."""
    match type:
        case ArrayType() | VectorType():
            return (type.element,)
        case TupleType():
            return (type.first, type.second)
        case FunType():
            return (type.input, type.output)
        case DepFunType():
            return (type.body,)
        case _:
            return ()


def _has_no_variable(type: RiseType) -> bool:
    match type:
        case ArrayType() | VectorType():
            return type.length.is_constant and type.element.is_closed
        case IdxType():
            return type.bound.is_constant
        case TupleType() | FunType():
            first, second = parts_of(type)
            return first.is_closed and second.is_closed
        case _:
            return isinstance(type, ScalarType)


def _compute_expanded_size(type: RiseType) -> int:
    return 1 + sum([part.expanded_size for part in parts_of(type)])


KINDS = ("nat", "data")
"""The kinds of parameters of dependent functions."""


def require_data(type: Attribute, role: str) -> None:
    """Reject a type that is not a data type; functions cannot be stored."""
    if isinstance(type, FunType | DepFunType):
        raise VerifyException(f"{role} must be a data type, but {type} is a function type")
    if not isinstance(type, DataType):
        raise VerifyException(f"{role} must be a RISE data type, but {type} is not one")


def array(length: Nat | int | str, element: RiseType) -> ArrayType:
    return ArrayType(NatAttr(as_nat(length)), element)


def idx(bound: Nat | int | str) -> IdxType:
    return IdxType(NatAttr(as_nat(bound)))


def vector(length: Nat | int | str, element: RiseType) -> VectorType:
    return VectorType(NatAttr(as_nat(length)), element)


def pair(first: RiseType, second: RiseType) -> TupleType:
    return TupleType(first, second)


def fun(*parts: RiseType) -> FunType:
    """`fun(a, b, c)` is `a -> b -> c`."""
    result = parts[-1]
    for part in reversed(parts[:-1]):
        result = FunType(part, result)
    assert isinstance(result, FunType)
    return result


def variable(label: str) -> TypeVariable:
    return TypeVariable(StringAttr(label))


def scalar(element: TypeAttribute) -> ScalarType:
    return ScalarType(element)


f8e4m3fn, f8e5m2 = (ScalarType(type()) for type in SMALL_FLOAT_TYPES)
f16 = ScalarType(Float16Type())
bf16 = ScalarType(BFloat16Type())
f32 = ScalarType(Float32Type())
f64 = ScalarType(Float64Type())
i1, i8, i16, i32, i64 = (ScalarType(IntegerType(width)) for width in SIGNED_WIDTHS)
u8, u16, u32, u64 = (
    ScalarType(IntegerType(width, Signedness.UNSIGNED)) for width in UNSIGNED_WIDTHS
)
bool_ = i1
complex64, complex128 = (ScalarType(ComplexType(part.element)) for part in (f32, f64))
index = ScalarType(IndexType())

SCALARS: Mapping[str, ScalarType] = {
    "f8e4m3fn": f8e4m3fn, "f8e5m2": f8e5m2, "f16": f16, "bf16": bf16, "f32": f32, "f64": f64,
    "i1": i1, "i8": i8, "i16": i16, "i32": i32, "i64": i64,
    "u8": u8, "u16": u16, "u32": u32, "u64": u64, "index": index,
}  # fmt: skip
"""The scalar types of terms."""
SOURCE_SCALARS: Mapping[str, ScalarType] = {
    **SCALARS, "complex64": complex64, "complex128": complex128,
}  # fmt: skip
"""The scalar types of source programs; in their terms, complex numbers are pairs."""
SCALAR_NAMES: Mapping[ScalarType, str] = {type: name for name, type in SOURCE_SCALARS.items()}

COMPLEX_TYPES: Mapping[RiseType, ScalarType] = {f32: complex64, f64: complex128}
"""The complex type with parts of each float type."""


def is_float(type: RiseType) -> bool:
    return isinstance(type, ScalarType) and isinstance(type.element, FLOAT_TYPES)


def is_small_float(type: RiseType) -> bool:
    """Whether it is a float of 8 bits, which no instruction of a CPU computes with."""
    return isinstance(type, ScalarType) and isinstance(type.element, SMALL_FLOAT_TYPES)


def is_unsigned(type: RiseType) -> bool:
    return isinstance(type, ScalarType) and type.is_unsigned


def integer_width(type: ScalarType) -> int:
    """The number of bits of an integer type."""
    return type.element.width.data if isinstance(type.element, IntegerType) else INDEX_WIDTH


def integer_range(type: ScalarType) -> tuple[int, int]:
    """The smallest and the greatest number of an integer type."""
    width = integer_width(type)
    return (0, (1 << width) - 1) if type.is_unsigned else (-(1 << width - 1), (1 << width - 1) - 1)


def wrap_integer(number: int, type: ScalarType) -> int:
    """Return the number of an integer type with the same low bits as `number`."""
    width = integer_width(type)
    number &= (1 << width) - 1
    is_negative = not type.is_unsigned and number >> (width - 1)
    return number - (1 << width) if is_negative else number


def uncurry(type: RiseType) -> tuple[tuple[RiseType, ...], RiseType]:
    """The argument types and the final result of a function type."""
    inputs: list[RiseType] = []
    while isinstance(type, FunType):
        inputs.append(type.input)
        type = type.output
    return tuple(inputs), type


def result_types(program: RiseType, count: int) -> list[RiseType]:
    """The types of the `count` results that a program returns as a nested tuple."""
    _, type = uncurry(program)
    types: list[RiseType] = []
    for _ in range(count - 1):
        first, type = components(type)
        types.append(first)
    return [*types, type]


def element_of(type: RiseType) -> RiseType:
    assert isinstance(type, ArrayType)
    return type.element


def components(type: RiseType) -> tuple[RiseType, RiseType]:
    assert isinstance(type, TupleType)
    return type.first, type.second


def contains_array(type: RiseType) -> bool:
    if isinstance(type, TupleType):
        return compute_once(type, "_contains_array", _has_array_in_parts)
    return isinstance(type, ArrayType)


def _has_array_in_parts(type: RiseType) -> bool:
    return any(contains_array(part) for part in parts_of(type))


def innermost(type: RiseType) -> RiseType:
    """Return the element type of the innermost of nested arrays."""
    while isinstance(type, ArrayType):
        type = type.element
    return type


def leaves(type: RiseType) -> Iterator[tuple[tuple[Nat, ...], ScalarType]]:
    """The scalars that a data type consists of, in order, each with the enclosing lengths.

    A tuple is stored as one buffer per leaf, so `4.(f32 x 3.i32)` has the leaves
    `((4,), f32)` and `((4, 3), i32)`.
    """
    if isinstance(type, ScalarType):
        yield (), type
    elif isinstance(type, IdxType):
        yield (), index
    elif isinstance(type, ArrayType | VectorType):
        for lengths, leaf in leaves(type.element):
            yield (type.length, *lengths), leaf
    elif isinstance(type, TupleType):
        for part in components(type):
            yield from leaves(part)
    else:
        raise TypeError(f"{type} has no scalar leaves")


def index_bounds(type: RiseType) -> Iterator[Nat | None]:
    """For each scalar leaf, in the order of `leaves`, its bound if it is an index, or None."""
    if isinstance(type, IdxType):
        yield type.bound
    elif isinstance(type, ArrayType | VectorType):
        yield from index_bounds(type.element)
    elif isinstance(type, TupleType):
        for part in components(type):
            yield from index_bounds(part)
    else:
        yield None
