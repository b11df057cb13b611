"""What the front ends of frameworks share: importing them, and the types of arguments."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from riselang.api.specs import ArraySpec
from riselang.dialects.rise.types import SCALAR_NAMES, ArrayType, RiseType, ScalarType
from riselang.interpreter.scalars import numpy_dtype
from riselang.nat import Nat
from riselang.support.errors import UserError


def framework(name: str, extra: str, what: str) -> Any:
    """A module of a framework, or an error that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise _missing(extra, what, f"cannot be imported ({error})") from None


def require(name: str, extra: str, what: str) -> None:
    """Check that a module of a framework is there, without importing it."""
    if importlib.util.find_spec(name) is None:
        raise _missing(extra, what, "is not installed")


def _missing(extra: str, what: str, reason: str) -> UserError:
    return UserError(
        f"{what} needs {extra}, which {reason}; pip install 'riselang[{extra}]' brings it"
    )


def dimensions(spec: ArraySpec | ScalarType, what: str) -> tuple[list[Nat], ScalarType]:
    """The lengths and the element type of `rl.Array["N", 4, rl.f32]`."""
    type: RiseType = spec.type if isinstance(spec, ArraySpec) else spec
    lengths: list[Nat] = []
    while isinstance(type, ArrayType):
        lengths.append(type.length)
        type = type.element
    if not isinstance(type, ScalarType) or type not in SCALAR_NAMES:
        raise UserError(f"{what}: an array of {type} cannot be passed")
    return lengths, type


def fixed_shape(spec: ArraySpec | ScalarType, what: str) -> tuple[tuple[int, ...], Any]:
    """The shape and dtype of a spec whose lengths are all numbers."""
    lengths, element = dimensions(spec, what)
    if not all(length.is_constant for length in lengths):
        raise UserError(f"{what}: the lengths of {spec!r} must be numbers here")
    return tuple(length.constant for length in lengths), numpy_dtype(element)
