"""Jitted functions: Python functions that run as compiled kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from riselang.api.binding import bind_sizes, sizes_from_types
from riselang.api.kernel import Kernel
from riselang.api.lowered import Lowered
from riselang.api.traced import Traced
from riselang.compiler.pipeline import trace
from riselang.dialects.rise.type_binding import nat_variables, substitute, type_variables
from riselang.dialects.rise.types import RiseType, uncurry
from riselang.dsl.symbolic_values import Value
from riselang.dsl.tracing import Call, current_trace
from riselang.nat import Nat
from riselang.rewrite.core import Strategy
from riselang.runtime.arrays import Array
from riselang.support.config import Options
from riselang.support.errors import RiseError, UserError
from riselang.support.garbage_collection import infrequent_gc
from riselang.support.lazy import cached_property
from riselang.support.structures import Interface
from riselang.term.complex_numbers import as_floats
from riselang.term.nodes import Pattern, Term, subterms
from riselang.term.size_substitution import check_sizes, substitute_sizes, term_names

MAX_SPECIALIZED = 4
"""With `sizes="auto"`, the number of combinations of sizes for which a kernel is specialized."""


@dataclass(frozen=True)
class JitSettings:
    """How a Python function is compiled."""

    backend: str
    sizes: str
    options: Options
    strategy: Strategy | None = None
    static: tuple[str, ...] = ()
    """The names of the parameters whose values are known when the function is traced."""


class Jitted(Kernel):
    """A Python function that runs as a compiled kernel."""

    def __init__(
        self,
        function: Callable[..., Any],
        names: Sequence[str],
        types: Sequence[RiseType] | None,
        settings: JitSettings,
        form: Call | None = None,
    ):
        """`types` is None if they are taken from each call; `form` calls the function."""
        name = getattr(function, "__name__", "kernel")
        super().__init__(name, names, types, settings.backend, settings.options, settings.strategy)
        self.function = function
        self.settings = settings
        self.sizes = settings.sizes
        self.symbolic = settings.sizes == "symbolic"
        self._form = form or Call()
        self._interfaces: dict[Term, Interface] = {}
        self._specialized_sizes: set[tuple[tuple[str, Nat], ...]] = set()
        """The sizes for which a kernel with `sizes="auto"` has been specialized."""
        functools.update_wrapper(self, function, updated=())

    def _call_new_shapes(self, arguments: Sequence[Any], key: Any) -> Any:
        """Call the kernel; while another function is traced, inline its body into that function."""
        if any(isinstance(argument, Value) for argument in arguments):
            self.check_inlined(list(zip(self.names, self.types, arguments, strict=False)))
            return self.function(*arguments)
        return super()._call_new_shapes(arguments, key)

    def check_inlined(self, arguments: Sequence[tuple[str, RiseType | None, Any]]) -> None:
        """Unify annotations with the types of the arguments of an inlined call."""
        trace = current_trace()
        fresh_sizes: dict[str, Nat] = {}
        fresh_types: dict[str, RiseType] = {}
        for name, type, argument in arguments:
            if type is None or not isinstance(argument, Value):
                continue
            for size in nat_variables(type):
                fresh_sizes.setdefault(size, trace.inference.fresh_size())
            for label in type_variables(type):
                fresh_types.setdefault(label, trace.inference.fresh_type())
            expected = substitute(type, fresh_sizes, fresh_types)
            trace.unify(expected, argument.node.type, f"argument {name} of {self.__name__}")

    def _lowered_for_arrays(
        self, arrays: Sequence[Array], known: Mapping[str, Nat]
    ) -> tuple[Lowered, Mapping[str, Nat]]:
        if self.sizes != "auto" or self._is_specialized_for(arrays, known):
            return super()._lowered_for_arrays(arrays, known)
        return self._dynamic_kernel._lowered_for_arrays(arrays, known)

    def _is_specialized_for(self, arrays: Sequence[Array], known: Mapping[str, Nat]) -> bool:
        """Return whether a call with these arrays uses a specialized kernel: the first few
        combinations of sizes do, and all of them if the function cannot be compiled for all
        sizes."""
        sizes = {**known, **bind_sizes(self.types, self.names, arrays)}
        key = tuple(sorted(sizes.items(), key=lambda item: item[0]))
        if key in self._specialized_sizes:
            return True
        if len(self._specialized_sizes) < MAX_SPECIALIZED or self._dynamic_kernel is self:
            self._specialized_sizes.add(key)
            return True
        return False

    @cached_property
    def _dynamic_kernel(self) -> Jitted:
        """The kernel for all sizes; the specializing kernel itself if there is none."""
        settings = replace(self.settings, sizes="symbolic")
        kernel = Jitted(self.function, self.names, self.types, settings, self._form)
        try:
            lowered = kernel.lower()
            if self.backend == "compile":
                lowered.compile()
        except RiseError:
            return self
        return kernel

    def source(self, types: tuple[RiseType, ...], sizes: Mapping[str, Nat]) -> tuple[Term, int]:
        if not self.symbolic:
            term, results = self._trace_program(types, sizes)
            check_size_names(self.__name__, term)
            return term, results
        # The function may refer to sizes by name, so it is traced with symbolic sizes.
        term, results = self._trace_program(self.types, {})
        parameters = uncurry(term.type)[0][: len(types)]
        known = sizes_from_types(parameters, list(map(as_floats, types)), self.names)
        check_sizes(term, known)
        substituted = substitute_sizes(term, known)
        self._interfaces[substituted] = self._interfaces[term]
        return substituted, results

    def interface_of(self, source: Term) -> Interface:
        return self._interfaces[source]

    def _trace_program(
        self, types: tuple[RiseType, ...], sizes: Mapping[str, Nat]
    ) -> tuple[Term, int]:
        form = replace(self._form, sizes=sizes)
        with infrequent_gc():
            program = trace(self.function, self.__name__, self.names, types, form)
        self._interfaces[program.term] = program.interface
        return program.term, program.results

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        """Bind a method of a class to its object."""
        return self if owner is None else BoundMethod(self, owner)

    def __reduce__(self) -> str:
        return getattr(self, "__qualname__", self.__name__)


def check_size_names(name: str, term: Term) -> None:
    """Raise an error if a program mentions a size that none of its parameters has."""
    known = {size for type in uncurry(term.type)[0] for size in nat_variables(type)}
    unknown = {each for each in term_names(term) - known if not each.startswith("$")}
    if not unknown:
        return
    size = min(unknown)
    locations = [
        each.location
        for each in subterms(term)
        if isinstance(each, Pattern) and any(size in nat.variables for nat in each.sizes.values())
    ]
    raise UserError(
        f"no parameter of {name} has the size {size}; use a number such as len(x), or name the "
        f'size in an annotation, as in x: rl.Array["{size}", rl.f32]',
        next(iter(locations), None),
    )


class BoundMethod:
    """A jitted method and its object, which is the first argument."""

    def __init__(self, kernel: Jitted, owner: Any):
        self.kernel = kernel
        self.__self__ = owner

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.kernel(self.__self__, *arguments, **named)

    def trace(self, *arguments: Any, **named: Any) -> Traced:
        return self.kernel.trace(self.__self__, *arguments, **named)

    def lower(self, *arguments: Any, **named: Any) -> Lowered:
        return self.kernel.lower(self.__self__, *arguments, **named)

    def __repr__(self) -> str:
        return f"<method {self.kernel.__name__} of {self.__self__!r}>"
