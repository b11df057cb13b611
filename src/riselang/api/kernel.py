"""Kernels: programs that are called with arrays, from Python or from notation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from riselang.api.binding import bind_sizes, given_sizes, scalar_array
from riselang.api.lowered import Lowered
from riselang.api.specs import ArraySpec
from riselang.api.traced import Traced
from riselang.dialects.rise.binding import substitute
from riselang.dialects.rise.type_printer import show
from riselang.dialects.rise.types import FunType, RiseType, ScalarType, uncurry
from riselang.dsl.locations import user_location
from riselang.dsl.sizes import given_size
from riselang.nat import Nat, Solved, solve
from riselang.pipelines import GPU
from riselang.rewrite.core import Strategy
from riselang.runtime.arrays import Array, as_array, check_layout
from riselang.runtime.device_arrays import in_library_of, is_on_gpu, shadow
from riselang.runtime.kinds import as_kind, kind_of
from riselang.support.config import Options
from riselang.support.counts import format_count
from riselang.support.errors import RiseError, UserError
from riselang.support.forking import hold_forks
from riselang.support.html import code
from riselang.support.tracebacks import shortened, with_short_tracebacks
from riselang.term.nodes import Apply, Bound, DepLambda, Lambda, Term, parameter_names
from riselang.term.sizes import at_sizes, names_in, opened_binder
from riselang.term.substitution import shift

if TYPE_CHECKING:
    from riselang.api.compiled import Compiled

_Key = tuple[tuple[RiseType, ...], tuple[tuple[str, Nat], ...]]
"""The parameter types, and the sizes."""
_Shapes = tuple[tuple[tuple[int, ...], np.dtype[Any]] | None, ...]
"""The shape and dtype of each argument; None for one that is not a NumPy array."""
_Expected = tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]
"""The same where all arguments are NumPy arrays."""
LOOPS = "affine"
"""The loops that a kernel's patterns become unless they specify it."""
DEFAULTS = Options(LOOPS)
_ARRAY: Any = np.ndarray
MOST_PREPARED = 4096
"""The maximum number of prepared calls; a symbolic kernel may see any number of shapes."""


