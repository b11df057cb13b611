"""Calling C functions from Python: scalars by value, NumPy arrays in place; arguments are
checked."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riselang.frontends.c.emit.bounds_checks import (
    FAILURE_RECORD_SIZE,
    CheckedAccess,
    add_checks,
    arrays_of_unknown_length,
    raise_failure,
    runtime_checks,
)
from riselang.frontends.c.emit.c_entry_points import is_buffer
from riselang.frontends.c.emit.row_pointers import pack_lengths
from riselang.frontends.c.fast_path import MISS, FastPath, make_fast_path
from riselang.frontends.c.model.footprints import Footprints
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.c_types import CType
from riselang.frontends.c.parse.syntax import Literal, Variable
from riselang.frontends.c.records import MemberArguments, byte_range
from riselang.frontends.c.row_arguments import RowArgument, read_rows
from riselang.native.llvm.entry_points import GUARDED_PREFIX
from riselang.native.llvm.guard import raise_call_error
from riselang.runtime.arrays import Array, address, as_array, check_layout, refuse_masked
from riselang.runtime.executable import Code
from riselang.support.counts import format_count
from riselang.support.errors import RiseError, UserError
from riselang.support.lazy import cached_property
from riselang.support.tracebacks import shorten_traceback, with_short_tracebacks

_CTYPES = {
    "float32": ctypes.c_float, "float64": ctypes.c_double, "bool": ctypes.c_bool,
    "int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32,
    "int64": ctypes.c_int64, "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64,
}  # fmt: skip


Arrays = Mapping[Variable, Array]
Load = Callable[[Sequence[Scop]], "Mapping[str, CFunction]"]
"""Compiles regions as loops."""
Values = Mapping[Variable, Any]
"""The values of scalars."""


@dataclass(frozen=True)
class ParameterSpec:
    """The expected argument of a parameter, computed in advance since it takes longer than some
    calls."""

    variable: Variable
    is_buffer: bool
    is_written: bool
    shape: tuple[int | None, ...]
    """The lengths that are constants in the declaration."""

    @property
    def is_member(self) -> bool:
        return self.variable.member is not None

    @staticmethod
    def of(scop: Scop, variable: Variable) -> ParameterSpec:
        shape = tuple(int(e.value) if isinstance(e, Literal) else None for e in variable.extents)
        return ParameterSpec(
            variable, is_buffer(scop, variable), variable in scop.written_variables, shape
        )


class CFunction(ABC):
    """A function with the parameters that it has in C."""

    def __init__(self, scop: Scop, load: Load):
        """`load` compiles regions, also those with more checks than this one."""
        self._scop = scop
        self._load = load
        self._unproven: frozenset[CheckedAccess] = frozenset()
        """Accesses that may be out of bounds if data-dependent conditions allow them."""
        self._checked: CFunction | None = None
        """The version that checks them at run time."""
        self.__name__ = scop.name
        self._footprints = Footprints(scop)
        self._inputs = tuple(ParameterSpec.of(scop, variable) for variable in scop.inputs)
        self._sized = tuple(
            each.variable for each in self._inputs
            if each.is_buffer or not each.variable.type.is_float
        )  # fmt: skip
        self._fast_path: FastPath | None = None
        self.stages: Callable[[str], str] | None = None
        """Prints the function at a stage."""

    def as_text(self, stage: str) -> str:
        """Return the function at a stage, as `rise c --emit` prints it: `"report"`, `"model"`,
        `"schedule"`, `"jscop"`, `"c"`, `"affine"`, `"llvm"`, `"asm"` and others."""
        if self.stages is None:
            raise UserError(f"{self.__name__} was not loaded by from_c, so it has no stages")
        return self.stages(stage)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        return tuple(variable.name for variable in self._parameters)

    @cached_property
    def _parameters(self) -> tuple[Variable, ...]:
        """The variables that a call has arguments for."""
        scop = self._scop
        if scop.is_whole:
            return scop.function.parameters
        return tuple(dict.fromkeys(variable.root for variable in scop.inputs))

    @cached_property
    def _globals(self) -> Mapping[Variable, Array]:
        """The storage of the globals that the function uses."""
        if not self._scop.is_whole:
            return {}
        roots = dict.fromkeys(each.root for each in self._scop.inputs)
        return {each: _initial_value(each) for each in roots if each not in self._parameters}

    @cached_property
    def globals(self) -> Mapping[str, Array]:
        """The globals and static variables of the function, which it has copies of, by name."""
        return {
            each.definition.symbol: array
            for each, array in self._globals.items()
            if each.definition is not None
        }

    def dtype(self, parameter: str) -> np.dtype[Any]:
        """Return the NumPy dtype of a parameter; that of a structure has the layout that it has in
        C."""
        for variable in self._parameters:
            if variable.name == parameter:
                return variable.type.dtype
        raise UserError(f"{self.__name__} has no parameter {parameter}")

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        fast_path = self._fast_path
        if fast_path is not None and not named and len(arguments) == len(self._inputs):
            # Decorated functions take longer to call.
            try:
                result = fast_path.call(*arguments)
            except RiseError as error:
                raise shorten_traceback(error) from error.__cause__
            if result is not MISS:
                return result
        return self._call_with_checks(arguments, named)

    @with_short_tracebacks
    def _call_with_checks(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        given = dict(zip(self._parameters, self._order_arguments(arguments, named), strict=True))
        members = MemberArguments(self._scop, {**given, **self._globals})
        passed: list[Any] = []
        values: dict[Variable, Any] = {}
        arrays: dict[Variable, Array] = {}
        rows: dict[Variable, RowArgument] = {}
        for each in self._inputs:
            variable = each.variable
            if each.is_member:
                argument = members.find(variable, is_buffer=each.is_buffer)
            elif variable in self._globals:
                argument = self._globals[variable]
            else:
                argument = given[variable]
            if not each.is_buffer:
                value = _convert_scalar(argument, variable)
                passed.append(value)
                values[variable] = value
                continue
            if variable.row_pointers:
                found = read_rows(argument, variable, is_written=each.is_written)
                rows[variable] = found
                arrays[variable] = found.matrix
                passed.append(address(found.table))
                continue
            array = self._check_array(argument, each)
            arrays[variable] = array
            passed.append(address(array))
        scalars = {each: int(value) for each, value in values.items() if each.type.is_integer}
        unproven = self._footprints.find_unproven_accesses(scalars, arrays)
        self._check_overlap(tuple(arrays.values()), rows)
        if unproven and self._scop.is_checked:
            result = self._checked_version(unproven).run(passed, arrays, values)
            members.finish()
            return result
        fast_path = self._fast_path_of(values)
        if fast_path is not None:
            fast_path.accept(
                tuple(arrays[v].shape if v in arrays else values[v] for v in self._sized),
                tuple(map(address, arrays.values())),
            )
        result = self.run(passed, arrays, values)
        members.finish()
        return result

    def _fast_path_of(self, values: Values) -> FastPath | None:
        """Return what handles later calls with the same sizes, if there is such a path."""
        return self._fast_path

    def _check_array(self, argument: Any, spec: ParameterSpec) -> Array:
        """Return the array of an argument, which must fit the declaration."""
        return check_array(as_array(argument, spec.variable.name), spec)

    def _checked_version(self, unproven: frozenset[CheckedAccess]) -> CFunction:
        """Return the version that checks all accesses that may be out of bounds in this or earlier
        calls."""
        if self._checked is None or not unproven <= self._unproven:
            self._unproven |= unproven
            scop = add_checks(self._scop, self._unproven)
            self._checked = self._load([scop])[scop.name]
        return self._checked

    @abstractmethod
    def run(self, passed: Sequence[Any], arrays: Arrays, values: Values) -> Any:
        """Run the function with checked arguments: as C takes them, and by name."""

    def _order_arguments(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        names = self.parameters
        if not named and len(arguments) == len(names):
            return list(arguments)
        unknown = [name for name in named if name not in names[len(arguments) :]]
        missing = [name for name in names[len(arguments) :] if name not in named]
        if len(arguments) > len(names) or unknown or missing:
            detail = f": {unknown[0]} is not one of them" if unknown else ""
            raise UserError(
                f"{self.__name__} takes {format_count(len(names), 'argument')} "
                f"({', '.join(names)}), but got {len(arguments) + len(named)}{detail}"
            )
        return [*arguments, *(named[name] for name in names[len(arguments) :])]

    def _check_overlap(
        self, arrays: Sequence[Array], rows: Mapping[Variable, RowArgument] | None = None
    ) -> None:
        """Check that an array that is written does not share memory with any other."""
        variables = [each.variable for each in self._inputs if each.is_buffer]
        spans = [
            (*byte_range(part), variable)
            for variable, array in zip(variables, arrays, strict=True)
            for part in (rows[variable].rows if rows and variable in rows else (array,))
            if part.nbytes
        ]
        for start, end, variable in spans:
            if variable not in self._scop.written_variables:
                continue
            for other_start, other_end, other in spans:
                if other.storage is variable.storage:
                    continue
                if start < other_end and other_start < end:
                    raise UserError(
                        f"arguments {variable.name} and {other.name} share memory, and "
                        f"{variable.name} is written; pass a copy of one"
                    )

    def __repr__(self) -> str:
        return f"<C function {self.__name__}({', '.join(self.parameters)})>"


class CompiledCFunction(CFunction):
    """A function whose loops are machine code."""

    def __init__(self, scop: Scop, load: Load, code: Code):
        super().__init__(scop, load)
        self._code = code  # keeps the machine code alive
        kinds = [
            ctypes.c_void_p if each.is_buffer else _CTYPES[each.variable.type.dtype.name]
            for each in self._inputs
        ]
        self._open = arrays_of_unknown_length(scop)
        self._has_checks = bool(runtime_checks(scop))
        if self._has_checks:
            kinds += [*(ctypes.c_int64 for _ in self._open), ctypes.c_void_p]
        result = None if scop.result is None else _CTYPES[scop.result.type.dtype.name]
        self._function = _wrap_machine_code(code, scop.name, result, kinds)
        if not self._has_checks:
            self._fast_path = self._make_fast_path(kinds)

    def _make_fast_path(self, kinds: Sequence[Any]) -> FastPath | None:
        """Return the fast path of a function without a result."""
        name, guarded = self._scop.name, self._code.address(f"{GUARDED_PREFIX}{self._scop.name}")
        if (
            self._scop.result is not None
            or self._globals
            or any(each.is_member or each.variable.row_pointers for each in self._inputs)
        ):
            return None
        result = ctypes.c_int64 if guarded else None
        types = [None if each.is_buffer else each.variable.type for each in self._inputs]
        return make_fast_path(
            ctypes.CFUNCTYPE(result, *kinds)(guarded or self._code.address(name)),
            types,
            [each.variable.type.dtype for each in self._inputs if each.is_buffer],
            self._check_overlap,
            ends_early=bool(guarded),
        )

    def run(self, passed: Sequence[Any], arrays: Arrays, values: Values) -> Any:
        if not self._has_checks:
            return self._function(*passed)
        failure = np.zeros(FAILURE_RECORD_SIZE.get_shape(), np.int64)
        sizes = [_passed_size(variable, arrays[variable]) for variable in self._open]
        result = self._function(*passed, *sizes, address(failure))
        raise_failure(self._scop, failure.tolist())
        return result


def _passed_size(variable: Variable, array: Array) -> int:
    return pack_lengths(*array.shape) if variable.row_pointers else array.size


def _initial_value(variable: Variable) -> Array:
    definition = variable.definition
    if definition is None or definition.initial is None:
        raise UserError(
            f"{variable.name} is declared extern, and its definition is not in this file; define "
            "it, or pass it as a parameter",
            variable.location,
        )
    return definition.initial.copy()


def _wrap_machine_code(
    code: Code, name: str, result: Any, kinds: Sequence[Any]
) -> Callable[..., Any]:
    """Return a function of machine code, which raises pending errors and interruptions."""
    guarded = code.address(f"{GUARDED_PREFIX}{name}")
    if not guarded:
        return ctypes.CFUNCTYPE(result, *kinds)(code.address(name))
    location = [] if result is None else [ctypes.c_void_p]
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds, *location)(guarded)

    def call(*passed: Any) -> Any:
        found = None if result is None else result()
        if reason := function(*passed, *([] if found is None else [ctypes.addressof(found)])):
            raise_call_error(reason)
        return None if found is None else found.value

    return call


def _convert_scalar(argument: Any, variable: Variable) -> Any:
    """Convert to the parameter's type; an integer must fit."""
    type = variable.type
    refuse_masked(argument, variable.name)
    is_array = isinstance(argument, np.ndarray) and argument.ndim == 0
    value = argument.item() if isinstance(argument, np.generic) or is_array else argument
    if type.is_float and isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise UserError(f"argument {variable.name}: {value} does not fit into {type}") from None
    if type.is_bool and isinstance(value, bool):
        return value
    if type.is_integer and isinstance(value, int) and not isinstance(value, bool):
        if type.smallest <= value <= type.largest:
            return value
        raise UserError(f"argument {variable.name}: {value} does not fit into {type}")
    raise UserError(f"argument {variable.name}: expected a number of type {type}, but found "
                    f"{argument!r}")  # fmt: skip


def check_array(array: Array, spec: ParameterSpec) -> Array:
    variable, expected = spec.variable, spec.shape
    _check_type(array, variable.type, variable.name)
    if not variable.is_strided and variable.extents:
        check_layout(array, variable.name, written=spec.is_written)
    is_flat = len(expected) == 1 and expected[0] is None
    if is_flat:
        return array  # a pointer, which may point into any array
    fits = array.ndim == len(expected) and all(
        wanted is None or wanted == found
        for wanted, found in zip(expected, array.shape, strict=True)
    )
    if not fits:
        wanted = " x ".join("?" if each is None else str(each) for each in expected)
        raise UserError(
            f"argument {variable.name}: expected shape {wanted}, but found {array.shape}"
        )
    return array


def _check_type(array: Array, type: CType, name: str) -> None:
    if array.dtype != type.dtype:
        raise UserError(
            f"argument {name}: expected dtype {type.dtype} ({type}), but found {array.dtype}"
        )
