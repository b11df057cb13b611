"""How PyTorch's ops are composed of those that the importer of the MLIR wheel converts."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any


def decompositions() -> dict[Any, Callable[..., Any]]:
    """What AOTAutograd replaces ops with, by op."""
    aten = importlib.import_module("torch").ops.aten
    table: dict[Any, Callable[..., Any]] = dict(
        importlib.import_module("torch._decomp").core_aten_decompositions()
    )
    table |= importlib.import_module("torch_mlir.extras.fx_decomp_util").get_decomposition_table()
    table |= importlib.import_module("torch._decomp").get_decompositions(
        [
            aten._native_batch_norm_legit_functional,
            aten.native_group_norm_backward,
            aten.native_layer_norm_backward,
            aten.native_batch_norm_backward,
        ]
    )
    table[aten.empty_permuted.default] = _uninitialized
    table[aten.squeeze.dims] = _squeeze
    table[aten.native_dropout.default] = _dropout
    table[aten.convolution_backward.default] = _convolution_backward
    table[aten.avg_pool2d_backward.default] = _average_pool_backward
    table[aten.max_pool2d_with_indices_backward.default] = _max_pool_backward
    return table


def _uninitialized(
    shape: Sequence[int], order: Sequence[int], *, dtype: Any = None, **_: Any
) -> Any:
    del order
    return importlib.import_module("torch").zeros(shape, dtype=dtype)


def _squeeze(tensor: Any, dims: Sequence[int]) -> Any:
    axes = {each % max(tensor.dim(), 1) for each in dims}
    shape = [n for axis, n in enumerate(tensor.shape) if axis not in axes or n != 1]
    return importlib.import_module("torch").ops.aten.view(tensor, shape)


def _dropout(input: Any, probability: float, train: bool | None) -> Any:
    """Which elements are kept depends on numbers that PyTorch draws before it calls the graph."""
    torch = importlib.import_module("torch")
    if train is False or probability == 0:
        return input, torch.ones(input.shape, dtype=torch.bool)
    kept = torch.rand(input.shape, dtype=torch.float32) >= probability
    scale = 0.0 if probability == 1 else 1 / (1 - probability)
    return torch.where(kept, input * scale, torch.zeros_like(input)), kept


def _convolution_backward(
    gradient: Any,
    input: Any,
    weight: Any,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> Any:
    """The gradients of a convolution are convolutions.

    That of the input is one of the other direction; that of the weights is one of the input, with
    the gradient as its weights and batches as channels, strides as dilations and vice versa.
    """
    convolution = importlib.import_module("torch").ops.aten.convolution
    rank = len(stride)
    kernel, sizes = weight.shape[2:], input.shape[2:]
    of_input = of_weight = of_bias = None
    if output_mask[0]:
        extra = [
            0 if transposed else size - ((out - 1) * step - 2 * pad + spread * (width - 1) + 1)
            for size, out, step, pad, spread, width in zip(
                sizes, gradient.shape[2:], stride, padding, dilation, kernel, strict=True
            )
        ]
        of_input = convolution(
            gradient, weight, None, stride, padding, dilation, not transposed, extra, groups
        )
    if output_mask[1]:
        image, window = (gradient, input) if transposed else (input, gradient)
        found = convolution(
            _swap_batch_and_channels(image, groups),
            window.transpose(0, 1),
            None, dilation, padding, stride, False, [0] * rank, groups,
        )  # fmt: skip
        for axis, width in enumerate(kernel):
            found = found.narrow(axis + 2, 0, width)
        of_weight = found.transpose(0, 1)
    if output_mask[2]:
        of_bias = gradient.sum([0, *range(2, gradient.dim())])
    return of_input, of_weight, of_bias


def _swap_batch_and_channels(image: Any, groups: int) -> Any:
    """Return an image whose channels are the batches of each group of channels, and vice versa."""
    batches, channels, *sizes = image.shape
    parts = image.reshape(batches, groups, channels // groups, *sizes).permute(
        2, 1, 0, *range(3, 3 + len(sizes))
    )
    return parts.reshape(channels // groups, groups * batches, *sizes)


def _average_pool_backward(
    gradient: Any,
    input: Any,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    counts_padding: bool,
    divisor: int | None,
) -> Any:
    """Each element gets its share of the gradient of each window that it is in.

    Adding them is a convolution of the other direction, whose weights are ones.
    """
    if ceil_mode:
        return NotImplemented
    torch = importlib.import_module("torch")
    convolution = torch.ops.aten.convolution
    stride = stride or kernel
    sizes = input.shape[-2:]
    ones = torch.ones([1, 1, *kernel], dtype=input.dtype)
    shares = gradient / (divisor or kernel[0] * kernel[1])
    if not counts_padding and divisor is None:
        inside = torch.ones([1, 1, *sizes], dtype=input.dtype)
        counts = convolution(inside, ones, None, stride, padding, [1, 1], False, [0, 0], 1)
        shares = gradient / counts.view(gradient.shape[-2:])
    extra = [
        size - ((out - 1) * step - 2 * pad + width)
        for size, out, step, pad, width in zip(
            sizes, gradient.shape[-2:], stride, padding, kernel, strict=True
        )
    ]
    flat = shares.reshape(-1, 1, *shares.shape[-2:])
    found = convolution(flat, ones, None, stride, padding, [1, 1], True, extra, 1)
    return found.view(input.shape)


def _max_pool_backward(
    gradient: Any,
    input: Any,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: Any,
) -> Any:
    """The gradient of each window goes to the element that it found, at its index in the image."""
    height, width = input.shape[-2:]
    images = gradient.numel() // (gradient.shape[-2] * gradient.shape[-1])
    zeros = importlib.import_module("torch").zeros([images, height * width], dtype=gradient.dtype)
    found = zeros.scatter_add(1, indices.reshape(images, -1), gradient.reshape(images, -1))
    return found.view(input.shape)