class Kernel(ABC):
    """A program that is called with arrays, and compiled for the shapes of each call.

    If it is `symbolic`, it is compiled once for all shapes.
    """

    symbolic = False

    def __init__(
        self,
        name: str,
        names: Sequence[str],
        types: Sequence[RiseType],
        backend: str,
        options: Options,
        strategy: Strategy | None = None,
    ):
        self.__name__ = name
        self.names = tuple(names)
        self.types = tuple(types)
        self.backend = backend
        self.options = options
        self.strategy = strategy
        self._lowered: dict[_Key, Lowered] = {}
        self._lock = RLock()
        self._prepared: dict[_Shapes, Callable[[Sequence[Any]], Any]] = {}
        """Compiled programs by the shapes of their arguments; such a call checks only the layout
        of the arrays."""
        self._latest: tuple[_Expected, Callable[[Sequence[Any]], Any]] = ((), self._other_call)
        """The shapes of the latest call, which the next one usually has, too."""
        self._on_gpu: dict[_Shapes, Compiled] = {}
        """Compiled programs for arrays on a GPU, by their shapes."""
        self._into: dict[_Shapes, Callable[[Sequence[Any]], Any]] = {}
        """Prepared calls with `out`, by its shape and the shapes of the arguments."""

    @abstractmethod
    def source(self, types: tuple[RiseType, ...], sizes: Mapping[str, Nat]) -> tuple[Term, int]:
        """Return the program for parameters of these types, and its number of results.

        `sizes` are the values of the symbolic sizes in the kernel's own types.
        """

    def __call__(self, *arguments: Any, out: Any = None, **named: Any) -> Any:
        """Return the results for these arrays; write them to `out`, shaped like the result."""
        try:
            if named:
                arguments = self._ordered(arguments, named)
            if out is not None:
                return self._call_into(arguments, out)
            expected, prepared = self._latest
            if len(arguments) == len(expected):
                for array, (shape, dtype) in zip(arguments, expected):  # noqa: B905, lengths are equal
                    if (
                        type(array) is not _ARRAY
                        or array.shape != shape
                        or array.dtype is not dtype
                    ):
                        break
                else:
                    return prepared(arguments)
            return self._other_call(arguments)
        except RiseError as error:
            raise shortened(error) from error.__cause__

    def _other_call(self, arguments: Sequence[Any]) -> Any:
        """Call with shapes that differ from the latest call's."""
        if self._takes_device_arrays and any(map(is_on_gpu, arguments)):
            return in_library_of(arguments, self._call_on_gpu(arguments))
        key = _shapes_of(arguments)
        prepared = self._prepared.get(key)
        if prepared is None:
            return self._first_call(arguments, key)
        self._latest = cast(_Expected, key), prepared
        return prepared(arguments)

    def _ordered(self, given: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return positional and named arguments in the order of the parameters."""
        names = self.names
        for name in named:
            if name not in names:
                raise UserError(
                    f"{self.__name__} has no parameter {name}; it has: {', '.join(names)}",
                    user_location(),
                )
            if name in names[: len(given)]:
                raise UserError(
                    f"{self.__name__} got {name} twice: by position and by name",
                    user_location(),
                )
        rest = names[len(given) :]
        missing = [name for name in rest if name not in named]
        if missing:
            raise UserError(
                f"{self.__name__} is called without {', '.join(missing)}", user_location()
            )
        return (*given, *(named[name] for name in rest))

    def _call_into(self, arguments: Sequence[Any], out: Any) -> Any:
        if self.backend != "compile":
            raise UserError("out= is for compiled kernels; the interpreter makes new arrays")
        key = _shapes_of((out, *arguments))
        prepared = self._into.get(key)
        if prepared is not None and _is_quick(out, arguments):
            prepared((out, *arguments))
            return out
        arrays = self._arrays(arguments)
        compiled = self._for_arrays(arrays, {})[0].compile()
        compiled.run_into(arrays, out)
        quick = compiled.prepared_into(out, arrays) if None not in key else None
        if quick is not None:
            self._limit(self._into)
            self._into[key] = quick
        return out

    def _limit(self, known: dict[_Shapes, Any]) -> None:
        if len(known) >= MOST_PREPARED:
            known.clear()

    def _first_call(self, arguments: Sequence[Any], key: _Shapes) -> Any:
        """Call with shapes that have not been seen before, or with non-array arguments."""
        result = self.call(arguments, {})
        if self.backend == "compile" and None not in key:
            lowered, _ = self._for_arrays(arguments, {})
            self._limit(self._prepared)
            example = arguments if self.symbolic else None
            self._prepared[key] = lowered.compile().prepared(example)
        convert = kind_of(arguments) if None in key else None
        return result if convert is None else as_kind(result, convert)

    def _call_on_gpu(self, arguments: Sequence[Any]) -> Any:
        """Call with arrays on a GPU; the sizes are bound once for each combination of shapes."""
        arrays = self._arrays(arguments)
        key = tuple((array.shape, array.dtype) for array in arrays)
        compiled = self._on_gpu.get(key)
        if compiled is None:
            compiled = self._for_arrays(arrays, {})[0].compile()
            self._limit(self._on_gpu)
            self._on_gpu[key] = compiled
        return compiled.run(arrays)

    def call(self, arguments: Sequence[Any], known: Mapping[str, Nat]) -> Any:
        """Return the results for these arrays; `known` has sizes that shapes may not determine."""
        arrays = self._arrays(arguments)
        lowered, sizes = self._for_arrays(arrays, known)
        if self.backend == "interpret":
            return lowered.interpret(arrays, sizes)
        return lowered.compile().run(arrays)

    def _for_arrays(
        self, arrays: Sequence[Array], known: Mapping[str, Nat]
    ) -> tuple[Lowered, Mapping[str, Nat]]:
        """Return the program that takes these arrays, and the values of its symbolic sizes."""
        if not self.symbolic:
            return self._specialised({**known, **bind_sizes(self.types, self.names, arrays)}), {}
        lowered = self._specialised({})
        sizes = bind_sizes(lowered.inputs, self.names, arrays)
        lowered.check(sizes)
        return lowered, sizes

    @with_short_tracebacks
    def trace(self, *arguments: Any, **sizes: int) -> Traced:
        """Trace for these arrays, array types or sizes by name; without them, for all sizes."""
        return self._traced_at(self._sizes(arguments, sizes))

    @with_short_tracebacks
    def lower(self, *arguments: Any, **sizes: int) -> Lowered:
        """Trace for these arrays, array types or sizes, and lower with the kernel's options."""
        return self._specialised(self._sizes(arguments, sizes))

    def _sizes(self, arguments: Sequence[Any], sizes: Mapping[str, int]) -> Mapping[str, Nat]:
        if sizes and arguments:
            raise UserError("give arrays or sizes by name, not both", user_location())
        if not arguments:
            return self.named_sizes(sizes)
        if all(isinstance(argument, ArraySpec) for argument in arguments):
            types = tuple(argument.type for argument in arguments)
            return given_sizes(self.types, types, self.names)
        return bind_sizes(self.types, self.names, self._arrays(arguments))

    def named_sizes(self, sizes: Mapping[str, int]) -> dict[str, Nat]:
        """Return the sizes that the user gives by name."""
        return {name: self._named_size(name, size) for name, size in sizes.items()}

    def _named_size(self, name: str, size: Any) -> Nat:
        return given_size(size, f"{self.__name__}({name}=...)")

    def sizes_of(self, arrays: Mapping[str, Array]) -> Mapping[str, Nat]:
        """Return the sizes that some of the arguments, by name, determine."""
        types = [type for name, type in zip(self.names, self.types, strict=True) if name in arrays]
        names = [name for name in self.names if name in arrays]
        return bind_sizes(types, names, [arrays[name] for name in names])

    def _arrays(self, arguments: Sequence[Any]) -> list[Array]:
        if len(arguments) != len(self.types):
            raise UserError(
                f"{self.__name__} takes {format_count(len(self.types), 'argument')} "
                f"({', '.join(self.names)}), "
                f"but found {len(arguments)}"
            )
        arrays: list[Array] = []
        for name, type, argument in zip(self.names, self.types, arguments, strict=True):
            if isinstance(type, ScalarType) and not isinstance(argument, np.ndarray):
                arrays.append(scalar_array(argument, type, name))
                continue
            if self._takes_device_arrays and is_on_gpu(argument):
                arrays.append(shadow(argument, name))
                continue
            array = as_array(argument, name)
            check_layout(array, name, written=False)
            arrays.append(array)
        return arrays

    @property
    def _takes_device_arrays(self) -> bool:
        return self.options.loops == GPU and self.backend == "compile"

    def _specialised(self, sizes: Mapping[str, Nat]) -> Lowered:
        types = tuple(substitute(type, sizes, {}) for type in self.types)
        key = (types, tuple(sorted(sizes.items(), key=lambda item: item[0])))
        with hold_forks(), self._lock:
            if key not in self._lowered:
                self._lowered[key] = self._traced_at(sizes).lower()
            return self._lowered[key]

    @hold_forks()
    def _traced_at(self, sizes: Mapping[str, Nat]) -> Traced:
        types = tuple(substitute(type, sizes, {}) for type in self.types)
        source, results = self.source(types, sizes)
        name = self.__name__ if self.__name__.isidentifier() else "kernel"
        return Traced(name, source, results, self.options, self.strategy)

    def __repr__(self) -> str:
        types = ", ".join(
            f"{name} : {show(type)}" for name, type in zip(self.names, self.types, strict=True)
        )
        return f"<kernel {self.__name__}({types})>"

    def _repr_html_(self) -> str:
        return code(repr(self))


def _shapes_of(arguments: Sequence[Any]) -> _Shapes:
    return tuple([(array.shape, array.dtype) if type(array) is _ARRAY else None
                  for array in arguments])  # fmt: skip


def _is_quick(out: Array, arguments: Sequence[Array]) -> bool:
    """Return whether a result may be written without further checks: `out` overlaps no argument."""
    return out.flags.carray and not any(np.may_share_memory(out, each) for each in arguments)


class TermKernel(Kernel):
    """A kernel for a closed term, which may have symbolic sizes.

    `refined` defines the sizes that type inference has replaced: `N = 4 * N_by_4`.
    """

    def __init__(
        self,
        name: str,
        term: Term,
        backend: str = "compile",
        options: Options = DEFAULTS,
        refined: Mapping[str, Nat] | None = None,
        strategy: Strategy | None = None,
    ):
        self.term = term
        self.refined = refined or {}
        self._program = _with_parameters(_for_all_sizes(term), 0)
        types, _ = uncurry(self._program.type)
        names = parameter_names(self._program)
        super().__init__(name, names, types, backend, options, strategy)

    def named_sizes(self, sizes: Mapping[str, int]) -> dict[str, Nat]:
        names = names_in(self._program)
        found: dict[str, Nat] = {}
        for name, given in sizes.items():
            size = self._named_size(name, given)
            if name in names:
                found[name] = size
                continue
            refined = self.refined.get(name)
            if refined is None:
                known = ", ".join(sorted({*names, *self.refined})) or "none"
                raise UserError(f"{self.__name__} has no size {name}; it has: {known}")
            answer = solve(refined, size, sorted(refined.variables))
            if not isinstance(answer, Solved):
                raise UserError(f"size {name}: expected {refined}, but found {size}")
            found.update(answer.substitution)
        return found

    def source(self, types: tuple[RiseType, ...], sizes: Mapping[str, Nat]) -> tuple[Term, int]:
        return at_sizes(self._program, sizes), 1


def _for_all_sizes(term: Term) -> Term:
    """Remove the size parameters of a program; the sizes become free variables."""
    while isinstance(term, DepLambda):
        if term.kind != "nat":
            raise UserError(
                f"expected a program of known types, but this is polymorphic in {term.name}; apply "
                "it to a type, as in f@[f32]",
                term.location,
            )
        _, term = opened_binder(term)
    return term


def _with_parameters(term: Term, position: int) -> Term:
    """Eta-expand a function that is not a lambda, such as `map(neg)`."""
    if isinstance(term, Lambda):
        body = _with_parameters(term.body, position + 1)
        return Lambda(term.name, term.parameter, body, term.location)
    if not isinstance(term.type, FunType):
        return term
    input = term.type.input
    body = _with_parameters(Apply(shift(term, 1), Bound(0, input)), position + 1)
    return Lambda(f"x{position}", input, body, term.location)
