"""Keras 3 models, on any of its backends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from riselang.api.specs import ArraySpec, array_spec
from riselang.frontends.frameworks import import_framework
from riselang.support.errors import LimitationError, UserError

FRONT_END = "from_keras"


def read_keras(model: Any, specs: Sequence[Any], choices: dict[str, Any]) -> Any:
    """Create the model for inputs like these, its weights bound; without specs, for any batch size.

    Training behavior of a model, such as dropout, is disabled.
    """
    keras = import_framework("keras", "keras", FRONT_END)
    backend = keras.backend.backend()
    given = list(specs) or [_input_spec(each, backend) for each in model.inputs]
    if backend == "jax":
        return _read_on_jax(model, given, choices)
    if backend == "tensorflow":
        from riselang.frontends.tensorflow import read_tensorflow

        return read_tensorflow(lambda *x: model(_unwrap_single(x), training=False), given, choices)
    if backend == "torch":
        from riselang.frontends.torch import read_torch

        return read_torch(model.eval(), given, choices)
    raise LimitationError(f"{FRONT_END}: the Keras backend {backend} is not supported")


def _read_on_jax(model: Any, specs: Sequence[Any], choices: dict[str, Any]) -> Any:
    from riselang.frontends.jax import read_jax

    weights = [np.asarray(each.value) for each in model.trainable_variables]
    state = [np.asarray(each.value) for each in model.non_trainable_variables]

    def function(weights: Any, state: Any, *inputs: Any) -> Any:
        return model.stateless_call(weights, state, _unwrap_single(inputs), training=False)[0]

    return read_jax(function, [weights, state, *specs], choices).bind(weights, state)


def _unwrap_single(inputs: Sequence[Any]) -> Any:
    return inputs[0] if len(inputs) == 1 else list(inputs)


def _input_spec(tensor: Any, backend: str) -> ArraySpec:
    """Return the type of a model input; the batch is dynamic if the backend supports that."""
    if None in tensor.shape and backend != "jax":
        raise UserError(
            f"{FRONT_END}: the batch of {tensor.name} is dynamic; specify the types of the "
            "inputs, as in rl.from_keras(model, rl.Array[1, 784, rl.f32])"
        )
    lengths = ["B" if length is None else length for length in tensor.shape]
    return array_spec(lengths, tensor.dtype)
