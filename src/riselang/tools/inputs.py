"""Inputs on the command line: `a.npy`, `random:7`, `arange`, `ones`, `zeros`, or a literal."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from riselang.dialects.rise.types import SCALAR_NAMES, ArrayType, RiseType, ScalarType
from riselang.interpreter.scalar_semantics import numpy_dtype
from riselang.nat import Nat, NatError
from riselang.runtime.arrays import Array, check_memory
from riselang.support.errors import LimitationError, UserError

GENERATED = ("random", "arange", "ones", "zeros")


def parse_sizes(texts: Sequence[str]) -> dict[str, int]:
    """Parse sizes such as `N=4`."""
    sizes: dict[str, int] = {}
    for text in texts:
        name, equals, number = text.partition("=")
        if not (equals and name.isidentifier() and number.isdecimal()):
            raise UserError(f"--size {text}: expected a name and a number, such as N=4")
        sizes[name] = int(number)
    return sizes


def is_generated(text: str) -> bool:
    return text.partition(":")[0] in GENERATED


def read_array(text: str, type: RiseType, name: str) -> Array:
    """Read an input that has a shape of its own: a file or a literal."""
    if text.endswith(".npy"):
        try:
            return np.load(text, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(f"input {name}: {text} cannot be read: {reason}") from None
    return _read_literal(text, _element_type(type, name), name)


def _read_literal(text: str, element: ScalarType, name: str) -> Array:
    """Read a number, or nested lists of numbers, as scalars that have the same values."""
    dtype, kind = numpy_dtype(element), SCALAR_NAMES[element]
    mismatch = UserError(f"input {name}: the type of its elements is {kind}, but found {text}")
    try:
        literal = ast.literal_eval(text)
        if _is_ragged(literal):
            raise UserError(f"input {name}: the lists of {text} have different lengths")
        array = np.asarray(literal, dtype=dtype)
        if dtype.kind in "iub" and not np.array_equal(np.asarray(literal), array):
            raise mismatch
        return array
    except OverflowError:
        raise mismatch from None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise UserError(
            f"input {name}: expected a .npy file, a literal or one of {', '.join(GENERATED)}, but "
            f"found {text!r}"
        ) from None


def _is_ragged(literal: Any) -> bool:
    try:
        np.asarray(literal)
    except ValueError:
        return True
    return False


def generate_input(text: str, type: RiseType, sizes: Mapping[str, Nat], name: str) -> Array:
    """Generate an input of the shape that the program expects."""
    shape = _known_shape(type, sizes, name)
    try:
        return generate_values(text, shape, _element_type(type, name), name)
    except (LimitationError, MemoryError, ValueError, OverflowError):
        lengths = " x ".join(map(str, shape))
        raise UserError(f"input {name}: not enough memory for {lengths} scalars") from None


def generate_values(text: str, shape: Sequence[int], element: ScalarType, name: str) -> Array:
    kind, _, seed = text.partition(":")
    dtype = numpy_dtype(element)
    generated_size = dtype.itemsize if kind in ("ones", "zeros") else 8
    check_memory(prod(shape) * generated_size, "an input")
    if kind == "random":
        if seed and not seed.isdecimal():
            raise UserError(f"input {name}: expected random:SEED with a number, but found {text!r}")
        return _random_array(np.random.default_rng(int(seed or 0)), shape, dtype)
    if kind == "arange":
        return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    return np.ones(shape, dtype) if kind == "ones" else np.zeros(shape, dtype)


def _random_array(generator: np.random.Generator, shape: Sequence[int], dtype: Any) -> Array:
    if dtype.kind == "i":
        return generator.integers(-8, 8, shape).astype(dtype)
    if dtype.kind == "u":
        return generator.integers(0, 16, shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "c":
        return (generator.random(shape) + 1j * generator.random(shape)).astype(dtype)
    return generator.random(shape).astype(dtype)


def _element_type(type: RiseType, name: str) -> ScalarType:
    while isinstance(type, ArrayType):
        type = type.element
    if type not in SCALAR_NAMES:
        raise UserError(f"input {name}: expected an array of scalars, but its type is {type}")
    assert isinstance(type, ScalarType)
    return type


def _known_shape(type: RiseType, sizes: Mapping[str, Nat], name: str) -> list[int]:
    shape: list[int] = []
    while isinstance(type, ArrayType):
        length = type.length.substitute(sizes)
        try:
            shape.append(length.constant)
        except NatError:
            raise UserError(
                f"input {name}: the size {length} is not known; pass --size "
                f"{min(length.variables)}=..."
            ) from None
        type = type.element
    return shape
