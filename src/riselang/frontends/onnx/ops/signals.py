"""Fourier transforms."""

from __future__ import annotations

import numpy as np

from riselang.frontends.onnx.element_types import element_of_type, type_name
from riselang.frontends.onnx.primitives.elementwise import convert, multiply
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.primitives.indexing import take
from riselang.frontends.onnx.primitives.shapes import index_axis, move_axis, pad, slice_axis, stack
from riselang.frontends.onnx.registry import Node, converts
from riselang.support.errors import LimitationError


def fourier(
    real: Value, imaginary: Value | None, axis: int, is_inverse: bool, count: int
) -> tuple[Value, Value]:
    """Return the first elements of the transform along an axis."""
    graph, last = real.graph, real.rank - 1
    element = "f64" if real.element == "f64" else "f32"
    first = convert(move_axis(real, axis, last), element)
    if imaginary is None:
        second = graph.full(0, first.shape, element)
    else:
        second = convert(move_axis(imaginary, axis, last), element)
    kind = first.shape, f"complex<{element}>"
    numbers = graph.emit_one("complex", [first, second], kind)
    found = graph.emit_one(
        "fft", [numbers], kind,
        fft_type="IFFT" if is_inverse else "FFT", fft_length=(first.shape[last],),
    )  # fmt: skip

    def part(name: str) -> Value:
        values = graph.emit_one(name, [found], (first.shape, element))
        return convert(slice_axis(move_axis(values, last, axis), axis, 0, count), real.element)

    return part("real"), part("imag")


def _resized(x: Value, axis: int, length: int) -> Value:
    """Cut or pad with zeros."""
    if x.shape[axis] >= length:
        return slice_axis(x, axis, 0, length)
    low, high = [0] * x.rank, [0] * x.rank
    high[axis] = length - x.shape[axis]
    return pad(x, x.graph.scalar(0, x), low, high)


@converts("DFT", summary="the patterns of `rl.fft`")
def _dft(node: Node) -> Value:
    x, given = node[0], node.known(1)
    if node.version >= 20:
        place = node.known(2)
        axis = -2 if place is None else int(place)
    else:
        axis = node.integer("axis", 1)
    axis = x.axis(axis)
    is_onesided, is_inverse = bool(node.integer("onesided", 0)), bool(node.integer("inverse", 0))
    last = x.rank - 1
    length = x.shape[axis] if given is None else int(given)
    if is_onesided and is_inverse:
        length = 2 * (x.shape[axis] - 1) if given is None else int(given)
        x = _hermitian(_resized(x, axis, length // 2 + 1), axis, length)
        return stack([fourier(*_parts(x), axis, True, length)[0]], last)
    x = _resized(x, axis, length)
    count = length // 2 + 1 if is_onesided else length
    return stack(list(fourier(*_parts(x), axis, is_inverse, count)), last)


def _parts(x: Value) -> tuple[Value, Value | None]:
    last = x.rank - 1
    return index_axis(x, last, 0), index_axis(x, last, 1) if x.shape[last] == 2 else None


def _hermitian(x: Value, axis: int, length: int) -> Value:
    """Complete the first half of a spectrum to that of a real signal."""
    places = np.arange(length)
    mirrored = places > length // 2
    near = np.where(mirrored, length - places, places)
    whole = take(x, x.graph.constant(near), axis)
    signs = np.ones((length, x.shape[-1]))
    signs[mirrored, 1:] = -1
    shape = [1] * x.rank
    shape[axis], shape[-1] = signs.shape
    return multiply(whole, x.graph.constant(signs.reshape(shape), x.element))


@converts("MelWeightMatrix", summary="a constant")
def _mel_weight_matrix(node: Node) -> Value:
    """Return triangles between frequencies that are at equal distances on the mel scale."""
    bins, length, rate = (int(node[k].known()) for k in range(3))
    if bins < 1 or length < 1 or rate < 1:
        raise LimitationError("the numbers of bins and of samples must be positive")
    low, high = (2595 * np.log10(1 + float(node[k].known()) / 700) for k in (3, 4))
    mels = low + np.arange(bins + 2) * ((high - low) / (bins + 2))
    hertz = 700 * (10 ** (mels / 2595) - 1)
    edges = np.floor((length + 1) * hertz / rate).astype(np.int64)
    found = np.zeros((length // 2 + 1, bins))
    if not 0 <= edges[0] <= edges[-1] <= len(found):
        raise LimitationError("the frequencies are not below half of the sample rate")
    for k, (left, center, right) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
        rising, falling = np.arange(left, center + 1), np.arange(center, right)
        found[rising, k] = (rising - left) / (center - left) if center > left else 1
        if right > center:
            found[falling, k] = (right - falling) / (right - center)
    element = element_of_type(type_name(node.integer("output_datatype", 1)))[0]
    return node.graph.constant(found, element)


@converts("STFT", summary="`at`, and the patterns of `rl.fft`")
def _stft(node: Node) -> Value:
    x, step = node[0], int(node[1].known())
    window, given = node.optional(2), node.known(3)
    length = int(given) if given is not None else (window.shape[0] if window is not None else 0)
    count = (x.shape[1] - length) // step + 1
    places = np.arange(count)[:, None] * step + np.arange(length)[None, :]
    frames = take(x, node.graph.constant(places), 1)
    real, imaginary = _parts(frames)
    if window is not None:
        real = multiply(real, window)
        imaginary = None if imaginary is None else multiply(imaginary, window)
    kept = length // 2 + 1 if node.integer("onesided", 1) else length
    return stack(list(fourier(real, imaginary, 2, False, kept)), 3)
