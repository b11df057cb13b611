"""`rl.jit`: compile Python functions to kernels, for the shapes that they are called with."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack, overload

from riselang.api.binding import bind_sizes, sizes_from_types
from riselang.api.kernel import DEFAULT_LOOPS, Kernel
from riselang.api.lowered import Lowered, resolve_strategy
from riselang.api.options import CompileOptions
from riselang.api.specs import annotation_type
from riselang.compiler.pipeline import trace
from riselang.dialects.rise.types import RiseType, uncurry
from riselang.dsl.symbolic_values import Value
from riselang.dsl.user_locations import function_location
from riselang.nat import Nat
from riselang.rewrite.core import Strategy
from riselang.rewrite.default import DEFAULT
from riselang.runtime.arrays import Array
from riselang.support.config import Options, default_options
from riselang.support.errors import RiseError, UserError
from riselang.support.garbage_collection import infrequent_gc
from riselang.support.lazy import cached_property
from riselang.support.tracebacks import with_short_tracebacks
from riselang.term.nodes import Term
from riselang.term.size_substitution import substitute_sizes

BACKENDS = ("compile", "interpret")
SIZES = ("specialise", "symbolic", "auto")
MAX_SPECIALIZED = 4
"""With `sizes="auto"`, the number of combinations of sizes for which a kernel is specialized."""


class Jitted(Kernel):
    """A Python function that runs as a compiled kernel."""

    def __init__(
        self,
        function: Callable[..., Any],
        backend: str,
        sizes: str,
        options: Options,
        strategy: Strategy | None = None,
    ):
        name = getattr(function, "__name__", "kernel")
        names, types = _signature(function)
        super().__init__(name, names, types, backend, options, strategy)
        self.function = function
        self.sizes = sizes
        self.symbolic = sizes == "symbolic"
        self._specialized_sizes: set[tuple[tuple[str, Nat], ...]] = set()
        """The sizes for which a kernel with `sizes="auto"` has been specialized."""
        functools.update_wrapper(self, function)

    def _call_new_shapes(self, arguments: Sequence[Any], key: Any) -> Any:
        """Call the kernel; while another function is traced, inline its body into that function."""
        if any(isinstance(argument, Value) for argument in arguments):
            return self.function(*arguments)
        return super()._call_new_shapes(arguments, key)

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
        kernel = Jitted(self.function, self.backend, "symbolic", self.options, self.strategy)
        try:
            lowered = kernel.lower()
            if self.backend == "compile":
                lowered.compile()
        except RiseError:
            return self
        return kernel

    def source(self, types: tuple[RiseType, ...], sizes: Mapping[str, Nat]) -> tuple[Term, int]:
        if not self.symbolic:
            return self._trace_program(types)
        # The function may refer to sizes by name, so it is traced with symbolic sizes.
        term, results = self._trace_program(self.types)
        known = sizes_from_types(uncurry(term.type)[0], types, self.names)
        return substitute_sizes(term, known), results

    def _trace_program(self, types: tuple[RiseType, ...]) -> tuple[Term, int]:
        with infrequent_gc():
            program = trace(self.function, self.__name__, self.names, types)
        return program.term, program.results


@overload
def jit(
    function: Callable[..., Any],
    *,
    sizes: str = ...,
    **options: Unpack[CompileOptions],
) -> Jitted: ...


@overload
def jit(
    *,
    sizes: str = ...,
    **options: Unpack[CompileOptions],
) -> Callable[[Callable[..., Any]], Jitted]: ...


@with_short_tracebacks
def jit(
    function: Callable[..., Any] | None = None,
    *,
    backend: str = "compile",
    float: str | None = None,
    sizes: str = "specialise",
    loops: str | None = None,
    debug_info: bool | None = None,
    library: str | None = None,
    effort: str | None = None,
    strategy: Strategy | str | None = None,
) -> Any:
    """Compile a function of arrays; `backend="interpret"` runs the reference interpreter instead.

    `float` is the float permission: "strict", "contract" or "relaxed". A function is specialized
    for the sizes of each call; with `sizes="symbolic"` it is traced once for all sizes, and may
    refer to them by name. With `sizes="auto"`, the first four combinations of sizes are
    specialized, and one kernel for all sizes serves the others.
    `loops` selects the code that patterns become unless they specify it: "affine", "scf" or
    "polyhedral" loops, or "gpu" kernels.
    With `debug_info`, debuggers and profilers show the lines of the function inside the kernel.
    With `library="blas"`, matrix multiplications and similar loops become calls to BLAS routines.
    These choose their own order of summation, so `float` is then "relaxed".
    `strategy` rewrites the program before it is lowered: a strategy, its text, or "none". By
    default, kernels that are recognized in large programs are scheduled for this machine.
    `effort` limits the compile time: "fast" generates plain loops, "max" enables all LLVM
    optimizations.
    """
    if backend not in BACKENDS:
        raise UserError(f"backend must be one of {', '.join(BACKENDS)}, but is {backend!r}")
    if sizes not in SIZES:
        raise UserError(f"sizes must be one of {', '.join(SIZES)}, but is {sizes!r}")
    options = default_options(DEFAULT_LOOPS).with_changes(
        loops=loops, float=float, debug_info=debug_info, library=library, effort=effort
    )

    resolved_strategy = resolve_strategy(strategy, DEFAULT)

    @with_short_tracebacks
    def decorate(function: Callable[..., Any]) -> Jitted:
        inner = function.function if isinstance(function, Jitted) else function
        return Jitted(inner, backend, sizes, options, resolved_strategy)

    return decorate if function is None else decorate(function)


def _signature(function: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[RiseType, ...]]:
    name = getattr(function, "__name__", "the function")
    location = function_location(function)
    try:
        signature = inspect.signature(function, eval_str=True)
    except NameError as error:
        raise UserError(f"the annotations of {name} cannot be read: {error}", location) from None
    names: list[str] = []
    types: list[RiseType] = []
    for parameter in signature.parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise UserError(
                f"{name}: parameter {parameter.name} must be a plain parameter", location
            )
        names.append(parameter.name)
        types.append(annotation_type(parameter.annotation, parameter.name, name, location))
    return tuple(names), tuple(types)
