"""`rl.jit`: compile Python functions to kernels, for the shapes that they are called with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack, cast, overload

from riselang.api.float_checks import enable_checks
from riselang.api.jit_kernel import JitSettings
from riselang.api.jit_kernel import Jitted as Jitted
from riselang.api.lowered import resolve_strategy
from riselang.api.options import CompileOptions
from riselang.api.polymorphic import PolymorphicFunction
from riselang.api.signature import read_signature
from riselang.dsl.symbolic_values import Value
from riselang.dsl.user_locations import user_location
from riselang.rewrite.core import Strategy
from riselang.rewrite.default import DEFAULT
from riselang.support.config import DEFAULT_LOOPS, default_options
from riselang.support.errors import UserError
from riselang.support.tracebacks import with_short_tracebacks

if TYPE_CHECKING:
    from riselang.api.jit_types import JitDecorator, JittedFunction, NumPyArray, Structure

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
BACKENDS = ("compile", "interpret")
JAX_STATIC_NAMES = ("static_argnums", "static_argnames")
SIZES = ("specialize", "symbolic", "auto")


@overload
def jit(
    *,
    sizes: str = ...,
    static: str | Sequence[str] = ...,
    **options: Unpack[CompileOptions],
) -> JitDecorator: ...


@overload
def jit(
    function: Callable[..., Value],
    *,
    sizes: str = ...,
    static: str | Sequence[str] = ...,
    **options: Unpack[CompileOptions],
) -> JittedFunction[Value, NumPyArray]: ...


@overload
def jit(
    function: Callable[..., tuple[Value, Value]],
    *,
    sizes: str = ...,
    static: str | Sequence[str] = ...,
    **options: Unpack[CompileOptions],
) -> JittedFunction[tuple[Value, Value], tuple[NumPyArray, NumPyArray]]: ...


@overload
def jit(
    function: Callable[..., tuple[Value, ...]],
    *,
    sizes: str = ...,
    static: str | Sequence[str] = ...,
    **options: Unpack[CompileOptions],
) -> JittedFunction[tuple[Value, ...], tuple[NumPyArray, ...]]: ...


@overload
def jit(
    function: Callable[..., Structure],
    *,
    sizes: str = ...,
    static: str | Sequence[str] = ...,
    **options: Unpack[CompileOptions],
) -> JittedFunction[Structure, Structure]: ...


def _with_static_hint(
    function: Callable[Parameters, Returned],
) -> Callable[Parameters, Returned]:
    """Report the names that `static=` has in JAX."""

    @wraps(function)
    def call(*arguments: Parameters.args, **named: Parameters.kwargs) -> Returned:
        for name in JAX_STATIC_NAMES:
            if name in named:
                raise UserError(
                    f"jit has no parameter {name}; use static=, which names parameters, as in "
                    "static='n'",
                    user_location(),
                )
        return function(*arguments, **named)

    return call


@with_short_tracebacks
@_with_static_hint
def jit(
    function: Callable[..., Any] | None = None,
    *,
    backend: str = "compile",
    float: str | None = None,
    sizes: str = "specialize",
    loops: str | None = None,
    debug_info: bool | None = None,
    library: str | None = None,
    effort: str | None = None,
    device: str | None = None,
    strategy: Strategy | str | None = None,
    static: str | Sequence[str] = (),
) -> Any:
    """Compile a function of arrays; `backend="interpret"` runs the reference interpreter instead.

    A parameter with an annotation such as `rl.Array["N", rl.f32]` accepts only arguments of this
    type. The types of other parameters are those of the arguments of each call.
    `static` lists the parameters that keep their Python values while the function is traced; the
    function is compiled for each of these values.
    `float` is the float permission: "strict", "contract" or "relaxed". A function is specialized
    for the sizes of each call; with `sizes="symbolic"` it is traced once for all sizes, and may
    refer to them by name. With `sizes="auto"`, the first four combinations of sizes are
    specialized, and one kernel for all sizes serves the others.
    `loops` selects the code that patterns become unless they specify it: "affine", "scf" or
    "polyhedral" loops, or "gpu" kernels. `device="cuda"` is the same as `loops="gpu"`.
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
        loops=loops, float=float, debug_info=debug_info, library=library, effort=effort,
        device=device,
    )  # fmt: skip

    names = _static_names(static)
    settings = JitSettings(backend, sizes, options, resolve_strategy(strategy, DEFAULT), names)

    @with_short_tracebacks
    def decorate(function: Callable[..., Any]) -> Jitted:
        if isinstance(function, Jitted):
            static_names = settings.static or function.settings.static
            return jit_function(function.function, replace(settings, static=static_names))
        return jit_function(function, settings)

    return decorate if function is None else decorate(function)


def _static_names(static: object) -> tuple[str, ...]:
    names = static if isinstance(static, Iterable) and not isinstance(static, str) else (static,)
    checked: list[str] = []
    for name in cast(Iterable[object], names):
        if not isinstance(name, str):
            raise UserError(f"static: expected names of parameters, as in 'n', but found {name!r}")
        checked.append(name)
    return tuple(checked)


def jit_function(function: Callable[..., Any], settings: JitSettings) -> Jitted:
    """Return a function as a kernel; parameters without a type take that of each argument."""
    enable_checks()
    signature = read_signature(function, settings.static)
    types = signature.plain_types
    if types is None:
        return PolymorphicFunction(function, signature, settings)
    return Jitted(function, signature.names, types, settings)
