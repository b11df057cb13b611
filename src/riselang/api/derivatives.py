"""Derivatives of functions: `rl.grad`, `rl.vjp`, `rl.jvp` and what is built from them.

While a program is traced, a derivative is computed from the term of the function and becomes part
of the program. Outside, the function and its derivative are compiled for the arguments of a call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from riselang.api.differentiated_calls import (
    DifferentiatedCall,
    check_argnums,
    check_callable,
)
from riselang.api.function_transformation import FunctionTransformation
from riselang.api.jit import jit
from riselang.api.jit_kernel import Jitted
from riselang.dsl.tracing import is_tracing
from riselang.support.errors import UserError
from riselang.support.tracebacks import with_short_tracebacks

Argnums = int | Sequence[int]


@with_short_tracebacks
def grad(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Differentiated:
    """Return the function that computes the gradient of a function whose result is one float.

    `argnums` is the position of the argument of the gradient, or several positions, for which the
    gradient is a tuple. The arguments may be structures of arrays. With `has_aux`, the function
    returns a pair, of which the first component is differentiated; so is the result.
    """
    return Differentiated("grad", function, argnums, has_aux)


@with_short_tracebacks
def value_and_grad(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Differentiated:
    """Return the function that computes a function and its gradient; see `grad`."""
    return Differentiated("value_and_grad", function, argnums, has_aux)


class Differentiated(FunctionTransformation):
    """A function that computes the gradient of another one."""

    def __init__(
        self, name: str, function: Callable[..., Any], argnums: Argnums, has_aux: bool
    ) -> None:
        check_callable(name, function)
        check_argnums(name, argnums)
        super().__init__(function, f"{name}_{getattr(function, '__name__', 'function')}")
        self.argnums = argnums
        self.has_aux = has_aux
        self._name = name

    def trace_call(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        call = DifferentiatedCall(self._name, self.function, arguments, named, self.argnums)
        value, gradient, aux = call.gradient(has_aux=self.has_aux)
        if self._name == "grad":
            return (gradient, aux) if self.has_aux else gradient
        return ((value, aux) if self.has_aux else value), gradient


@with_short_tracebacks
def jvp(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, Any]:
    """Return a function's result for some arguments, and its derivative in a direction.

    `primals` are the arguments, and `tangents` the direction, with the same structure.
    """
    check_callable("jvp", function)
    if not is_tracing():
        return _jvp_kernel(function)(tuple(primals), tuple(tangents))
    call = DifferentiatedCall("jvp", function, tuple(primals), {}, range(len(primals)))
    return call.push_forward(tuple(tangents))


@functools.lru_cache(maxsize=64)
def _jvp_kernel(function: Callable[..., Any]) -> Jitted:
    def derivative(primals: Any, tangents: Any) -> Any:
        return jvp(function, primals, tangents)

    return jit(derivative)


@with_short_tracebacks
def vjp(function: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return a function's result for some arguments, and the function that maps a cotangent of the
    result to a tuple with a cotangent for each argument."""
    check_callable("vjp", function)
    if not primals:
        raise UserError("vjp: expected the arguments of the function, as in rl.vjp(f, x)")
    if not is_tracing():
        forward, backward = _vjp_kernels(function)
        return forward(primals), lambda cotangent: backward(primals, cotangent)
    call = DifferentiatedCall("vjp", function, primals, {}, range(len(primals)))
    return call.result(), call.pull_back


@functools.lru_cache(maxsize=64)
def _vjp_kernels(function: Callable[..., Any]) -> tuple[Jitted, Jitted]:
    def value(primals: Any) -> Any:
        return function(*primals)

    def derivative(primals: Any, cotangent: Any) -> Any:
        return vjp(function, *primals)[1](cotangent)

    return jit(value), jit(derivative)
