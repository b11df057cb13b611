"""Kernels: programs that are called with arrays, from Python or from notation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, Never

import numpy as np

from riselang.api.binding import (
    bind_sizes,
    list_array,
    requested_types,
    scalar_array,
    sizes_from_types,
)
from riselang.api.lowered import Lowered
from riselang.api.specs import ArraySpec
from riselang.api.traced import Traced
from riselang.dialects.rise.type_binding import substitute
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import FunType, IdxType, RiseType, ScalarType, uncurry
from riselang.dsl.size_arguments import as_size
from riselang.dsl.user_locations import user_location
from riselang.nat import Nat, Solved, solve
from riselang.pipelines import GPU
from riselang.rewrite.core import Strategy
from riselang.runtime.array_calls import NativeCall, PreparedCall, decline
from riselang.runtime.array_libraries import array_converter, convert_results
from riselang.runtime.arrays import Array, as_array
from riselang.runtime.device_arrays import device_view, is_on_gpu, to_argument_library
from riselang.runtime.torch_calls import TensorKey, tensor_key
from riselang.support.config import DEFAULT_LOOPS, Options
from riselang.support.counts import format_count
from riselang.support.errors import RiseError, UserError
from riselang.support.forking import hold_forks
from riselang.support.html import code, table
from riselang.support.structures import PLAIN_INTERFACE, Interface
from riselang.support.tracebacks import shorten_traceback, with_short_tracebacks
from riselang.term.complex_numbers import as_complex
from riselang.term.mathlib import is_library_name
from riselang.term.nodes import Apply, Bound, DepLambda, Lambda, Term, parameter_names
from riselang.term.size_substitution import (
    check_sizes,
    open_term_binder,
    substitute_sizes,
    term_names,
)
from riselang.term.substitution import shift

if TYPE_CHECKING:
    from riselang.api.checked_program import CheckedProgram
    from riselang.api.compiled import Compiled

_SpecializationKey = tuple[tuple[RiseType, ...], tuple[tuple[str, Nat], ...]]
"""The parameter types, and the sizes."""
ArgumentTypes = tuple[tuple[tuple[int, ...], np.dtype[Any]] | type | None, ...]
"""The shape and dtype of each argument that is a NumPy array, or the type of a Python number; None
for other arguments."""
_NUMBERS: dict[type, type] = {float: float, int: int}
"""The types of numbers that prepared calls take."""
DEFAULT_OPTIONS = Options(DEFAULT_LOOPS)
_ARRAY: Any = np.ndarray
MAX_PREPARED_CALLS = 4096
"""The maximum number of prepared calls; a symbolic kernel may see any number of shapes."""

CHECKED = "check"
"""The back end of `rl.debug.check_nan`: compiled code that checks operations on floats."""


class Kernel(ABC):
    """A program that is called with arrays, and compiled for the shapes of each call.

    If it is `symbolic`, it is compiled once for all shapes.
    """

    symbolic = False

    def __init__(
        self,
        name: str,
        names: Sequence[str],
        types: Sequence[RiseType] | None,
        backend: str,
        options: Options,
        strategy: Strategy | None = None,
    ):
        """`types` is None for a subclass that takes the types of its parameters from a call."""
        self.__name__ = name
        self.names = tuple(names)
        if types is not None:
            self.types = tuple(types)
        self.backend = backend
        self.options = options
        self.strategy = strategy
        self._lowered: dict[_SpecializationKey, Lowered] = {}
        self._lock = RLock()
        self._prepared_calls: dict[ArgumentTypes, PreparedCall] = {}
        """Prepared calls by the shapes and dtypes of their arguments."""
        self._latest_call: NativeCall = decline
        """The latest prepared call, which the next call usually needs, too."""
        self._checked: Kernel | None = None
        """The kernel that checks its operations on floats."""
        self._checked_programs: dict[int, CheckedProgram] = {}
        """Programs with checks, by the identity of the program, which they keep alive."""
        self._gpu_programs: dict[ArgumentTypes, Compiled] = {}
        """Compiled programs for arrays on a GPU, by their shapes."""
        self._tensor_calls: dict[TensorKey, NativeCall] = {}
        """Prepared calls with PyTorch tensors on a GPU."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Never:
            hint = "; f.lower(x).compile().save(path) saves a program" if name == "save" else ""
            message = f"a compiled function has no attribute {name!r}{hint}"
            raise AttributeError(message, name=name, obj=self)

    @abstractmethod
    def source(self, types: tuple[RiseType, ...], sizes: Mapping[str, Nat]) -> tuple[Term, int]:
        """Return the program for parameters of these types, and its number of results.

        `sizes` are the values of the symbolic sizes in the kernel's own types.
        """

    def interface_of(self, source: Term) -> Interface:
        """Return how a program that `source` returned is called."""
        return PLAIN_INTERFACE

    def __call__(self, *arguments: Any, out: Any = None, **named: Any) -> Any:
        """Return the results for these arrays; write them to `out`, shaped like the result."""
        try:
            if not named:
                result = self._latest_call(arguments, out)
                if result is not None:
                    return result
            else:
                arguments = self._order_arguments(arguments, named)
            if out is not None:
                return self._call_into(arguments, out)
            return self._call_other_shapes(arguments)
        except RiseError as error:
            raise shorten_traceback(error) from error.__cause__

    def _call_other_shapes(self, arguments: tuple[Any, ...]) -> Any:
        """Call with shapes that differ from the latest call's."""
        if self._takes_device_arrays:
            tensors = tensor_key(arguments)
            if tensors is not None and (call := self._tensor_calls.get(tensors)) is not None:
                self._latest_call = call
                return call(arguments, None)
            if any(map(is_on_gpu, arguments)):
                return to_argument_library(arguments, self._call_on_gpu(arguments, tensors))
        key = argument_types(arguments)
        result = self._call_prepared(arguments, None, key)
        return self._call_new_shapes(arguments, key) if result is None else result

    def _call_prepared(self, arguments: tuple[Any, ...], out: Any, key: ArgumentTypes) -> Any:
        """Call with types for which a call is prepared; return None if that is not possible."""
        prepared = self._prepared_calls.get(key)
        if prepared is None:
            return None
        self._latest_call = prepared.native
        return prepared.native(arguments, out)

    def _order_arguments(
        self, positional: Sequence[Any], keywords: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """Return positional and named arguments in the order of the parameters."""
        names = self.names
        for name in keywords:
            if name not in names:
                raise UserError(
                    f"{self.__name__} has no parameter {name}; it has: {', '.join(names)}",
                    user_location(),
                )
            if name in names[: len(positional)]:
                raise UserError(
                    f"{self.__name__} got {name} twice: by position and by name",
                    user_location(),
                )
        remaining = names[len(positional) :]
        missing = [name for name in remaining if name not in keywords]
        if missing:
            raise UserError(
                f"{self.__name__} is called without {', '.join(missing)}", user_location()
            )
        return (*positional, *(keywords[name] for name in remaining))

    def _call_into(self, arguments: tuple[Any, ...], out: Any) -> Any:
        if self.backend != "compile":
            raise UserError("out= is for compiled kernels; the interpreter makes new arrays")
        key = argument_types(arguments)
        if self._call_prepared(arguments, out, key) is None:
            arrays = self._argument_arrays(arguments)
            if self._call_prepared(tuple(arrays), out, argument_types(arrays)) is not None:
                return out
            self._lowered_for_arrays(arrays, {})[0].compile().run_into(arrays, out)
            self._prepare_call(arrays, key)
        return out

    def bind_call(
        self, positional: Sequence[Any], keywords: Mapping[str, Any]
    ) -> tuple[Kernel, list[Array]]:
        """Return the kernel for the types of these arguments, and an array for each leaf."""
        return self, self._argument_arrays(self._order_arguments(positional, keywords))

    def interpreted(self) -> Kernel:
        """Return this kernel with the reference interpreter as its back end."""
        return self._with_backend("interpret")

    def checked(self) -> Kernel:
        """Return this kernel with code that checks its operations on floats."""
        with self._lock:
            if self._checked is None:
                self._checked = self._with_backend(CHECKED)
            return self._checked

    def _with_backend(self, backend: str) -> Kernel:
        if self.backend == backend:
            return self
        kernel = object.__new__(type(self))  # copy() would return a jitted function itself
        vars(kernel).update(vars(self))
        kernel.backend = backend
        kernel._prepared_calls, kernel._lowered = {}, {}
        kernel._latest_call = decline
        return kernel

    def _clear_if_full(self, cache: dict[Any, Any]) -> None:
        if len(cache) >= MAX_PREPARED_CALLS:
            cache.clear()

    def _call_new_shapes(self, arguments: Sequence[Any], key: ArgumentTypes) -> Any:
        """Call with shapes that have not been seen before, or with arguments of other types."""
        if self.backend != "compile":
            result = self.call(arguments, {})
        else:
            arrays = self._argument_arrays(arguments)
            prepared = self._prepared_calls.get(argument_types(arrays))
            if prepared is not None:
                result = prepared(arrays)
            else:
                result = self.call(arrays, {})
                self._prepare_call(arrays, key)
        convert = array_converter(arguments) if None in key else None
        return result if convert is None else convert_results(result, convert)

    def _prepare_call(self, arrays: Sequence[Array], key: ArgumentTypes) -> None:
        """Prepare the call for later calls with arguments of the same types."""
        lowered, _ = self._lowered_for_arrays(arrays, {})
        prepared = lowered.compile().prepare_call(arrays)
        for each in {argument_types(arrays), key}:
            if None not in each:
                self.remember_call(each, prepared)

    def remember_call(self, key: ArgumentTypes, call: PreparedCall) -> None:
        """Use a prepared call for arguments of these types."""
        self._clear_if_full(self._prepared_calls)
        self._prepared_calls[key] = call

    def prepared_call(self, key: ArgumentTypes) -> PreparedCall | None:
        """Return the call for arguments of these types, if there has been one."""
        return self._prepared_calls.get(key)

    def _call_on_gpu(self, arguments: Sequence[Any], tensors: TensorKey | None) -> Any:
        """Call with arrays on a GPU; the sizes are bound once for each combination of shapes.

        If the arguments are tensors with the key `tensors`, the next such call is fast.
        """
        arrays = self._argument_arrays(arguments)
        key = tuple((array.shape, array.dtype) for array in arrays)
        compiled = self._gpu_programs.get(key)
        if compiled is None:
            compiled = self._lowered_for_arrays(arrays, {})[0].compile()
            self._clear_if_full(self._gpu_programs)
            self._gpu_programs[key] = compiled
        if tensors is not None and (call := compiled.prepare_tensor_call(arguments)) is not None:
            self._remember_tensor_call(tensors, call)
            return call(tuple(arguments), None)
        return compiled.run(arrays)

    def _remember_tensor_call(self, tensors: TensorKey, call: NativeCall) -> None:
        self._clear_if_full(self._tensor_calls)
        self._tensor_calls[tensors] = call
        self._latest_call = call

    def call(self, arguments: Sequence[Any], known: Mapping[str, Nat]) -> Any:
        """Return the results for these arrays; `known` has sizes that shapes may not determine."""
        arrays = self._argument_arrays(arguments)
        lowered, sizes = self._lowered_for_arrays(arrays, known)
        if self.backend == "interpret":
            return lowered.interpret(arrays, sizes)
        if self.backend == CHECKED:
            return self._checked_program(lowered).run(arrays, sizes)
        return lowered.compile().run(arrays)

    def _checked_program(self, lowered: Lowered) -> CheckedProgram:
        # Imported only here, since few programs are checked.
        from riselang.api.checked_program import CheckedProgram

        with hold_forks(), self._lock:
            if id(lowered) not in self._checked_programs:
                self._checked_programs[id(lowered)] = CheckedProgram(lowered)
            return self._checked_programs[id(lowered)]

    def _lowered_for_arrays(
        self, arrays: Sequence[Array], known: Mapping[str, Nat]
    ) -> tuple[Lowered, Mapping[str, Nat]]:
        """Return the program that takes these arrays, and the values of its symbolic sizes."""
        if not self.symbolic:
            return self._specialize({**known, **bind_sizes(self.types, self.names, arrays)}), {}
        lowered = self._specialize({})
        sizes = bind_sizes(lowered.argument_types, self.names, arrays)
        lowered.check_sizes(sizes)
        return lowered, sizes

    @with_short_tracebacks
    def trace(self, *arguments: Any, **sizes: int) -> Traced:
        """Trace for these arrays, array types or sizes by name; without them, for all sizes."""
        return self._trace_at_sizes(self._requested_sizes(arguments, sizes))

    @with_short_tracebacks
    def lower(self, *arguments: Any, **sizes: int) -> Lowered:
        """Trace for these arrays, array types or sizes, and lower with the kernel's options."""
        return self._specialize(self._requested_sizes(arguments, sizes))

    def _requested_sizes(
        self, arguments: Sequence[Any], sizes: Mapping[str, int]
    ) -> Mapping[str, Nat]:
        if sizes and arguments:
            raise UserError("pass either arrays or sizes by name, not both", user_location())
        if not arguments:
            return self.named_sizes(sizes)
        if any(isinstance(argument, ArraySpec | ScalarType) for argument in arguments):
            self._check_count(arguments)
            types = requested_types(self.types, self.names, arguments, self._argument_array)
            return sizes_from_types(self.types, types, self.names)
        return bind_sizes(self.types, self.names, self._argument_arrays(arguments))

    def named_sizes(self, sizes: Mapping[str, int]) -> dict[str, Nat]:
        """Return the sizes that the user gives by name."""
        return {name: self._named_size(name, size) for name, size in sizes.items()}

    def _named_size(self, name: str, size: Any) -> Nat:
        return as_size(size, f"{self.__name__}({name}=...)")

    def sizes_of(self, arrays: Mapping[str, Array]) -> Mapping[str, Nat]:
        """Return the sizes that some of the arguments, by name, determine."""
        types = [type for name, type in zip(self.names, self.types, strict=True) if name in arrays]
        names = [name for name in self.names if name in arrays]
        return bind_sizes(types, names, [arrays[name] for name in names])

    def _check_count(self, arguments: Sequence[Any]) -> None:
        if len(arguments) != len(self.types):
            raise UserError(
                f"{self.__name__} takes {format_count(len(self.types), 'argument')} "
                f"({', '.join(self.names)}), "
                f"but got {len(arguments)}"
            )

    def _argument_arrays(self, arguments: Sequence[Any]) -> list[Array]:
        self._check_count(arguments)
        return [
            self._argument_array(name, type, argument)
            for name, type, argument in zip(self.names, self.types, arguments, strict=True)
        ]

    def _argument_array(self, name: str, type: RiseType, argument: Any) -> Array:
        if isinstance(type, ScalarType | IdxType) and not isinstance(argument, np.ndarray):
            return scalar_array(argument, type, name)
        if self._takes_device_arrays and is_on_gpu(argument):
            return device_view(argument, name)
        if isinstance(argument, list):
            return list_array(argument, type, name)
        return as_array(argument, name)

    @property
    def _takes_device_arrays(self) -> bool:
        return self.options.loops == GPU and self.backend == "compile"

    def _specialize(self, sizes: Mapping[str, Nat]) -> Lowered:
        types = tuple(substitute(type, sizes, {}) for type in self.types)
        key = (types, tuple(sorted(sizes.items(), key=lambda item: item[0])))
        with hold_forks(), self._lock:
            if key not in self._lowered:
                self._lowered[key] = self._trace_at_sizes(sizes).lower()
            return self._lowered[key]

    @hold_forks()
    def _trace_at_sizes(self, sizes: Mapping[str, Nat]) -> Traced:
        types = tuple(substitute(type, sizes, {}) for type in self.types)
        source, results = self.source(types, sizes)
        name = self.__name__ if self.__name__.isidentifier() else "kernel"
        if is_library_name(name):
            name = f"{name}_kernel"  # a program may call the function of the math library
        interface = self.interface_of(source)
        return Traced(name, source, results, self.options, self.strategy, interface)

    def __repr__(self) -> str:
        types = ", ".join(
            f"{name} : {format_type(type)}"
            for name, type in zip(self.names, self.types, strict=True)
        )
        return f"<kernel {self.__name__}({types})>"

    def __str__(self) -> str:
        """The program as a term: for all sizes, or for those of the calls so far."""
        try:
            return repr(self.trace())
        except RiseError:
            programs = dict.fromkeys(repr(lowered.source) for lowered in self.programs)
            return "\n".join(programs) or repr(self)

    @property
    def programs(self) -> list[Lowered]:
        """The programs for the sizes of the calls so far."""
        return list(self._lowered.values())

    def _repr_html_(self) -> str:
        rows = [
            (", ".join(map(format_type, lowered.argument_types)), f"{seconds * 1000:.0f} ms")
            for lowered in self.programs
            if (seconds := lowered.compile_seconds) is not None
        ]
        return code(repr(self)) + (table(("compiled for", "time to compile"), rows) if rows else "")


def argument_types(arguments: Sequence[Any]) -> ArgumentTypes:
    """Return the types by which prepared calls are looked up."""
    return tuple([(array.shape, array.dtype) if type(array) is _ARRAY else _NUMBERS.get(type(array))
                  for array in arguments])  # fmt: skip


class TermKernel(Kernel):
    """A kernel for a closed term, which may have symbolic sizes.

    `refined` defines the sizes that type inference has replaced: `N = 4 * N_by_4`.
    """

    def __init__(
        self,
        name: str,
        term: Term,
        backend: str = "compile",
        options: Options = DEFAULT_OPTIONS,
        refined: Mapping[str, Nat] | None = None,
        strategy: Strategy | None = None,
        interface: Interface = PLAIN_INTERFACE,
    ):
        self.term = term
        self.refined = refined or {}
        self._interface = interface
        self._program = _eta_expand(_remove_size_binders(term), 0)
        types, _ = uncurry(self._program.type)
        if flags := interface.complex_inputs:
            pairs = zip(types, flags, strict=True)
            types = [as_complex(type) if is_complex else type for type, is_complex in pairs]
        names = parameter_names(self._program)
        super().__init__(name, names, types, backend, options, strategy)

    def named_sizes(self, sizes: Mapping[str, int]) -> dict[str, Nat]:
        names = term_names(self._program)
        result: dict[str, Nat] = {}
        for name, value in sizes.items():
            size = self._named_size(name, value)
            if name in names:
                result[name] = size
                continue
            refined = self.refined.get(name)
            if refined is None:
                known = ", ".join(sorted({*names, *self.refined})) or "none"
                raise UserError(f"{self.__name__} has no size {name}; it has: {known}")
            answer = solve(refined, size, sorted(refined.variables))
            if not isinstance(answer, Solved):
                raise UserError(f"size {name}: expected {refined}, but found {size}")
            result.update(answer.substitution)
        return result

    def source(self, types: tuple[RiseType, ...], sizes: Mapping[str, Nat]) -> tuple[Term, int]:
        check_sizes(self._program, sizes)
        return substitute_sizes(self._program, sizes), 1

    def interface_of(self, source: Term) -> Interface:
        return self._interface


def _remove_size_binders(term: Term) -> Term:
    """Remove the size parameters of a program; the sizes become free variables."""
    while isinstance(term, DepLambda):
        if term.kind != "nat":
            raise UserError(
                f"expected a program of known types, but this is polymorphic in {term.name}; apply "
                "it to a type, as in f@[f32]",
                term.location,
            )
        _, term = open_term_binder(term)
    return term


def _eta_expand(term: Term, position: int) -> Term:
    """Eta-expand a function that is not a lambda, such as `map(neg)`."""
    if isinstance(term, Lambda):
        body = _eta_expand(term.body, position + 1)
        return Lambda(term.name, term.parameter, body, term.location)
    if not isinstance(term.type, FunType):
        return term
    input = term.type.input
    body = _eta_expand(Apply(shift(term, 1), Bound(0, input)), position + 1)
    return Lambda(f"x{position}", input, body, term.location)
