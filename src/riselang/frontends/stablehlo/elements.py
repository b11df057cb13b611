"""Tensor element types, and their RISE equivalents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from riselang.support.errors import LimitationError, SourceLocation

if TYPE_CHECKING:
    from riselang.dialects.rise.types import ScalarType
    from riselang.native.mlir.stablehlo_graph import GraphValue

HALF_NAMES = ("f16", "bf16")
SMALL_FLOATS = {"f8E4M3FN": "f8e4m3fn", "f8E5M2": "f8e5m2"}
FLOAT_NAMES = (*HALF_NAMES, "f32", "f64")


@dataclass(frozen=True)
class ElementType:
    """A tensor element type."""

    name: str
    scalar_name: str
    """The name of the scalar type in programs."""

    @property
    def scalar(self) -> ScalarType:
        # Imported only where needed: a cached program does without the types.
        from riselang.dialects.rise.types import SOURCE_SCALARS

        return SOURCE_SCALARS[self.scalar_name]

    @property
    def is_float(self) -> bool:
        return self.name in FLOAT_NAMES or self.name in SMALL_FLOATS

    @property
    def is_boolean(self) -> bool:
        return self.scalar_name == "i1"

    @property
    def is_unsigned(self) -> bool:
        return self.scalar_name.startswith("u") or self.is_boolean

    @property
    def is_integer(self) -> bool:
        return not self.is_float and not self.is_boolean and not self.is_complex

    @property
    def is_complex(self) -> bool:
        return self.scalar_name.startswith("complex")

    @property
    def is_half(self) -> bool:
        return self.scalar_name in HALF_NAMES


ELEMENT_TYPES: Mapping[str, ElementType] = {
    name: ElementType(name, scalar)
    for name, scalar in (
        *SMALL_FLOATS.items(),
        *((name, name) for name in (*FLOAT_NAMES, "i1", "i8", "i16", "i32", "i64")),
        *((f"ui{width}", f"u{width}") for width in (8, 16, 32, 64)),
        ("complex<f32>", "complex64"), ("complex<f64>", "complex128"),
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
    from riselang.nat.natural import MAX_DIGITS
    from riselang.native.mlir.stablehlo_graph import TensorKind

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
