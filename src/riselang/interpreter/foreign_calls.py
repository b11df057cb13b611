"""The meaning of a C function as a pattern: the interpreter calls it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from riselang.dialects.rise.foreign_functions import LANES, ForeignFunction, Passing
from riselang.dialects.rise.types import ScalarType, i1, is_float
from riselang.interpreter import scalar_semantics
from riselang.nat import Nat
from riselang.support.foreign_libraries import foreign_address
from riselang.term.nodes import Pattern


def call_foreign(pattern: Pattern, *arguments: Any) -> Any:
    """Apply a C function to scalars and lists, or to each lane of vectors."""
    function = pattern.spec.foreign
    assert function is not None
    sizes = pattern.sizes
    if function.is_lanewise:
        assert sizes[LANES].is_constant
        return [_call(function, {}, lanes, pattern) for lanes in zip(*arguments, strict=True)]
    return _call(
        function, {name: size.constant for name, size in sizes.items()}, arguments, pattern
    )


def _call(
    function: ForeignFunction, sizes: dict[str, int], arguments: Sequence[Any], pattern: Pattern
) -> Any:
    remaining = list(arguments)
    types: list[Any] = []
    passed: list[Any] = []
    arrays: list[np.ndarray[Any, Any]] = []
    outputs: list[tuple[np.ndarray[Any, Any], ScalarType]] = []
    for parameter in function.parameters:
        scalar = _ctype(parameter.type)
        if not parameter.lengths:
            is_length = parameter.passing is Passing.LENGTH
            value = sizes[parameter.name] if is_length else remaining.pop(0)
            types.append(scalar)
            passed.append(scalar(_plain(value, parameter.type)))
            continue
        dtype = scalar_semantics.numpy_dtype(parameter.type)
        shape = tuple(_length(each, sizes) for each in parameter.lengths)
        if parameter.passing is Passing.INPUT:
            array = np.array(remaining.pop(0), dtype).reshape(shape)
        else:
            array = np.zeros(shape, dtype)
            outputs.append((array, parameter.type))
        arrays.append(array)
        types.append(ctypes.c_void_p)
        passed.append(array.ctypes.data)
    result = None if function.result is None else _ctype(function.result)
    address = foreign_address(function.library, function.name, pattern.location)
    returned = ctypes.CFUNCTYPE(result, *types)(address)(*passed)
    values = [_to_lists(array, type) for array, type in outputs]
    if function.result is not None:
        values.insert(0, _from_c(returned, function.result))
    value = values[-1]
    for first in reversed(values[:-1]):
        value = (first, value)
    return value


def _length(length: Nat, sizes: dict[str, int]) -> int:
    return length.substitute({name: Nat.const(size) for name, size in sizes.items()}).constant


def _plain(value: Any, type: ScalarType) -> Any:
    return float(value) if is_float(type) else int(value)


def _from_c(value: Any, type: ScalarType) -> Any:
    return scalar_semantics.from_numpy(scalar_semantics.numpy_dtype(type).type(value), type)


def _to_lists(array: np.ndarray[Any, Any], type: ScalarType) -> Any:
    if array.ndim == 0:
        return scalar_semantics.from_numpy(array[()], type)
    return [_to_lists(part, type) for part in array]


def _ctype(type: ScalarType) -> Any:
    if type == i1:
        return ctypes.c_bool
    return np.ctypeslib.as_ctypes_type(scalar_semantics.numpy_dtype(type))
