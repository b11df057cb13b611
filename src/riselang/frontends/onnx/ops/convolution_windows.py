"""Windows of convolutions: strides, padding and dilations of a node."""

from __future__ import annotations

from collections.abc import Sequence

from riselang.frontends.onnx.primitives.contractions import convolution
from riselang.frontends.onnx.primitives.elementwise import add, convert, subtract
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.shapes import broadcast_in_dim, reshape
from riselang.frontends.onnx.registry import Node
from riselang.support.errors import LimitationError

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
