"""Calls of compiled code with NumPy arrays that run as one native function.

The function checks the arguments, allocates the results and calls the code, so a kernel that runs
for a microsecond is called as fast as a NumPy function. It returns None if it cannot handle a call.
The table that it reads is described in `native/llvm/array_calls.ll`.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import prod
from typing import Any, NoReturn

import numpy as np

from riselang.native.llvm.array_calls import (
    FIXED,
    FLOAT32,
    FLOAT64,
    HEADER_WORDS,
    INTEGER,
    PASSED,
    SLOT_WORDS,
    WRITABLE,
)
from riselang.native.llvm.guard import raise_call_error
from riselang.runtime.arrays import (
    Array,
    address,
    has_object_layout,
    is_large,
    new_array,
    pointer_at,
)
from riselang.runtime.python_functions import FASTCALL, MethodDefinition, new_builtin
from riselang.support.lazy import cached_property

Call = Callable[[Sequence[Any]], Any]
NativeCall = Callable[[tuple[Any, ...], Any], Any]
"""Takes the arguments, and None or an array for the result; returns None if it does nothing."""
ArrayType = tuple[tuple[int, ...], np.dtype[Any]]
"""The shape and dtype of an array."""
_NEW_FROM_DESCRIPTOR = 94
"""The position of `PyArray_NewFromDescr` in the table of NumPy's C API."""
MAX_EXACT = 1 << 53
"""Integers up to this one are exact as f64."""


def decline(arguments: tuple[Any, ...], out: Any) -> None:
    """Handle no call."""


@dataclass(frozen=True)
class PreparedCall:
    """A call for arrays of some shapes."""

    make_native: Callable[[], NativeCall | None]
    otherwise: Call
    """Handles calls that `native` does not, with arrays of the right types and shapes."""

    @cached_property
    def native(self) -> NativeCall:
        """Checks the types, shapes and layouts of the arguments. It is made for the second call:
        many kernels are called once."""
        return self.make_native() or decline

    def __call__(self, arguments: Sequence[Any]) -> Any:
        """Return the results for arrays of the right types and shapes."""
        result = self.native(tuple(arguments), None)
        return self.otherwise(arguments) if result is None else result


class _CallTable(np.ndarray[Any, np.dtype[np.int64]]):
    """The numbers of a call table, with the objects that they refer to."""

    referents: Sequence[Any]


def native_call(
    function: int,
    results: Sequence[ArrayType],
    inputs: Sequence[ArrayType | Array],
    lengths: Sequence[int] = (),
    pack: Callable[[tuple[Array, ...]], Any] | None = None,
    fail: Callable[[tuple[int, int, int]], NoReturn] | None = None,
) -> NativeCall | None:
    """Return a function that calls the machine code at an address; None if this Python has another
    layout of objects.

    The code takes the address of an array that contains the addresses of the results, the
    addresses of the inputs, and the lengths. Inputs that are arrays are fixed; they must be
    C-contiguous. `pack` takes the tuple of results; without it, a call returns this tuple, or the
    only result. If there is a function `fail`, the code takes the address of a failure buffer after
    those of the inputs, and `fail` raises an error for the check, the index and the bound in it.
    """
    if not has_object_layout:
        return None
    make_function = _function_maker()
    if make_function is None:
        return None
    table = _Table()
    for each in results:
        table.add_result(each)
    for each in inputs:
        if isinstance(each, np.ndarray):
            table.add_fixed(address(each), each.nbytes, each)
        else:
            table.add_passed(each)
    if fail is not None:
        table.add_failure_buffer(fail)
    for length in lengths:
        table.add_fixed(length, 0, None)
    return make_function(table.finish(function, len(results), pack))


