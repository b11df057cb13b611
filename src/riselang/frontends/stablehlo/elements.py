"""Tensor element types, and their RISE equivalents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from riselang.dialects.rise.types import (
    ScalarType,
    bf16,
    complex64,
    complex128,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
    is_float,
    u8,
    u16,
    u32,
    u64,
)
from riselang.nat.natural import MAX_DIGITS
from riselang.native.mlir.stablehlo_graph import GraphValue, TensorKind
from riselang.support.errors import LimitationError, SourceLocation


@dataclass(frozen=True)
class ElementType:
    """A tensor element type."""

    name: str
    scalar: ScalarType

    @property
    def is_float(self) -> bool:
        return is_float(self.scalar)

    @property
    def is_boolean(self) -> bool:
        return self.scalar == i1

    @property
    def is_unsigned(self) -> bool:
        return self.scalar.is_unsigned or self.is_boolean

    @property
    def is_integer(self) -> bool:
        return not self.is_float and not self.is_boolean and not self.is_complex

    @property
    def is_complex(self) -> bool:
        return self.scalar.is_complex

    @property
    def is_half(self) -> bool:
        return self.scalar in (f16, bf16)


ELEMENT_TYPES: Mapping[str, ElementType] = {
    each.name: each
    for each in (
        ElementType("f16", f16), ElementType("bf16", bf16), ElementType("f32", f32),
        ElementType("f64", f64), ElementType("i1", i1), ElementType("i8", i8),
        ElementType("i16", i16), ElementType("i32", i32), ElementType("i64", i64),
        ElementType("ui8", u8), ElementType("ui16", u16), ElementType("ui32", u32),
        ElementType("ui64", u64), ElementType("complex<f32>", complex64),
        ElementType("complex<f64>", complex128),
    )
}  # fmt: skip
BOOLEAN_ELEMENT = ELEMENT_TYPES["i1"]
COMPLEX_OPS = frozenset(
    f"stablehlo.{name}"
    for name in (
        "abs", "add", "broadcast", "broadcast_in_dim", "compare", "complex", "concatenate",
        "constant", "convert", "convolution", "cosine", "divide", "dot", "dot_general",
        "dynamic_slice", "dynamic_update_slice", "exponential", "fft", "gather", "imag", "log",
        "multiply", "negate", "optimization_barrier", "pad", "power", "real", "reduce", "reshape",
        "return", "reverse", "select", "sine", "slice", "sqrt", "subtract", "tan", "tanh",
        "transpose", "while",
    )
) | {"func.return"} | {
    f"stablehlo.custom_call @lapack_{name}_ffi"
    for kind in "cz" for name in (f"{kind}geqrf", f"{kind}ungqr", f"{kind}heevd", f"{kind}gesdd")
}  # fmt: skip
"""The ops on complex tensors that become patterns; others need the linalg fallback."""


@dataclass(frozen=True)
class TensorType:
    """A tensor type with a static shape and a supported element type."""

    shape: tuple[int, ...]
    element: ElementType

    def __str__(self) -> str:
        return ".".join([*map(str, self.shape), self.element.name])


def tensor_type(
    value: GraphValue,
    what: str,
    location: SourceLocation | None,
) -> TensorType:
    """Return the type of a value; it must be a tensor with a static shape and supported
    elements."""
    type = value.type
    if not isinstance(type, TensorKind):
        raise LimitationError(f"{what} has the type {type}, which is not supported", location)
    shape = tuple(length for length in type.shape if length is not None)
    if len(shape) != len(type.shape):
        raise LimitationError(
            f"{what} has the type {type}, whose shape is dynamic; specify the shapes, or export "
            "the model with static ones",
            location,
        )
    if any(length >= 10**MAX_DIGITS for length in shape):
        raise LimitationError(
            f"{what} has the type {type}; a length may have at most {MAX_DIGITS} digits",
            location,
        )
    if type.element not in ELEMENT_TYPES:
        raise LimitationError(
            f"{what} has the type {type}; elements {type.element} are not supported, but "
            f"{', '.join(ELEMENT_TYPES)} are",
            location,
        )
    return TensorType(shape, ELEMENT_TYPES[type.element])
