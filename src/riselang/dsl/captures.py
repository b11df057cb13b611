"""Arrays that a traced function reads without being passed: constants of its program.

Small ones are literals in the term. Larger ones are parameters, after those of the function, which
each call passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from riselang.dialects.rise.attributes import MAX_LITERAL_ELEMENTS, Number
from riselang.dialects.rise.numpy_types import DTYPES
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import (
    RiseType,
    ScalarType,
    array,
    i1,
    innermost,
    is_float,
)
from riselang.dsl.number_types import Numbers, resolve_numbers
from riselang.dsl.user_locations import user_location
from riselang.nat import Nat
from riselang.support.aligned_arrays import aligned_copy
from riselang.support.complex_views import view_if_complex
from riselang.support.element_types import dtype_by_name
from riselang.support.errors import UserError
from riselang.term import build
from riselang.term.inference import Inference

Array = np.ndarray[Any, np.dtype[Any]]


class Captures:
    """The arrays that a function captures, as they were when it was first traced.

    All kernels of a function use the same copies, so changing an array later has no effect.
    """

    def __init__(self) -> None:
        self._copies: dict[int, tuple[Array, Array]] = {}
        """By the identity of an array, which is kept alive: the array and its copy."""

    def copy_of(self, captured: Array) -> Array:
        known = self._copies.get(id(captured))
        if known is None:
            copy = aligned_copy(captured)
            copy.flags.writeable = False
            known = self._copies[id(captured)] = (captured, copy)
        return known[1]


class CapturedArrays:
    """The arrays that one trace captures: literals if they are small, and else parameters."""

    def __init__(self, captures: Captures, inference: Inference, scope: build.Scope):
        self._captures = captures
        self._inference = inference
        self._scope = scope
        self._entries: dict[int, tuple[build.Node, Any]] = {}
        """By identity: the literal or the parameter, and the array or the list."""

    def node(self, value: Any) -> build.Node:
        """Return the literal or the parameter for an array, or for a list of numbers."""
        if id(value) not in self._entries:
            array = as_regular_array(value, "a captured list")
            is_weak = value is not array and array.dtype != bool
            type = (
                nest(array.shape, self._inference.fresh_type())
                if is_weak
                else array_type(array, "a captured array")
            )
            node = self._literal(value, array, type) or self._parameter(type)
            self._entries[id(value)] = node, value
        return self._entries[id(value)][0]

    def _parameter(self, type: RiseType) -> build.Variable:
        name = f"captured{len(self._parameters())}"
        return build.Variable(type, name, scope=self._scope, location=user_location())

    def _literal(self, value: Any, array: Array, type: RiseType) -> build.ArrayConstant | None:
        """Return a small array as a literal; None for others."""
        if not 0 < array.size <= MAX_LITERAL_ELEMENTS:
            return None
        if value is array:
            array = self._captures.copy_of(array)
        scalar, scope, location = innermost(type), self._scope, user_location()
        elements = [
            build.Constant(scalar, _python_number(each), scope=scope, location=location)
            for each in array.reshape(-1)
        ]
        return build.ArrayConstant(type, elements, scope=scope, location=location)

    def _parameters(self) -> list[tuple[build.Variable, Any]]:
        return [
            (node, value)
            for node, value in self._entries.values()
            if isinstance(node, build.Variable)
        ]

    def finish(self) -> tuple[list[build.Variable], tuple[Array, ...]]:
        """Return the parameters and the arrays; numbers in lists have the inferred types."""
        resolve_numbers(self._inference, self.numbers())
        arrays = {node: self._array(node, value) for node, value in self._entries.values()}
        variables = [variable for variable, _ in self._parameters()]
        return variables, tuple(arrays[variable] for variable in variables)

    def numbers(self) -> Numbers:
        """Return the types and the classes of the numbers in lists."""
        return [
            (innermost(node.type), number_class(np.asarray(value)))
            for node, value in self._entries.values()
            if isinstance(value, list)
        ]

    def _array(self, node: build.Node, value: Any) -> Array:
        if isinstance(value, np.ndarray):
            return view_if_complex(self._captures.copy_of(value))
        array = np.asarray(value)
        element = self._inference.resolve(innermost(node.type))
        converted = exact_array(array, element)
        if converted is None:
            raise UserError(
                f"a list of numbers is used as an array of {format_type(element)}, but found "
                f"{value!r}",
                node.location,
            )
        return view_if_complex(converted)


def _python_number(number: Any) -> Number | complex:
    """Return an element of a NumPy array as a Python number."""
    if number.dtype.kind in "biu":
        return int(number)
    return complex(number) if number.dtype.kind == "c" else float(number)


def number_class(array: Array) -> type:
    """Return the Python class of the numbers that an array was made from."""
    return {"b": bool, "i": int, "c": complex}.get(array.dtype.kind, float)


def exact_array(array: Array, element: RiseType) -> Array | None:
    """Convert Python numbers in an array to a type; None if it cannot represent them."""
    names = {type: name for name, type in DTYPES.items()}
    if not isinstance(element, ScalarType) or element not in names:
        return None
    if array.dtype.kind == "c" and not element.is_complex:
        return None
    with np.errstate(all="ignore"):
        converted = array.astype(dtype_by_name(names[element]))
    is_exact = is_float(element) or element.is_complex or bool(np.all(converted == array))
    return converted if is_exact and (array.dtype.kind == "b") == (element == i1) else None


def nest(shape: Sequence[int | Nat], element: RiseType) -> RiseType:
    """Return the type of arrays of a shape."""
    for length in reversed(shape):
        element = array(length, element)
    return element


def is_array_like(value: Any) -> bool:
    """Return whether a value in a program is an array, or a nested list of numbers."""
    return isinstance(value, np.ndarray) or is_number_list(value)


def is_number_list(value: Any) -> bool:
    """Return whether a value is a list of numbers, or of such lists."""
    return isinstance(value, list) and all(
        isinstance(item, bool | int | float | complex | np.generic) or is_number_list(item)
        for item in _items(value)
    )


def _items(value: Any) -> Sequence[Any]:
    return value


def as_regular_array(value: Any, what: str) -> Array:
    """Convert an array or a list of numbers; the rows of a list must have equal lengths."""
    if isinstance(value, np.ndarray):
        return value
    try:
        return np.asarray(value)
    except ValueError:
        raise UserError(
            f"{what}: the lists have different lengths, but the rows of an array have one length; "
            "pad them, or pass one array for each row",
            user_location(),
        ) from None


def array_type(value: Array, what: str) -> RiseType:
    """Return the type of an array."""
    element: RiseType | None = DTYPES.get(value.dtype.name)
    if element is None or not value.dtype.isnative:
        raise UserError(
            f"{what}: an array of {value.dtype} cannot be used in a program; convert it with "
            "astype to a type such as numpy.float32",
            user_location(),
        )
    return nest(value.shape, element)
