"""JAX functions, exported to StableHLO with `jax.export`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from riselang.api.specs import ArraySpec
from riselang.dialects.rise.types import ScalarType
from riselang.frontends.framework_types import spec_dimensions
from riselang.frontends.frameworks import import_framework
from riselang.frontends.stablehlo.model.model_reader import read_model
from riselang.interpreter.scalar_semantics import numpy_dtype
from riselang.support.errors import UserError

FRONT_END = "from_jax"


def read_jax(function: Callable[..., Any], specs: Sequence[Any], choices: dict[str, Any]) -> Any:
    """Create the model of a function of arrays, or of lists and dictionaries of them."""
    jax = import_framework("jax", "jax", FRONT_END)
    export = import_framework("jax.export", "jax", FRONT_END)

    @functools.wraps(function)
    def flat_function(*arguments: Any) -> Any:
        return function(*arguments)

    scope = export.SymbolicScope()
    leaf = functools.partial(_argument_spec, jax, export, scope)
    given = [jax.tree.map(leaf, spec, is_leaf=_is_spec) for spec in specs]
    # Unused arguments are kept.
    jitted = jax.jit(flat_function, keep_unused=True)
    try:
        exported = export.export(jitted)(*given)
    except (TypeError, ValueError) as error:
        raise UserError(f"{FRONT_END}: JAX cannot export the function: {error}") from error
    return read_model(str(exported.mlir_module()), name="<jax>", **choices)


def _is_spec(value: Any) -> bool:
    return isinstance(value, ArraySpec | ScalarType)


def _argument_spec(jax: Any, export: Any, scope: Any, value: Any) -> Any:
    """Return the shape and type of an argument: of an array, or from an `rl.Array`."""
    if isinstance(value, ArraySpec | ScalarType):
        lengths, element = spec_dimensions(value, FRONT_END)
        text = ", ".join(str(length) for length in lengths)
        shape = export.symbolic_shape(f"({text},)" if lengths else "()", scope=scope)
        return jax.ShapeDtypeStruct(shape, numpy_dtype(element))
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return jax.ShapeDtypeStruct(value.shape, value.dtype)
    array = np.asarray(value)
    return jax.ShapeDtypeStruct(array.shape, jax.dtypes.canonicalize_dtype(array.dtype))
