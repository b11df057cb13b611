"""`rl.jit`: Python functions as kernels, compiled for the shapes they are called with."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from riselang import config
from riselang.api.specs import ArraySpec, as_type
from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    ScalarType,
    element_of,
    leaves,
    nat_variables,
    result_types,
    show,
    substitute,
    uncurry,
)
from riselang.dsl.locations import user_location
from riselang.dsl.tracing import trace_function
from riselang.errors import UserError
from riselang.interpreter.scalars import numpy_dtype
from riselang.nat import Nat, Solved, solve
from riselang.runtime.arrays import Array, as_array, check_dtype, check_layout
from riselang.term.finish import finish
from riselang.term.nodes import Term

if TYPE_CHECKING:
    from riselang.api.compile import Compilation
    from riselang.runtime.executable import Executable

BACKENDS = ("compile", "interpret")


@dataclass(frozen=True)
class Lowered:
    """A program for given sizes: look at any stage of it, or compile it."""

    name: str
    source: Term
    """The program as it was written."""
    term: Term
    """The program as it runs, under its float permission."""
    results: int
    compilation: Compilation

    def as_text(self, stage: str = "rise") -> str:
        """The program at a stage: notation, rise, imperative, affine, llvm or asm."""
        if stage == "notation":
            return repr(self.source)
        return self.compilation.text(stage)

    def compile(self) -> Executable:
        return self.compilation.functions[self.name]


class Jitted:
    """A Python function that runs as a compiled kernel."""

    def __init__(self, function: Callable[..., Any], backend: str, float: str | None):
        self.function = function
        self.__name__: str = getattr(function, "__name__", "kernel")
        self.backend = backend
        self.float = config.float_permission(float)
        self.names, self.types = _signature(function)
        self._lowered: dict[tuple[RiseType, ...], Lowered] = {}
        self._kernels: dict[tuple[RiseType, ...], Callable[..., Any]] = {}
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        arrays = self._arrays(arguments)
        types = self._specialised(_bind(self.types, self.names, arrays))
        lowered = self._lower(types)
        if self.backend == "interpret":
            return _interpret(lowered, arrays)
        return _run(lowered, arrays)

    def lower(self, *arguments: Any, **sizes: int) -> Lowered:
        """The program for these arrays, array types, or sizes given by name."""
        if sizes and arguments:
            raise UserError("lower takes arrays or sizes by name, not both", user_location())
        if sizes or not arguments:
            return self._lower(self._specialised({k: Nat.const(v) for k, v in sizes.items()}))
        if all(isinstance(argument, ArraySpec) for argument in arguments):
            return self._lower(tuple(argument.type for argument in arguments))
        return self._lower(
            self._specialised(_bind(self.types, self.names, self._arrays(arguments)))
        )

    def _arrays(self, arguments: Sequence[Any]) -> list[Array]:
        if len(arguments) != len(self.types):
            raise UserError(
                f"{self.__name__} takes {len(self.types)} arguments ({', '.join(self.names)}), "
                f"but {len(arguments)} are given"
            )
        arrays: list[Array] = []
        for name, type, argument in zip(self.names, self.types, arguments, strict=True):
            if isinstance(type, ScalarType) and not isinstance(argument, np.ndarray):
                arrays.append(_scalar_array(argument, type, name))
                continue
            array = as_array(argument, name)
            check_layout(array, name, written=False)
            arrays.append(array)
        return arrays

    def _specialised(self, sizes: Mapping[str, Nat]) -> tuple[RiseType, ...]:
        for type in self.types:
            missing = nat_variables(type) - sizes.keys()
            if missing:
                raise UserError(f"{self.__name__}: the size {min(missing)} is not given")
        return tuple(substitute(type, sizes, {}) for type in self.types)

    def _lower(self, types: tuple[RiseType, ...]) -> Lowered:
        if types not in self._lowered:
            self._lowered[types] = self._traced(types)
        return self._lowered[types]

    def _traced(self, types: tuple[RiseType, ...]) -> Lowered:
        # The compiler is imported when the first program is compiled, to keep the import fast.
        from riselang.api.compile import Compilation
        from riselang.dialects.module import verify_module
        from riselang.term.contraction import contract
        from riselang.term.to_dialect import program_module

        root, trace, results = trace_function(self.function, self.names, types)
        source = finish(root, trace.inference)
        term = source if self.float == "strict" else contract(source)
        name = self.__name__ if self.__name__.isidentifier() else "kernel"
        module = program_module(term, name, results)
        verify_module(module)
        return Lowered(name, source, term, results, Compilation(module, "affine", self.float))

    def __repr__(self) -> str:
        types = ", ".join(
            f"{name} : {show(type)}" for name, type in zip(self.names, self.types, strict=True)
        )
        return f"<rl.jit {self.__name__}({types})>"


@overload
def jit(function: Callable[..., Any], *, backend: str = ..., float: str | None = ...) -> Jitted: ...


@overload
def jit(
    *, backend: str = ..., float: str | None = ...
) -> Callable[[Callable[..., Any]], Jitted]: ...


def jit(
    function: Callable[..., Any] | None = None,
    *,
    backend: str = "compile",
    float: str | None = None,
) -> Any:
    """Compile a function of arrays; `backend="interpret"` runs the interpreter instead."""
    if backend not in BACKENDS:
        raise UserError(f"backend must be one of {', '.join(BACKENDS)}, but is {backend!r}")
    if function is None:
        return lambda function: Jitted(function, backend, float)
    if isinstance(function, Jitted):
        function = function.function
    return Jitted(function, backend, float)


def _signature(function: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[RiseType, ...]]:
    name = getattr(function, "__name__", "the function")
    try:
        signature = inspect.signature(function, eval_str=True)
    except NameError as error:
        raise UserError(f"the annotations of {name} cannot be read: {error}") from None
    names: list[str] = []
    types: list[RiseType] = []
    for parameter in signature.parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise UserError(f"{name}: parameter {parameter.name} must be a plain parameter")
        names.append(parameter.name)
        types.append(as_type(parameter.annotation, parameter.name, name))
    return tuple(names), tuple(types)


def _scalar_array(argument: Any, type: ScalarType, name: str) -> Array:
    try:
        return np.asarray(argument, dtype=numpy_dtype(type))
    except (TypeError, ValueError, OverflowError):
        raise UserError(f"argument {name}: expected a {show(type)}, found {argument!r}") from None


def _bind(
    types: Sequence[RiseType], names: Sequence[str], arrays: Sequence[Array]
) -> dict[str, Nat]:
    """The sizes that the shapes of the arrays give; a size bound twice must agree."""
    sizes: dict[str, Nat] = {}
    origins: dict[str, str] = {}
    for type, name, array in zip(types, names, arrays, strict=True):
        lengths: list[Nat] = []
        element = type
        while isinstance(element, ArrayType):
            lengths.append(element.length)
            element = element_of(element)
        assert isinstance(element, ScalarType)
        check_dtype(array, element, name)
        if array.ndim != len(lengths):
            raise UserError(
                f"argument {name}: expected {len(lengths)} dimensions ({show(type)}), "
                f"but found shape {array.shape}"
            )
        for position, (length, found) in enumerate(zip(lengths, array.shape, strict=True)):
            _bind_size(sizes, origins, length, found, f"dimension {position} of {name}")
    return sizes


def _bind_size(
    sizes: dict[str, Nat], origins: dict[str, str], length: Nat, found: int, place: str
) -> None:
    known = length.substitute(sizes)
    answer = solve(known, Nat.const(found), sorted(known.variables))
    if not isinstance(answer, Solved) or (known.is_constant and known.constant != found):
        origin = ", ".join(
            f"{name} = {sizes[name]} from {origins[name]}"
            for name in sorted(length.variables)
            if name in origins
        )
        raise UserError(
            f"{place} is {found}, but expected {length}" + (f" ({origin})" if origin else "")
        )
    for name, size in answer.substitution.items():
        sizes[name] = size
        origins[name] = place


def _outputs(lowered: Lowered) -> list[list[Array]]:
    return [
        [
            np.empty([length.constant for length in lengths], numpy_dtype(leaf))
            for lengths, leaf in leaves(type)
        ]
        for type in result_types(lowered.term.type, lowered.results)
    ]


def _run(lowered: Lowered, arrays: Sequence[Array]) -> Any:
    outputs = _outputs(lowered)
    lowered.compile()(*[buffer for group in outputs for buffer in group], *arrays)
    return _packed(outputs)


def _interpret(lowered: Lowered, arrays: Sequence[Array]) -> Any:
    from riselang.interpreter.evaluate import from_buffers, run, to_buffers

    inputs, _ = uncurry(lowered.term.type)
    values = [from_buffers(type, [array]) for type, array in zip(inputs, arrays, strict=True)]
    value = run(lowered.term, values)
    outputs: list[list[Array]] = []
    types = result_types(lowered.term.type, lowered.results)
    for position, type in enumerate(types):
        part = value
        if position < len(types) - 1:
            part, value = value
        outputs.append(to_buffers(type, part))
    return _packed(outputs)


def _packed(outputs: Sequence[Sequence[Array]]) -> Any:
    """One array for one result; a tuple for a result of pairs, and for several results."""
    results = [group[0] if len(group) == 1 else tuple(group) for group in outputs]
    return results[0] if len(results) == 1 else tuple(results)
