"""Calls of models on a GPU, whose constants and bound arguments stay in GPU memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from riselang.api.compiled import Compiled
from riselang.frontends.stablehlo.model.body import ModelBody
from riselang.runtime.array_calls import NativeCall, decline
from riselang.runtime.arrays import Array
from riselang.runtime.device_arrays import (
    DeviceArray,
    device_view,
    is_on_gpu,
    to_argument_library,
    to_gpu,
)
from riselang.runtime.torch_calls import tensor_key


class GpuCalls:
    """The calls of a model on a GPU."""

    def __init__(
        self,
        body: ModelBody,
        bound: Mapping[str, Array],
        names: Sequence[str],
        to_array: Callable[[str, Any], Array],
    ):
        """`names` are those of the arguments of a call, which `to_array` checks and converts."""
        self._body, self._names, self._to_array = body, names, to_array
        signature = body.signature
        known = [*(bound.get(name) for name in signature.argument_names), *body.constants]
        self._fixed: list[DeviceArray | None] = [
            None if array is None else to_gpu(array) for array in known
        ]
        """The constants and bound arguments, and None for the arguments of a call. Then what is
        computed from them in advance."""
        self._compiled = self._compile()
        self.quick: NativeCall = decline
        """Returns the results for tensors like those of an earlier call, else None."""

    def _compile(self) -> Compiled:
        """Return the code for calls; computations that depend on no argument are done now."""
        views = [None if each is None else device_view(each, "constant") for each in self._fixed]
        known = frozenset(position for position, each in enumerate(views) if each is not None)
        code = self._body.bound_code(known)
        self._body.store_constants()
        if code is None:
            return self._body.compiled
        self._fixed = [*(self._fixed[each] for each in code.kept), *code.precompute(views)]
        return code.main_program

    def __call__(self, given: Mapping[str, Any]) -> Any:
        """Return the results for arrays by name; on the GPU if one of them is."""
        arguments = [given[name] for name in self._names]
        passed = iter(
            device_view(value, name) if is_on_gpu(value) else self._to_array(name, value)
            for name, value in zip(self._names, arguments, strict=True)
        )
        arrays: list[Array] = [
            next(passed) if each is None else device_view(each, "constant") for each in self._fixed
        ]
        result = self._compiled.run(arrays)
        if not any(map(is_on_gpu, arguments)):
            return _to_host(result)
        if tensor_key(arguments) is not None:
            self.quick = self._compiled.prepare_tensor_call(arguments, self._fixed) or decline
        return to_argument_library(arguments, result)


def _to_host(result: Any) -> Any:
    """Return results in host memory."""
    if isinstance(result, DeviceArray):
        return result.numpy()
    if isinstance(result, tuple):
        return tuple(_to_host(part) for part in result)
    return result
