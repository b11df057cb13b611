"""Calling functions of compiled modules with arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX

from riselang.dialects.rise.types import ScalarType
from riselang.errors import LimitationError, OutOfRangeError, SourceLocation, UserError
from riselang.interpreter.scalars import numpy_dtype
from riselang.nat import Nat
from riselang.native.llvm import LoadedCode
from riselang.runtime.arrays import (
    Array,
    as_array,
    check_dtype,
    check_indices,
    check_layout,
    check_overlap,
    check_shape,
)
from riselang.runtime.shapes import OpenShapes


@dataclass(frozen=True)
class Parameter:
    """A parameter of a compiled function: a buffer, or a scalar when `shape` is None."""

    name: str
    type: ScalarType
    shape: tuple[int, ...] | None
    is_written: bool = False
    bound: Nat | None = None
    """For an array of indices: what all of them must be below."""


@cache
def descriptor(rank: int) -> type[ctypes.Structure]:
    """MLIR's memref descriptor."""
    fields: list[tuple[str, Any]] = [
        ("allocated", ctypes.c_void_p),
        ("aligned", ctypes.c_void_p),
        ("offset", ctypes.c_int64),
    ]
    if rank:
        fields += [("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]
    return type(f"MemRef{rank}", (ctypes.Structure,), {"_fields_": fields})


SCALAR_KINDS: dict[str, Any] = {
    "float32": ctypes.c_float, "float64": ctypes.c_double, "bool": ctypes.c_bool,
    "int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
}  # fmt: skip


def scalar_kind(type: ScalarType) -> Any:
    name = numpy_dtype(type).name
    if name not in SCALAR_KINDS:
        raise LimitationError(f"a scalar parameter of type {name} is not supported; pass an array")
    return SCALAR_KINDS[name]


class Executable:
    """A compiled function; buffers are passed in order and written in place."""

    def __init__(
        self,
        code: LoadedCode,
        name: str,
        parameters: Sequence[Parameter],
        shapes: OpenShapes | None = None,
        checks: Sequence[SourceLocation | None] = (),
    ):
        """`checks` says where each check was written, if the function has any that can fail."""
        self._code = code  # keeps the machine code alive
        self.name = name
        self.parameters = tuple(parameters)
        self._checks = tuple(checks)
        self._shapes = shapes
        self._buffers = [at for at, each in enumerate(parameters) if each.shape is not None]
        kinds = [
            ctypes.c_void_p if parameter.shape is not None else scalar_kind(parameter.type)
            for parameter in parameters
        ]
        if checks:
            kinds.append(ctypes.c_void_p)
        address = code.address(f"_mlir_ciface_{name}")
        self._function = ctypes.CFUNCTYPE(None, *kinds)(address)

    def __call__(self, *arguments: Any) -> None:
        if len(arguments) != len(self.parameters):
            raise UserError(
                f"{self.name} takes {len(self.parameters)} arguments, "
                f"but {len(arguments)} are given"
            )
        passed: list[Any] = []
        kept: list[Any] = []
        arrays: list[Array] = []
        buffers: list[Parameter] = []
        for parameter, argument in zip(self.parameters, arguments, strict=True):
            if parameter.shape is None:
                passed.append(_scalar(argument, parameter))
                continue
            array = _checked(argument, parameter)
            arrays.append(array)
            buffers.append(parameter)
            kept.append(_describe(array))
            passed.append(ctypes.addressof(kept[-1]))
        self._check_sizes(arrays)
        check_overlap(arrays, [b.name for b in buffers], [b.is_written for b in buffers])
        if self._checks:
            self._call_checked(passed)
        else:
            self._function(*passed)

    def _call_checked(self, passed: Sequence[Any]) -> None:
        """Pass a buffer for the first check that fails, and raise what is found there."""
        failure = np.zeros(4, np.int64)
        described = _describe(failure)
        self._function(*passed, ctypes.addressof(described))
        count, check, index, bound = failure.tolist()
        if count:
            raise OutOfRangeError(index, bound, self._checks[check - 1])

    def _check_sizes(self, arrays: Sequence[Array]) -> None:
        """Refuses shapes that do not fit together, and indices that are out of range."""
        positions = self._buffers
        sizes: Mapping[str, Nat] = {}
        if self._shapes is not None:
            shapes = {at: array.shape for at, array in zip(positions, arrays, strict=True)}
            sizes = self._shapes.sizes(shapes, [parameter.name for parameter in self.parameters])
        for at, array in zip(positions, arrays, strict=True):
            bound = self.parameters[at].bound
            if bound is not None:
                check_indices(array, bound.substitute(sizes).constant, self.parameters[at].name)

    def __repr__(self) -> str:
        return f"<compiled function {self.name}({', '.join(p.name for p in self.parameters)})>"


def _checked(argument: Any, parameter: Parameter) -> Array:
    if parameter.is_written and isinstance(argument, np.generic):
        raise UserError(
            f"argument {parameter.name}: results are written to it, but a numpy scalar cannot be "
            "written; pass an array"
        )
    array = as_array(argument, parameter.name)
    assert parameter.shape is not None
    check_dtype(array, parameter.type, parameter.name)
    if DYNAMIC_INDEX in parameter.shape and array.ndim == len(parameter.shape):
        shape = [
            found if wanted == DYNAMIC_INDEX else wanted
            for wanted, found in zip(parameter.shape, array.shape, strict=True)
        ]
        check_shape(array, shape, parameter.name)
    else:
        check_shape(array, parameter.shape, parameter.name)
    check_layout(array, parameter.name, written=parameter.is_written)
    return array


def _describe(array: Array) -> ctypes.Structure:
    memref: Any = descriptor(array.ndim)()
    memref.allocated = memref.aligned = array.ctypes.data
    if array.ndim:
        memref.sizes[:] = array.shape
        memref.strides[:] = [stride // array.itemsize for stride in array.strides]
    return memref


def _scalar(argument: Any, parameter: Parameter) -> Any:
    dtype = numpy_dtype(parameter.type)
    try:
        exact = np.asarray(argument, dtype=dtype)
        if exact.ndim != 0 or (dtype.kind in "ib" and exact != argument):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise UserError(
            f"argument {parameter.name}: expected a scalar of type {dtype}, but found {argument!r}"
        ) from None
    return exact[()].item()