class _Table:
    """Collects the slots of a call table."""

    def __init__(self) -> None:
        self._slots: list[list[int]] = []
        self._referents: list[Any] = []
        self._passed = 0
        self._failure = (0, 0)

    def add_failure_buffer(self, fail: Callable[[tuple[int, int, int]], NoReturn]) -> None:
        """Add a slot for the failure buffer, which each call has on its stack."""
        self._failure = (id(fail), len(self._slots))
        self.add_fixed(0, 0, None)
        self._referents.append(fail)

    def add_fixed(self, number: int, size: int, owner: Array | None) -> None:
        self._slots.append([FIXED, 0, 0, 0, size, number, 0, 0])
        self._referents.append(owner)

    def add_passed(self, type: ArrayType) -> None:
        shape, dtype = type
        kind, least, greatest = PASSED, 0, 0
        if shape == () and dtype.isbuiltin == 1 and dtype.kind in "iu":
            limits = np.iinfo(dtype)
            kind, least = INTEGER, int(limits.min)
            greatest = min(int(limits.max), np.iinfo(np.int64).max)
        elif shape == () and dtype.num in (np.dtype(np.float32).num, np.dtype(np.float64).num):
            kind = FLOAT32 if dtype.itemsize == 4 else FLOAT64
            least, greatest = -MAX_EXACT, MAX_EXACT
        self._slots.append([kind, *self._describe(type), 0, least, greatest])
        self._passed += 1

    def add_result(self, type: ArrayType) -> None:
        maker = partial(new_array, *type) if is_large(*type) else None
        self._referents.append(maker)
        number = 0 if maker is None else id(maker)
        self._slots.append([PASSED, *self._describe(type), number, 0, 0])

    def _describe(self, type: ArrayType) -> tuple[int, int, int, int]:
        """Return the fields of a slot for the dtype, the rank, the lengths and the size."""
        shape, dtype = type
        lengths = np.array(shape, np.int64)
        self._referents += [lengths, dtype]
        return id(dtype), len(shape), address(lengths), prod(shape) * dtype.itemsize

    def finish(self, function: int, results: int, pack: Any) -> _CallTable:
        """Return the table for the function at an address."""
        self._referents.append(pack)
        header = [
            function, len(self._slots), results, self._passed, 0 if pack is None else id(pack),
            id(np.ndarray), id(float), id(int), id(None), id(raise_call_error), *self._failure,
        ]  # fmt: skip
        header += [0] * (HEADER_WORDS - len(header))
        numbers = np.array([*header, *(n for slot in self._slots for n in slot)], np.int64)
        assert numbers.size == HEADER_WORDS + SLOT_WORDS * len(self._slots)
        table = numbers.view(_CallTable)
        table.referents = (numbers, *self._referents)
        return table


@cache
def _function_maker() -> Callable[[_CallTable], NativeCall] | None:
    """Return a function that makes the native function of a call table."""
    if not _has_array_layout():
        return None
    # Imported only here, since most kernels are called once.
    from riselang.native import code_loading

    code = code_loading.array_call_functions(_new_array_address())
    definition = MethodDefinition(b"call", code.address("rise_call_arrays"), FASTCALL, None)

    def make(table: _CallTable) -> NativeCall:
        # Several threads may have compiled the code: each function keeps the code that it calls.
        table.referents = (*table.referents, code, definition)
        return new_builtin(definition, table)

    return make


def _new_array_address() -> int:
    """Return the address of `PyArray_NewFromDescr`."""
    multiarray: Any = sys.modules["numpy._core._multiarray_umath"]
    get_pointer = ctypes.pythonapi["PyCapsule_GetPointer"]
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    functions = get_pointer(multiarray._ARRAY_API, None)
    return pointer_at(functions + _NEW_FROM_DESCRIPTOR * ctypes.sizeof(ctypes.c_void_p)).value or 0


class _ArrayFields(ctypes.Structure):
    """The fields of an array object after its header: `PyArrayObject_fields` of NumPy's C API."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int),
        ("lengths", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.c_void_p),
        ("base", ctypes.c_void_p),
        ("dtype", ctypes.c_void_p),
        ("flags", ctypes.c_int),
    ]


class _DtypeFields(ctypes.Structure):
    """The fields of a dtype object after its header: `PyArray_Descr` of NumPy's C API."""

    _fields_ = [
        ("scalar_type", ctypes.c_void_p),
        ("kind", ctypes.c_char),
        ("letter", ctypes.c_char),
        ("byte_order", ctypes.c_char),
        ("unused", ctypes.c_char),
        ("number", ctypes.c_int),
    ]


def _has_array_layout() -> bool:
    """Return whether the objects of this NumPy have the fields that native calls read."""
    header = object.__basicsize__
    probes = [np.zeros((2, 3), np.float32), np.zeros((), ">i8"), np.zeros((4, 2), np.int16).T]
    for probe in probes:
        fields = _ArrayFields.from_address(id(probe) + header)
        dtype = _DtypeFields.from_address(id(probe.dtype) + header)
        shape = tuple(fields.lengths[axis] for axis in range(probe.ndim))
        type_place = id(probe) + header - ctypes.sizeof(ctypes.c_void_p)
        is_same = (
            (fields.rank, shape, fields.dtype) == (probe.ndim, probe.shape, id(probe.dtype))
            and fields.flags & WRITABLE == _flags(probe)
            and (dtype.number, dtype.byte_order)
            == (probe.dtype.num, probe.dtype.byteorder.encode())
            and pointer_at(type_place).value == id(np.ndarray)
        )
        if not is_same:
            return False
    return True


def _flags(array: Array) -> int:
    """Return NumPy's bits for arrays that are C-contiguous, aligned and writable."""
    flags = array.flags
    return flags.c_contiguous | flags.aligned << 8 | flags.writeable << 10
