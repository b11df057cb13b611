"""TensorFlow functions, converted to StableHLO by TensorFlow's XLA bridge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from riselang.api.specs import ArraySpec
from riselang.dialects.rise.types import ScalarType
from riselang.frontends.framework_types import constant_shape
from riselang.frontends.frameworks import import_framework
from riselang.frontends.stablehlo.model.model_reader import read_model
from riselang.support.errors import LimitationError, UserError

FRONT_END = "from_tensorflow"


def read_tensorflow(
    function: Callable[..., Any], specs: Sequence[Any], choices: dict[str, Any]
) -> Any:
    """Create the model of a tensor function; its variables are bound to their current values."""
    tensorflow = import_framework("tensorflow", "tensorflow", FRONT_END)
    inner = getattr(function, "python_function", function)
    compiled = tensorflow.function(inner, jit_compile=True, autograph=False)
    given = [_tensor_spec(tensorflow, spec) for spec in specs]
    try:
        text = compiled.experimental_get_compiler_ir(*given)(stage="stablehlo")
        concrete = compiled.get_concrete_function(*given)
    except (TypeError, ValueError) as error:
        raise UserError(f"{FRONT_END}: TensorFlow cannot lower the function: {error}") from error
    model = read_model(text, name="<tensorflow>", **choices)
    values = _captured_values(concrete)
    names = model.names[len(model.names) - len(values) :] if values else ()
    if len(model.names) != len(given) + len(values):
        raise LimitationError(
            f"{FRONT_END}: the function has {len(given)} arguments and {len(values)} variables, "
            f"but its StableHLO takes {len(model.names)}"
        )
    return model.bind(**dict(zip(names, values, strict=True)))


def _tensor_spec(tensorflow: Any, spec: Any) -> Any:
    if isinstance(spec, ArraySpec | ScalarType):
        shape, dtype = constant_shape(spec, FRONT_END)
        return tensorflow.zeros(shape, dtype)
    if hasattr(spec, "dtype") and not hasattr(spec, "__array__"):
        return tensorflow.zeros(spec.shape, spec.dtype)
    return tensorflow.convert_to_tensor(spec)


def _captured_values(concrete: Any) -> list[Any]:
    """Return the values of the variables and tensors that a function captures."""
    variables = {id(each.handle): each for each in concrete.variables}
    found: list[Any] = []
    for captured in concrete.captured_inputs:
        variable = variables.get(id(captured))
        value = captured.numpy() if variable is None else variable.numpy()
        found.append(np.ascontiguousarray(value).reshape(np.shape(value)))
    return found
