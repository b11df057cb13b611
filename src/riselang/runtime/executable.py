"""Call the functions of compiled modules with arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

import numpy as np

from riselang.native.llvm.entry_points import (
    ARRAY_PREFIX,
    ENTRY_PREFIX,
    GUARDED_PREFIX,
    PACKED_PREFIX,
    Dimensions,
)
from riselang.native.llvm.entry_points import (
    entry_point_ir as entry,
)
from riselang.native.llvm.guard import raise_call_error
from riselang.runtime.array_calls import ArrayType, NativeCall, native_call
from riselang.runtime.arrays import (
    Array,
    address,
    as_array,
    check_dtype,
    check_indices,
    check_layout,
    check_shape,
    contiguous_copy,
    exact_scalar,
    refuse_masked,
)
from riselang.support.counts import format_count
from riselang.support.element_types import DTYPE_NAMES, DYNAMIC_LENGTH, dtype_named
from riselang.support.errors import (
    InternalError,
    LimitationError,
    OutOfRangeError,
    SourceLocation,
    UserError,
)
from riselang.support.lazy import cached_property
from riselang.support.structures import PLAIN_INTERFACE, Interface

if TYPE_CHECKING:
    from riselang.dialects.rise.types import ScalarType
    from riselang.nat import Nat
    from riselang.runtime.shapes import DynamicShapes


@dataclass(frozen=True)
class Parameter:
    """A parameter of a compiled function: a buffer, or a scalar when `shape` is None."""

    name: str
    element: str
    """The name of its element type, or of its own one."""
    shape: tuple[int, ...] | None
    is_written: bool = False
    bound: Nat | None = None
    """For an array of indices: their exclusive upper bound."""

    @property
    def type(self) -> ScalarType:
        # Imported only where needed: most calls of loaded code do without the types.
        from riselang.dialects.rise.types import SCALARS

        return SCALARS[self.element]

    @property
    def dtype(self) -> np.dtype[Any]:
        return dtype_named(self.element)


class _ScalarKind(NamedTuple):
    """The type of a scalar that is passed by value, in ctypes and in LLVM."""

    ctype: Any
    llvm: str


SCALAR_KINDS: dict[str, _ScalarKind] = {
    "float32": _ScalarKind(ctypes.c_float, "float"),
    "float64": _ScalarKind(ctypes.c_double, "double"),
    "bool": _ScalarKind(ctypes.c_bool, "i1"),
    "int8": _ScalarKind(ctypes.c_int8, "i8"),
    "int16": _ScalarKind(ctypes.c_int16, "i16"),
    "int32": _ScalarKind(ctypes.c_int32, "i32"),
    "int64": _ScalarKind(ctypes.c_int64, "i64"),
    "uint8": _ScalarKind(ctypes.c_uint8, "i8"),
    "uint16": _ScalarKind(ctypes.c_uint16, "i16"),
    "uint32": _ScalarKind(ctypes.c_uint32, "i32"),
    "uint64": _ScalarKind(ctypes.c_uint64, "i64"),
}


def scalar_kind(parameter: Parameter) -> _ScalarKind:
    name = DTYPE_NAMES[parameter.element]
    if name not in SCALAR_KINDS:
        raise LimitationError(f"a scalar parameter of type {name} is not supported; pass an array")
    return SCALAR_KINDS[name]


FAILURE_SHAPE = (4,)
"""The shape of the failure buffer: the number of failed checks, and the number (from 1), the index
and the bound of the first of them."""


def entry_point_ir(
    name: str, parameters: Sequence[Parameter], *, fails: bool, has_descriptors: bool = True
) -> str:
    """Return the LLVM IR of the entry point that `Executable` calls."""
    kinds: list[Dimensions | str] = [
        tuple(None if length == DYNAMIC_LENGTH else length for length in parameter.shape)
        if parameter.shape is not None
        else scalar_kind(parameter).llvm
        for parameter in parameters
    ]
    return entry(
        name, [*kinds, *([FAILURE_SHAPE] if fails else [])], has_descriptors=has_descriptors
    )


@dataclass(frozen=True)
class DeviceFunction:
    """A function that takes arrays in GPU memory."""

    launch: Callable[..., int]
    """Takes the handle of a stream, and the addresses of aligned arrays, which it does not check.

    The result is zero, or a number for `fail`."""
    fail: Callable[[int], NoReturn]
    """Raises an error."""


class Code(Protocol):
    """Machine code in this process."""

    def address(self, symbol: str) -> int: ...


def load_function(
    code: Code, name: str, kinds: Sequence[Any], length_counts: Sequence[int]
) -> Callable[..., int | None]:
    """Return a function that calls machine code; its result is the reason if a call ends early.

    It takes arguments of these C types, and the address of all lengths if there are any.
    `length_counts` contains the number of lengths after each argument of the entry point, which is
    all that a library for other languages has.
    """
    address = [ctypes.c_void_p] if any(length_counts) else []
    for prefix, result in ((GUARDED_PREFIX, ctypes.c_int64), (PACKED_PREFIX, None)):
        if wrapper := code.address(f"{prefix}{ENTRY_PREFIX}{name}"):
            return ctypes.CFUNCTYPE(result, *kinds, *address)(wrapper)
    pairs = zip(kinds, length_counts, strict=True)
    entry_kinds = [each for kind, count in pairs for each in (kind, *[ctypes.c_int64] * count)]
    function = ctypes.CFUNCTYPE(None, *entry_kinds)(code.address(f"{ENTRY_PREFIX}{name}"))
    if not address:
        return function

    def call(*arguments: Any) -> None:
        lengths = iter((ctypes.c_int64 * sum(length_counts)).from_address(arguments[-1]))
        pairs = zip(arguments[:-1], length_counts, strict=True)
        function(*(each for value, count in pairs for each in (value, *islice(lengths, count))))

    return call


class Executable:
    """A compiled function; arguments are passed in order, and outputs are written in place."""

    def __init__(
        self,
        code: Code,
        name: str,
        parameters: Sequence[Parameter],
        shapes: DynamicShapes | None = None,
        checks: Sequence[SourceLocation | None] = (),
        function: Callable[..., int | None] | None = None,
        device_function: DeviceFunction | None = None,
    ):
        """`checks` contains the source location of each index check of the function.

        If `function` is passed, it is called instead of the machine code in `code`. A function of
        a GPU also has a form that takes only arrays on the GPU.
        """
        self._code = code  # keeps the machine code alive
        self.name = name
        self.parameters = tuple(parameters)
        self._checks = tuple(checks)
        self._shapes = shapes
        self._buffers = [
            position for position, each in enumerate(parameters) if each.shape is not None
        ]
        self._has_bounds = any(parameter.bound is not None for parameter in parameters)
        self._dtypes = [parameter.dtype for parameter in parameters]
        takes_arrays = not self._has_bounds and len(self._buffers) == len(parameters)
        self._is_plain = takes_arrays and function is None
        """Whether a call passes only addresses and lengths."""
        on_device = takes_arrays and not checks and shapes is None
        self.device_function = device_function if on_device else None
        """The function of a GPU without checks; None if calls need more of them."""
        argument_ctypes: list[Any] = [
            scalar_kind(each).ctype if each.shape is None else ctypes.c_void_p
            for each in parameters
        ]
        length_counts = [(each.shape or ()).count(DYNAMIC_LENGTH) for each in parameters]
        if checks:
            argument_ctypes.append(ctypes.c_void_p)
            length_counts.append(0)
        self._function = function or load_function(code, name, argument_ctypes, length_counts)

    @property
    def can_fail(self) -> bool:
        """Whether the function has index checks that may fail."""
        return bool(self._checks)

    def leading_shapes(self, count: int, arrays: Sequence[Array]) -> list[tuple[int, ...]]:
        """Return the shapes of the first `count` parameters, given the arrays for all others."""
        sizes = self.sizes({position: array.shape for position, array in enumerate(arrays, count)})
        return [self._parameter_shape(position, sizes) for position in range(count)]

    @property
    def size_names(self) -> frozenset[str]:
        """The names of the sizes of dynamic dimensions."""
        return frozenset() if self._shapes is None else self._shapes.names

    def sizes(
        self, shapes: Mapping[int, tuple[int, ...]], given: Mapping[str, Nat] | None = None
    ) -> Mapping[str, Nat]:
        """Return the given sizes, and those that the shapes of some parameters determine."""
        if self._shapes is None:
            return {}
        return self._shapes.sizes(shapes, [each.name for each in self.parameters], given)

    def lengths(self, position: int) -> tuple[Nat, ...] | None:
        """Return the symbolic shape of a buffer; None if a dimension is dynamic and has no name."""
        shape = self.parameters[position].shape
        assert shape is not None
        if DYNAMIC_LENGTH not in shape:
            from riselang.nat import Nat

            return tuple(map(Nat.const, shape))
        return None if self._shapes is None else self._shapes.lengths_at(position)

    def _parameter_shape(self, position: int, sizes: Mapping[str, Nat]) -> tuple[int, ...]:
        shape = self.parameters[position].shape
        assert shape is not None
        if DYNAMIC_LENGTH not in shape:
            return shape
        assert self._shapes is not None
        return self._shapes.shape_at(position, sizes)

    def __call__(self, *arguments: Any) -> None:
        if len(arguments) != len(self.parameters):
            raise UserError(
                f"{self.name} takes {format_count(len(self.parameters), 'argument')}, "
                f"but got {len(arguments)}"
            )
        call_arguments: list[Any] = []
        lengths: list[int] = []
        arrays: list[Array] = []
        spans: list[tuple[int, int, Parameter]] = []
        for parameter, dtype, argument in zip(
            self.parameters, self._dtypes, arguments, strict=True
        ):
            shape = parameter.shape
            if shape is None:
                call_arguments.append(_scalar_value(argument, parameter))
                continue
            array = argument
            if not (
                type(argument) is np.ndarray
                and argument.shape == shape
                and argument.dtype == dtype
                and argument.flags.carray
            ):
                array = _check_array(argument, parameter)
            start = address(array)
            call_arguments.append(start)
            if DYNAMIC_LENGTH in shape:
                lengths += [
                    n for n, m in zip(array.shape, shape, strict=True) if m == DYNAMIC_LENGTH
                ]
            arrays.append(array)
            if array.nbytes:
                spans.append((start, start + array.nbytes, parameter))
        if self._shapes is not None or self._has_bounds:
            self._check_sizes(arrays)
        _check_overlap(spans)
        length_array = (ctypes.c_int64 * len(lengths))(*lengths)
        length_address = [ctypes.addressof(length_array)] if lengths else []
        if self._checks:
            self._call_checked(call_arguments, length_address)
        elif reason := self._function(*call_arguments, *length_address):
            raise_call_error(reason)

    @property
    def has_native_calls(self) -> bool:
        """Whether calls with arrays of known shapes need no checks beyond their types."""
        return self._is_plain and bool(self._array_code)

    @cached_property
    def _array_code(self) -> int:
        """The address of the array entry point, or 0."""
        return self._code.address(f"{ARRAY_PREFIX}{ENTRY_PREFIX}{self.name}")

    def native_call(
        self,
        results: int,
        inputs: Sequence[Array | None],
        interface: Interface = PLAIN_INTERFACE,
        pack: Callable[[Sequence[Array]], Any] | None = None,
        shapes: Sequence[tuple[int, ...]] | None = None,
        locate_errors: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> NativeCall | None:
        """Return a native function for calls that allocate the results or write to one; None if
        calls need more checks.

        `inputs` contains the fixed inputs, and None for those that each call passes. `shapes`
        contains the shapes of all arrays; it is required if there are dynamic dimensions. The
        `interface` tells which of the results and inputs are complex. Failed checks are reported in
        the context of `locate_errors`.
        """

        def fail(reported: Sequence[int]) -> NoReturn:
            with locate_errors():
                self._fail(reported)
            raise InternalError("a failed check was not reported")

        fixed_inputs = [each for each in inputs if each is not None]
        if not self.has_native_calls or not all(map(_is_readable, fixed_inputs)):
            return None
        declared = [parameter.shape or () for parameter in self.parameters]
        if shapes is None and any(DYNAMIC_LENGTH in shape for shape in declared):
            return None
        used_shapes = declared if shapes is None else shapes
        lengths = [
            n
            for pair in zip(used_shapes, declared, strict=True)
            for n, m in zip(*pair, strict=True)
            if m == DYNAMIC_LENGTH
        ]
        complex_results = interface.complex_results or (False,) * results
        flags = [*complex_results, *interface.complex_inputs]
        flags += [False] * (len(self.parameters) - len(flags))
        types = list(map(_passed_type, used_shapes, self._dtypes, flags))
        input_types = [
            type if each is None else each
            for type, each in zip(types[results:], inputs, strict=True)
        ]
        return native_call(
            self._array_code, types[:results], input_types, lengths, pack,
            fail if self._checks else None,
        )  # fmt: skip

    def _call_checked(self, call_arguments: Sequence[Any], length_address: Sequence[int]) -> None:
        """Call the function with a failure buffer, and raise an error if a check failed."""
        failure = np.zeros(FAILURE_SHAPE, np.int64)
        if reason := self._function(*call_arguments, failure.ctypes.data, *length_address):
            raise_call_error(reason)
        count, *reported = failure.tolist()
        if count:
            self._fail(reported)

    def _fail(self, reported: Sequence[int]) -> NoReturn:
        """Raise an error for a failed check: its number, the index and the bound."""
        check, index, bound = reported
        raise OutOfRangeError(index, bound, self._checks[check - 1])

    def _check_sizes(self, arrays: Sequence[Array]) -> None:
        """Raise an error for inconsistent shapes and for indices out of range."""
        positions = self._buffers
        sizes = self.sizes(
            {position: array.shape for position, array in zip(positions, arrays, strict=True)}
        )
        for position, array in zip(positions, arrays, strict=True):
            bound = self.parameters[position].bound
            if bound is not None:
                check_indices(
                    array, bound.substitute(sizes).constant, self.parameters[position].name
                )

    def __repr__(self) -> str:
        return f"<compiled function {self.name}({', '.join(p.name for p in self.parameters)})>"


def _is_readable(array: Array) -> bool:
    return array.flags.c_contiguous and array.flags.aligned


def _passed_type(shape: tuple[int, ...], dtype: np.dtype[Any], is_complex: bool) -> ArrayType:
    """Return the type of the array that a call passes to a parameter, or returns."""
    return (shape[:-1], np.dtype(f"c{2 * dtype.itemsize}")) if is_complex else (shape, dtype)


def _check_array(argument: Any, parameter: Parameter) -> Array:
    if parameter.is_written and isinstance(argument, np.generic):
        raise UserError(
            f"argument {parameter.name}: results are written to it, but a NumPy scalar is "
            "read-only; pass an array"
        )
    array = as_array(argument, parameter.name)
    assert parameter.shape is not None
    check_dtype(array, parameter.element, parameter.name)
    if DYNAMIC_LENGTH in parameter.shape and array.ndim == len(parameter.shape):
        shape = [
            actual if expected == DYNAMIC_LENGTH else expected
            for expected, actual in zip(parameter.shape, array.shape, strict=True)
        ]
        check_shape(array, shape, parameter.name)
    else:
        check_shape(array, parameter.shape, parameter.name)
    if not parameter.is_written:
        array = contiguous_copy(array, parameter.name)
    check_layout(array, parameter.name, written=parameter.is_written)
    return array


def _check_overlap(spans: Sequence[tuple[int, int, Parameter]]) -> None:
    """Raise an error if a buffer that is written overlaps another one."""
    for start, end, parameter in spans:
        if not parameter.is_written:
            continue
        for other_start, other_end, other in spans:
            if start < other_end and other_start < end and other is not parameter:
                raise UserError(
                    f"arguments {parameter.name} and {other.name} share memory, and "
                    f"{parameter.name} is written; pass a copy of one"
                )


def _scalar_value(argument: Any, parameter: Parameter) -> Any:
    dtype = parameter.dtype
    refuse_masked(argument, parameter.name)
    exact = exact_scalar(argument, dtype)
    if exact is None:
        raise UserError(
            f"argument {parameter.name}: expected a scalar of type {dtype}, but found {argument!r}"
        )
    return exact[()].item()
