"""The types of arguments, as the front ends of frameworks take them."""

from __future__ import annotations

from typing import Any

from riselang.api.specs import ArraySpec
from riselang.dialects.rise.types import SCALAR_NAMES, ArrayType, RiseType, ScalarType
from riselang.interpreter.scalar_semantics import numpy_dtype
from riselang.nat import Nat
from riselang.support.errors import UserError


def spec_dimensions(spec: ArraySpec | ScalarType, what: str) -> tuple[list[Nat], ScalarType]:
    """Return the lengths and the element type of `rl.Array["N", 4, rl.f32]`."""
    type: RiseType = spec.type if isinstance(spec, ArraySpec) else spec
    lengths: list[Nat] = []
    while isinstance(type, ArrayType):
        lengths.append(type.length)
        type = type.element
    if not isinstance(type, ScalarType) or type not in SCALAR_NAMES:
        raise UserError(f"{what}: an array of {type} cannot be passed")
    return lengths, type


def constant_shape(spec: ArraySpec | ScalarType, what: str) -> tuple[tuple[int, ...], Any]:
    """Return the shape and dtype of a spec with constant lengths."""
    lengths, element = spec_dimensions(spec, what)
    if not all(length.is_constant for length in lengths):
        raise UserError(f"{what}: the lengths of {spec!r} must be constants here")
    return tuple(length.constant for length in lengths), numpy_dtype(element)
