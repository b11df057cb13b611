"""Complex arrays in calls: programs take and return them as arrays of floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from riselang.runtime.arrays import Array, DeviceView, as_array, check_dtype, scalar_array
from riselang.support.complex_views import view_as_complex, view_as_floats
from riselang.support.element_types import COMPLEX_ELEMENTS
from riselang.support.errors import LimitationError, UserError
from riselang.support.structures import ComplexLeaves


def view_inputs(arrays: Sequence[Array], flags: ComplexLeaves) -> Sequence[Array]:
    """View the complex arrays among arguments as arrays of floats."""
    if not flags:
        return arrays
    return [
        _view_input(array) if is_complex else array
        for array, is_complex in zip(arrays, flags, strict=True)
    ]


def _view_input(array: Array) -> Array:
    if isinstance(array, DeviceView):
        raise LimitationError("complex arrays on a GPU cannot be passed; pass NumPy arrays")
    return view_as_floats(array)


def view_results(buffers: Sequence[Array], flags: ComplexLeaves) -> Sequence[Array]:
    """View the results that have complex numbers as complex arrays."""
    if not flags:
        return buffers
    return [
        _view_result(array) if is_complex else array
        for array, is_complex in zip(buffers, flags, strict=True)
    ]


def _view_result(array: Array) -> Array:
    if not isinstance(array, np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LimitationError("complex results cannot be arrays on a GPU; pass NumPy arrays")
    return view_as_complex(array)


def view_outputs(buffers: Sequence[Any], flags: ComplexLeaves) -> Sequence[Any]:
    """View the complex arrays among the outputs of a call as arrays of floats."""
    if not flags:
        return buffers
    return [
        _view_output(array) if is_complex else array
        for array, is_complex in zip(buffers, flags, strict=True)
    ]


def _view_output(array: Any) -> Array:
    if not isinstance(array, np.ndarray) or array.dtype.kind != "c":
        raise UserError(f"out: expected a complex array, but found {_describe(array)}")
    return view_as_floats(array)


def _describe(array: Any) -> str:
    is_array = isinstance(array, np.ndarray)
    return f"an array of {array.dtype}" if is_array else type(array).__name__


def combine_parts(buffers: Sequence[Array], flags: ComplexLeaves) -> Sequence[Array]:
    """Combine the two arrays that each complex array has inside a program."""
    if len(buffers) != len(flags) + sum(flags):
        return buffers
    remaining = iter(buffers)
    arrays: list[Array] = []
    for is_complex in flags:
        array = next(remaining)
        if is_complex:
            array = view_as_complex(np.stack([array, next(remaining)], axis=-1))
        arrays.append(array)
    return arrays


def complex_argument(argument: Any, part: str, rank: int, name: str) -> Array:
    """Return the complex array or scalar that is passed to a parameter whose parts have this
    type."""
    element = COMPLEX_ELEMENTS[part]
    if rank == 0 and not isinstance(argument, np.ndarray):
        return scalar_array(argument, element, name)
    array = as_array(argument, name)
    check_dtype(array, element, name)
    return array
