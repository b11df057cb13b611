"""Tensor element types, and their RISE equivalents.

RISE has no unsigned types: an unsigned integer is a signed one with the same bits, and ops for
which the sign matters become the unsigned ones of arith.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from riselang.dialects.rise.types import (
    ScalarType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
    is_float,
)
from riselang.native.mlir.stablehlo_graph import GraphValue, TensorKind
from riselang.support.errors import LimitationError, SourceLocation


@dataclass(frozen=True)
class Element:
    """A tensor element type."""

    name: str
    scalar: ScalarType
    is_unsigned: bool = False

    @property
    def is_float(self) -> bool:
        return is_float(self.scalar)

    @property
    def is_boolean(self) -> bool:
        return self.scalar == i1

    @property
    def is_integer(self) -> bool:
        return not self.is_float and not self.is_boolean

    @property
    def is_complex(self) -> bool:
        return self.name.startswith("complex<")

    @property
    def is_half(self) -> bool:
        return self.scalar in (f16, bf16)


ELEMENTS: Mapping[str, Element] = {
    each.name: each
    for each in (
        Element("f16", f16), Element("bf16", bf16), Element("f32", f32), Element("f64", f64),
        Element("i1", i1, True), Element("i8", i8), Element("i16", i16), Element("i32", i32),
        Element("i64", i64), Element("ui8", i8, True), Element("ui16", i16, True),
        Element("ui32", i32, True), Element("ui64", i64, True),
    )
}  # fmt: skip
BOOLEAN = ELEMENTS["i1"]
COMPLEX: Mapping[str, Element] = {
    f"complex<{part.name}>": Element(f"complex<{part.name}>", part.scalar)
    for part in (ELEMENTS["f32"], ELEMENTS["f64"])
}
"""Complex elements, pairs of scalars: not supported in programs, only by the linalg fallback."""


@dataclass(frozen=True)
class TensorType:
    """A tensor type with a static shape and a supported element type."""

    shape: tuple[int, ...]
    element: Element

    def __str__(self) -> str:
        return ".".join([*map(str, self.shape), self.element.name])


def tensor_type(
    value: GraphValue,
    what: str,
    location: SourceLocation | None,
    elements: Mapping[str, Element] = ELEMENTS,
) -> TensorType:
    """Return the type of a value; it must be a tensor with a static shape and supported
    elements."""
    type = value.type
    if not isinstance(type, TensorKind):
        raise LimitationError(f"{what} has the type {type}, which is not supported", location)
    shape = tuple(length for length in type.shape if length is not None)
    if len(shape) != len(type.shape):
        raise LimitationError(
            f"{what} has the type {type}, whose shape is dynamic; give shapes, or export "
            "the model with static ones",
            location,
        )
    if type.element not in elements:
        raise LimitationError(
            f"{what} has the type {type}; elements {type.element} are not supported, but "
            f"{', '.join(elements)} are",
            location,
        )
    return TensorType(shape, elements[type.element])
