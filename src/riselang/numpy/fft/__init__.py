"""Fourier transforms under NumPy's names, for functions under `rl.jit`; also `rl.fft`.

`norm` is "backward" (the inverse is divided by the length), "ortho" (both directions are divided by
its square root) or "forward" (the other direction is). The transform of f32 and complex64 is
computed in f32, and that of all other types in f64.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from riselang.dsl.argument_errors import with_argument_checks as _with_argument_checks
from riselang.dsl.arrays.layout import roll
from riselang.dsl.arrays.shapes import (
    as_array,
    map_at,
    normalize_axes,
    normalize_axis,
    rank_of,
    shape_of,
)
from riselang.dsl.diagnostics import refuse
from riselang.dsl.symbolic_values import Value, as_node, convert
from riselang.numpy.fft.axes import (
    as_complex,
    as_floats,
    known_length,
    resize,
    transform_axis,
    transform_real,
    transform_to_real,
)
from riselang.numpy.fft.transforms import Transform

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

FORWARD, BACKWARD = -1, 1
"""The signs of the exponents of a transform and of its inverse."""
OPPOSITE_NORMS = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Return the discrete Fourier transform along an axis, of the first `n` elements."""
    return _complex_transform("fft", a, n, axis, norm, FORWARD)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Return the inverse discrete Fourier transform along an axis."""
    return _complex_transform("ifft", a, n, axis, norm, BACKWARD)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Return the first `n // 2 + 1` elements of the transform of real numbers along an axis."""
    x, number, length = _resized("rfft", as_floats("rfft", a), n, axis)
    return transform_real(_transform("rfft", length, norm, FORWARD), x, number)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Return the inverse of `rfft`: `n` real numbers along an axis, by default an even number."""
    x = as_complex("irfft", a)
    number = normalize_axis("irfft", axis, rank_of(x))
    length = 2 * (known_length("irfft", shape_of(x), number) - 1) if n is None else n
    transform = _transform("irfft", length, norm, BACKWARD)
    return transform_to_real(transform, resize(x, number, length // 2 + 1), number)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Return the transform, which is real, of a signal of which the first half is given."""
    return irfft(as_complex("hfft", a).conj(), n, axis, _opposite("hfft", norm))


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Return the inverse of `hfft`."""
    return rfft(a, n, axis, _opposite("ihfft", norm)).conj()


def fftn(
    a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Value:  # fmt: skip
    """Return the discrete Fourier transform along several axes, by default along all of them."""
    return _transform_axes("fftn", as_complex("fftn", a), s, axes, norm, FORWARD)


def ifftn(
    a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Value:  # fmt: skip
    """Return the inverse discrete Fourier transform along several axes."""
    return _transform_axes("ifftn", as_complex("ifftn", a), s, axes, norm, BACKWARD)


def rfftn(
    a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Value:  # fmt: skip
    """Return the transform of real numbers along several axes, of which the last one is halved."""
    x = as_floats("rfftn", a)
    numbers, lengths = _axes_and_lengths("rfftn", x, s, axes)
    x = rfft(x, lengths[-1], numbers[-1], norm)
    if len(numbers) == 1:
        return x
    return _transform_axes("rfftn", x, lengths[:-1], numbers[:-1], norm, FORWARD)


def irfftn(
    a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Value:  # fmt: skip
    """Return the inverse of `rfftn`."""
    x = as_complex("irfftn", a)
    numbers, lengths = _axes_and_lengths("irfftn", x, s, axes)
    if s is None:
        lengths[-1] = 2 * (lengths[-1] - 1)
    if len(numbers) > 1:
        x = _transform_axes("irfftn", x, lengths[:-1], numbers[:-1], norm, BACKWARD)
    return irfft(x, lengths[-1], numbers[-1], norm)


def fft2(
    a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Value:
    """Return the discrete Fourier transform along two axes."""
    return fftn(a, s, axes, norm)


def ifft2(
    a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Value:
    """Return the inverse discrete Fourier transform along two axes."""
    return ifftn(a, s, axes, norm)


def rfft2(
    a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Value:
    """Return the transform of real numbers along two axes, of which the last one is halved."""
    return rfftn(a, s, axes, norm)


def irfft2(
    a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Value:
    """Return the inverse of `rfft2`."""
    return irfftn(a, s, axes, norm)


def fftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Value:
    """Return the frequencies of the elements of a transform; `d` is the distance of samples."""
    return _constant(np.fft.fftfreq(n, d), dtype)


def rfftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Value:
    """Return the frequencies of the elements of the transform of real numbers."""
    return _constant(np.fft.rfftfreq(n, d), dtype)


def fftshift(x: Any, axes: Any = None) -> Value:
    """Move the zero frequency to the middle of each axis."""
    return _shifted("fftshift", x, axes, lambda length: length // 2)


def ifftshift(x: Any, axes: Any = None) -> Value:
    """Return the inverse of `fftshift`."""
    return _shifted("ifftshift", x, axes, lambda length: -(length // 2))


def _constant(array: Any, dtype: Any) -> Value:
    value = Value(as_node(array))
    return value if dtype is None else convert(value, dtype)


def _shifted(name: str, x: Any, axes: Any, distance: Any) -> Value:
    x = as_array(name, x)
    for number in normalize_axes(name, axes, rank_of(x)):
        shift = distance(known_length(name, shape_of(x), number))
        x = map_at(number, lambda part, shift=shift: roll(part, shift, 0), x)
    return x


def _complex_transform(
    name: str, a: Any, n: int | None, axis: int, norm: str | None, sign: int
) -> Value:
    x, number, length = _resized(name, as_complex(name, a), n, axis)
    return transform_axis(_transform(name, length, norm, sign), x, number)


def _resized(name: str, x: Value, n: int | None, axis: int) -> tuple[Value, int, int]:
    """Return the array with `n` elements along an axis, the number of the axis, and the length."""
    number = normalize_axis(name, axis, rank_of(x))
    length = known_length(name, shape_of(x), number) if n is None else n
    if length < 1:
        refuse(f"{name}: the number of elements must be positive, but is {length}")
    return resize(x, number, length), number, length


def _transform(name: str, length: int, norm: str | None, sign: int) -> Transform:
    if length < 1:
        refuse(f"{name}: the number of elements must be positive, but is {length}")
    norm = _checked(name, norm)
    if norm == "ortho":
        return Transform(length, sign, 1 / sqrt(length))
    is_divided = (norm == "forward") == (sign == FORWARD)
    return Transform(length, sign, 1 / length if is_divided else 1.0)


def _checked(name: str, norm: str | None) -> str:
    norm = norm or "backward"
    if norm not in OPPOSITE_NORMS:
        refuse(f"{name}: norm must be 'backward', 'ortho' or 'forward', but is {norm!r}")
    return norm


def _opposite(name: str, norm: str | None) -> str:
    return OPPOSITE_NORMS[_checked(name, norm)]


def _axes_and_lengths(
    name: str, x: Value, s: Sequence[int] | None, axes: Sequence[int] | None
) -> tuple[list[int], list[int]]:
    rank = rank_of(x)
    if axes is None:
        axes = range(-len(s), 0) if s is not None else range(rank)
    numbers = [normalize_axis(name, each, rank) for each in axes]
    if not numbers:
        refuse(f"{name}: at least one axis must be transformed")
    if s is None:
        return numbers, [known_length(name, shape_of(x), each) for each in numbers]
    if len(s) != len(numbers):
        refuse(f"{name}: s has {len(s)} lengths, but axes has {len(numbers)}")
    return numbers, list(s)


def _transform_axes(
    name: str, x: Value, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str | None,
    sign: int,
) -> Value:  # fmt: skip
    numbers, lengths = _axes_and_lengths(name, x, s, axes)
    for number, length in reversed(list(zip(numbers, lengths, strict=True))):
        x = _complex_transform(name, x, length, number, norm, sign)
    return x


globals().update(_with_argument_checks({name: globals()[name] for name in __all__}, "rl.fft"))


def __getattr__(name: str) -> object:
    from riselang.dsl.name_hints import missing_attribute_message

    raise AttributeError(missing_attribute_message(__name__, name, __all__), name=name)
