"""Shared parts of the framework front ends: imports, and argument types."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from riselang.api.specs import ArraySpec
from riselang.dialects.rise.types import SCALAR_NAMES, ArrayType, RiseType, ScalarType
from riselang.interpreter.scalar_semantics import numpy_dtype
from riselang.nat import Nat
from riselang.support.errors import UserError


def import_framework(name: str, extra: str, what: str) -> Any:
    """Import a module of a framework; raises an error that says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise _missing_framework(extra, what, f"cannot be imported ({error})") from None


def require_framework(name: str, extra: str, what: str) -> None:
    """Check that a framework module is installed, without importing it."""
    if importlib.util.find_spec(name) is None:
        raise _missing_framework(extra, what, "is not installed")


def _missing_framework(extra: str, what: str, reason: str) -> UserError:
    return UserError(
        f"{what} needs {extra}, which {reason}; install it with pip install 'riselang[{extra}]'"
    )


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
