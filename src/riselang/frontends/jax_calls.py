"""Programs as JAX functions, which call compiled kernels and their derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from riselang.frontends.embedded_program import EmbeddedProgram, is_float_array
from riselang.frontends.frameworks import import_framework
from riselang.support.structures import Structure, flatten

FRONT_END = "to_jax"


def jax_function(function: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """Return a JAX function that calls a program, and whose gradient is the program's."""
    jax = import_framework("jax", "jax", FRONT_END)
    program = EmbeddedProgram(function, options)

    def callback(call: Callable[..., Any], results: Any, *arguments: Any) -> Any:
        types = jax.tree.map(_type, results)

        def on_arrays(*given: Any) -> Any:
            return jax.tree.map(np.asarray, call(*jax.tree.map(np.asarray, given)))

        return jax.pure_callback(on_arrays, types, *arguments, vmap_method="sequential")

    def _type(array: Any) -> Any:
        return jax.ShapeDtypeStruct(np.shape(array), array.dtype)

    def examples(arguments: Any) -> Any:
        return jax.tree.map(lambda each: np.empty(each.shape, each.dtype), arguments)

    @jax.custom_vjp
    def call(*arguments: Any) -> Any:
        arguments = jax.tree.map(jax.numpy.asarray, arguments)
        return callback(program, program.results_like(examples(arguments)), *arguments)

    def forward(*arguments: Any) -> tuple[Any, Any]:
        return call(*arguments), arguments

    def backward(arguments: Any, cotangent: Any) -> Any:
        leaves, structure = jax.tree.flatten(arguments)
        seeds = [each for each in jax.tree.leaves(cotangent) if each.dtype != jax.dtypes.float0]

        def pull_back(leaves: Any, seeds: Any) -> Any:
            given, shape = _flatten(jax.tree.unflatten(structure, leaves))
            return program.pull_back(given, shape, seeds)

        floats = [each for each in leaves if is_float_array(each)]
        found = iter(callback(pull_back, examples(floats), leaves, seeds))
        results = [
            next(found) if is_float_array(each) else np.zeros(each.shape, jax.dtypes.float0)
            for each in leaves
        ]
        return tuple(jax.tree.unflatten(structure, results))

    call.defvjp(forward, backward)
    return functools.wraps(function)(call)


def _flatten(arguments: Any) -> tuple[list[Any], Structure]:
    return flatten(tuple(arguments), lambda value: isinstance(value, np.ndarray))
