"""Convolutions and their transposes."""

from __future__ import annotations

from riselang.frontends.onnx.ops.convolution_windows import (
    Pads,
    add_bias,
    convolve,
    integers,
)
from riselang.frontends.onnx.ops.integer_convolutions import (
    convolve_bytes,
    convolve_dequantized,
)
from riselang.frontends.onnx.primitives.contractions import convolution
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.shapes import pad, reshape, reverse, transpose
from riselang.frontends.onnx.registry import Node, converts

CONVOLUTION = "`slide` in each dimension, and `reduce` over `zip`"


@converts("Conv", summary=CONVOLUTION)
def _conv(node: Node) -> Value:
    x, kernels = node.tensor(0, least=3), node[1]
    found = convolve_dequantized(node, x, kernels)
    return add_bias(convolve(node, x, kernels) if found is None else found, node.optional(2))


@converts("ConvInteger", summary=CONVOLUTION)
def _conv_integer(node: Node) -> Value:
    x = node.tensor(0, least=3)
    return convolve_bytes(node, x, node.optional(2), node[1], node.optional(3))


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
