"""Fast calls of GPU programs with PyTorch tensors.

PyTorch needs several microseconds to describe a tensor to other libraries, so a call that has the
shapes of an earlier one asks only for the addresses of its tensors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from riselang.native import cuda
from riselang.runtime.device_arrays import ALIGNMENT

DTYPES = frozenset(
    ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
     "float64")
)  # fmt: skip
"""The dtypes that PyTorch and NumPy have under the same names."""
TensorKey = tuple[Any, ...]
"""The shape and dtype of each argument."""


def tensor_key(arguments: Sequence[Any]) -> TensorKey | None:
    """Return the shapes and dtypes of contiguous tensors on the GPU; None for other arguments."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    key: list[Any] = []
    for argument in arguments:
        if (
            type(argument) is not torch.Tensor
            or not argument.is_cuda
            or argument.requires_grad
            or not argument.is_contiguous()
            or argument.data_ptr() % ALIGNMENT
            or argument.device.index
        ):
            return None
        key += (argument.shape, argument.dtype)
    return tuple(key) or None


class TorchCall:
    """A program for tensors of some shapes and dtypes."""

    def __init__(
        self,
        run: Callable[[Sequence[int]], None],
        results: Sequence[tuple[tuple[int, ...], np.dtype[Any]]],
        example: Any,
    ):
        """`run` takes addresses, those of the results first; `example` is an argument."""
        torch: Any = sys.modules["torch"]
        self._run = run
        self._empty = torch.empty
        self._current_stream = torch.cuda.current_stream
        self._device = example.device
        private = getattr(torch, "_C", None)
        self._stream_handle = getattr(private, "_cuda_getCurrentRawStream", None)
        """PyTorch's private function for this takes a hundredth of the public one's time."""
        self._results = [(shape, getattr(torch, dtype.name)) for shape, dtype in results]

    def __call__(self, arguments: Sequence[Any]) -> Any:
        results = [
            self._empty(shape, dtype=dtype, device=self._device) for shape, dtype in self._results
        ]
        addresses = [tensor.data_ptr() for tensor in (*results, *arguments)]
        if self._current_stream_handle():
            # Kernels run in the default stream, which does not wait for others.
            self._current_stream(self._device).synchronize()
            self._run(addresses)
            cuda.driver().synchronize()
        else:
            self._run(addresses)
        return results[0] if len(results) == 1 else tuple(results)

    def _current_stream_handle(self) -> int:
        """Return the handle of the current stream; zero for the default stream."""
        if self._stream_handle is not None:
            return int(self._stream_handle(self._device.index or 0))
        return int(self._current_stream(self._device).cuda_stream)
