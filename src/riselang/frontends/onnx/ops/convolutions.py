"""Convolutions and their transposes."""

from __future__ import annotations

from collections.abc import Sequence

from riselang.frontends.onnx.primitives.contractions import convolution
from riselang.frontends.onnx.primitives.elementwise import add, convert, subtract
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.shapes import (
    broadcast_in_dim,
    pad,
    reshape,
    reverse,
    transpose,
)
from riselang.frontends.onnx.registry import Node, converts
from riselang.support.errors import LimitationError

CONVOLUTION = "`slide` in each dimension, and `reduce` over `zip`"
Pads = list[tuple[int, int]]


def integers(node: Node, name: str, rank: int, default: int = 1) -> list[int]:
    found = node.attributes.get(name)
    if found and len(found) != rank:
        raise LimitationError(f"{name} has {len(found)} numbers, but {rank} are needed")
    return [int(each) for each in found] if found else [default] * rank


def padding(
    node: Node,
    lengths: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> Pads:
    """Return the padding of each dimension, by `auto_pad` or `pads`."""
    mode, rank = node.text("auto_pad", "NOTSET"), len(kernel)
    if mode == "VALID":
        return [(0, 0)] * rank
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        found: Pads = []
        for length, size, stride, dilation in zip(lengths, kernel, strides, dilations, strict=True):
            count = -(-length // stride)
            total = max((count - 1) * stride + (size - 1) * dilation + 1 - length, 0)
            less, more = total // 2, total - total // 2
            found.append((less, more) if mode == "SAME_UPPER" else (more, less))
        return found
    pads = integers(node, "pads", 2 * rank, 0)
    return [(pads[k], pads[rank + k]) for k in range(rank)]


def convolve(node: Node, x: Value, kernels: Value) -> Value:
    rank = x.rank - 2
    if kernels.rank != x.rank:
        raise LimitationError(f"kernels of the shape {kernels.shape} do not fit {x.shape}")
    strides, dilations = integers(node, "strides", rank), integers(node, "dilations", rank)
    pads = padding(node, x.shape[2:], kernels.shape[2:], strides, dilations)
    return convolution(x, kernels, strides, pads, dilations, node.integer("group", 1))


def add_bias(x: Value, bias: Value | None) -> Value:
    if bias is None:
        return x
    return add(x, broadcast_in_dim(bias, x.shape, [1]))


@converts("Conv", summary=CONVOLUTION)
def _conv(node: Node) -> Value:
    return add_bias(convolve(node, node.tensor(0, least=3), node[1]), node.optional(2))


@converts("ConvInteger", summary=CONVOLUTION)
def _conv_integer(node: Node) -> Value:
    x, kernels = convert(node.tensor(0, least=3), "i32"), convert(node[1], "i32")
    return convolve(node, *without_zeros(x, kernels, node.optional(2), node.optional(3)))


def without_zeros(
    x: Value, kernels: Value, zero: Value | None, kernel_zero: Value | None
) -> tuple[Value, Value]:
    """Subtract zero points; those of kernels may differ by output feature."""
    if zero is not None:
        x = subtract(x, reshape(convert(zero, x.element), ()))
    if kernel_zero is not None:
        wide = convert(kernel_zero, kernels.element)
        if wide.size == 1:
            kernels = subtract(kernels, reshape(wide, ()))
        else:
            kernels = subtract(kernels, broadcast_in_dim(wide, kernels.shape, [0]))
    return x, kernels


@converts("ConvTranspose", summary=CONVOLUTION)
def _conv_transpose(node: Node) -> Value:
    x, rank = node.tensor(0, least=3), node[0].rank - 2
    kernels = node.tensor(1, rank=x.rank)
    strides, dilations = integers(node, "strides", rank), integers(node, "dilations", rank)
    more = integers(node, "output_padding", rank, 0)
    groups = node.integer("group", 1)
    sizes = [(n - 1) * d + 1 for n, d in zip(kernels.shape[2:], dilations, strict=True)]
    full = [
        (n - 1) * s + size + extra
        for n, s, size, extra in zip(x.shape[2:], strides, sizes, more, strict=True)
    ]
    wanted = node.attributes.get("output_shape")
    mode = node.text("auto_pad", "NOTSET")
    if wanted or mode in ("SAME_UPPER", "SAME_LOWER"):
        lengths = (
            [int(n) for n in wanted][-rank:]
            if wanted
            else [n * s for n, s in zip(x.shape[2:], strides, strict=True)]
        )
        pads: Pads = []
        for length, target in zip(full, lengths, strict=True):
            total = length - target
            half = total // 2
            pads.append((half, total - half) if mode == "SAME_UPPER" else (total - half, half))
    elif mode == "VALID":
        pads = [(0, 0)] * rank
    else:
        given = integers(node, "pads", 2 * rank, 0)
        pads = [(given[k], given[rank + k]) for k in range(rank)]
    # Kernels with the dimensions (C, M / group, ...) become (M, C / group, ...), reversed.
    each = kernels.shape[1]
    grouped = reshape(kernels, (groups, kernels.shape[0] // groups, *kernels.shape[1:]))
    swapped = transpose(grouped, (0, 2, 1, *range(3, 3 + rank)))
    flat = reshape(swapped, (groups * each, kernels.shape[0] // groups, *kernels.shape[2:]))
    flipped = reverse(flat, range(2, 2 + rank))
    borders = [
        (size - 1 - before, size - 1 - after + extra)
        for size, (before, after), extra in zip(sizes, pads, more, strict=True)
    ]
    inner = [(max(a, 0), max(b, 0)) for a, b in borders]
    found = convolution(x, flipped, [1] * rank, inner, dilations, groups, strides)
    if inner != borders:
        low = [0, 0, *(min(a, 0) for a, _ in borders)]
        high = [0, 0, *(min(b, 0) for _, b in borders)]
        found = pad(found, node.graph.scalar(0, found), low, high)
    return add_bias(found, node.optional(2))
