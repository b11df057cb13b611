"""Fast calls of GPU programs with PyTorch tensors.

PyTorch needs several microseconds to describe a tensor to other libraries, so the code of a call is
generated for the shapes and dtypes of its tensors, and asks only for their addresses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from riselang.runtime.array_calls import NativeCall
from riselang.runtime.device_arrays import ALIGNMENT, DeviceArray
from riselang.runtime.executable import DeviceFunction

DTYPES = frozenset(
    ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float8_e4m3fn",
     "float8_e5m2", "float32", "float64")
)  # fmt: skip
"""The dtypes that PyTorch and NumPy have under the same names."""
TensorKey = tuple[Any, ...]
"""The shape and dtype of each argument."""
ResultSpec = tuple[tuple[int, ...], np.dtype[Any]]
"""The shape and dtype of a result."""


def tensor_key(arguments: Sequence[Any]) -> TensorKey | None:
    """Return the shapes and dtypes of contiguous tensors on the GPU; None for other arguments."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    key: list[Any] = []
    for argument in arguments:
        if (
            type(argument) is not torch.Tensor
            or argument.get_device() != 0
            or argument.requires_grad
            or not argument.is_contiguous()
            or argument.data_ptr() % ALIGNMENT
        ):
            return None
        key += (argument.shape, argument.dtype)
    return tuple(key) or None


def prepare_tensor_call(
    program: DeviceFunction,
    results: Sequence[ResultSpec],
    example: Sequence[Any],
    fixed: Sequence[DeviceArray | None],
) -> NativeCall:
    """Return a fast call for tensors with the shapes and dtypes of an example; its result is None
    for other arguments.

    The program takes the addresses of new arrays for the results, and those of its inputs: `fixed`
    contains the ones that are the same in each call, and None for the arguments.
    """
    torch: Any = sys.modules["torch"]
    make = _call_factory(len(results), tuple(each is None for each in fixed))
    allocate = [_allocation(torch, shape, getattr(torch, dtype.name)) for shape, dtype in results]
    shapes = [tensor.shape for tensor in example]
    dtypes = [tensor.dtype for tensor in example]
    arrays = [each for each in fixed if each is not None]
    names = {"Tensor": torch.Tensor, "stream_handle": _stream_handle(torch)}
    return make(program, allocate, shapes, dtypes, arrays, **names)


def _allocation(torch: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, ...]:
    """Return a function that allocates a contiguous tensor, and its arguments.

    PyTorch's compiled code allocates by a private function that takes a third of the time of the
    public one, but always uses the current GPU.
    """
    private = getattr(getattr(torch, "_C", None), "_dynamo", None)
    quick = getattr(getattr(private, "guards", None), "_empty_strided_cuda", None)
    strides = tuple(prod(shape[position + 1 :]) for position in range(len(shape)))
    if quick is not None and torch.cuda.device_count() == 1:
        return quick, shape, strides, dtype

    def allocate(shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> Any:
        return torch.empty(shape, dtype=dtype, device="cuda:0")

    return allocate, shape, strides, dtype


def _stream_handle(torch: Any) -> Callable[[int], int]:
    """Return a function that returns the handle of the current stream of a GPU.

    PyTorch's private function for this takes a hundredth of the public one's time.
    """
    private = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    if private is not None:
        return private
    return lambda device: int(torch.cuda.current_stream(device).cuda_stream)


@cache
def _call_factory(results: int, given: tuple[bool, ...]) -> Callable[..., NativeCall]:
    """Return a function that makes a call for a number of results, and given and fixed inputs.

    The code has no loops, which would take a noticeable part of a call.
    """
    inputs = [n for n, is_given in enumerate(given) if is_given]
    checks = [
        check
        for n in inputs
        for check in (
            f"type(a{n}) is not Tensor", f"a{n}.dtype is not dtype{n}", f"a{n}.shape != shape{n}",
            f"a{n}.get_device()", f"a{n}.requires_grad", f"not a{n}.is_contiguous()",
        )
    ]  # fmt: skip
    outputs = [f"r{n}" for n in range(results)]
    kinds = [f"(new{n}, rows{n}, strides{n}, kind{n})" for n in range(results)]
    created = [f"r{n} = new{n}(rows{n}, strides{n}, kind{n})" for n in range(results)]
    fixed = [f"p{n}" for n, is_given in enumerate(given) if not is_given]
    addresses = [*(f"{each}.data_ptr()" for each in outputs), *(f"p{n}" for n in range(len(given)))]
    text = f"""
def make(program, allocations, shapes, dtypes, kept, Tensor, stream_handle):
    launch, fail = program.launch, program.fail
    [{", ".join(kinds)}] = allocations
    [{", ".join(f"shape{n}" for n in inputs)}] = shapes
    [{", ".join(f"dtype{n}" for n in inputs)}] = dtypes
    [{", ".join(fixed)}] = [array.address for array in kept]
    def call(arguments, out):
        if out is not None or len(arguments) != {len(inputs)}:
            return None
        [{", ".join(f"a{n}" for n in inputs)}] = arguments
        if {" or ".join(checks)}:
            return None
        {"; ".join(f"p{n} = a{n}.data_ptr()" for n in inputs)}
        if ({" | ".join(f"p{n}" for n in inputs)}) & {ALIGNMENT - 1}:
            return None
        {"; ".join(created)}
        failure = launch(stream_handle(0), {", ".join(addresses)})
        if failure:
            fail(failure)
        return {", ".join(outputs)}
    call.kept = kept  # keeps the fixed arrays alive
    return call
"""
    namespace: dict[str, Any] = {}
    exec(compile(text, f"{__file__}<call>", "exec"), namespace)
    return namespace["make"]
