"""Programs as PyTorch functions, which call compiled kernels and their derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from riselang.frontends.embedded_program import EmbeddedProgram, is_float_array
from riselang.frontends.frameworks import import_framework
from riselang.frontends.torch_tensors import to_array, to_tensor
from riselang.support.structures import Structure, flatten

FRONT_END = "to_torch"


def torch_function(function: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """Return a function of tensors that calls a program, and whose gradient is the program's."""
    torch = import_framework("torch", "torch", FRONT_END)
    program = EmbeddedProgram(function, options)

    class Call(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, structure: Structure, found: list[Any], *tensors: Any) -> Any:
            arrays = [to_array(torch, each) for each in tensors]
            leaves, result = flatten(program(*structure.unflatten(arrays)), _is_array)
            found.append(result)
            context.structure = structure
            context.save_for_backward(*tensors)
            results = [to_tensor(torch, np.asarray(each)) for each in leaves]
            context.mark_non_differentiable(
                *(each for each in results if not each.dtype.is_floating_point)
            )
            context.differentiable = [each.dtype.is_floating_point for each in results]
            return tuple(results)

        @staticmethod
        def backward(context: Any, *cotangents: Any) -> Any:
            arrays = [to_array(torch, each) for each in context.saved_tensors]
            pairs = zip(cotangents, context.differentiable, strict=True)
            seeds = [to_array(torch, each) for each, is_float in pairs if is_float]
            found = iter(program.pull_back(arrays, context.structure, seeds))
            gradients = [
                to_tensor(torch, np.asarray(next(found))) if is_float_array(each) else None
                for each in arrays
            ]
            return None, None, *gradients

    @torch.compiler.disable
    def call(*arguments: Any) -> Any:
        leaves, structure = flatten(arguments, torch.is_tensor)
        tensors = [torch.as_tensor(each) for each in leaves]
        found: list[Structure] = []
        results = Call.apply(structure, found, *tensors)
        return found[0].unflatten(results)

    return functools.wraps(function)(call)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic)
