"""The last step of a radix-2 FFT: the transforms of the even and the odd elements are combined."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


def butterfly(
    even: rl.Array, odd: rl.Array, w: rl.Array
) -> tuple[tuple[rl.Array, rl.Array], tuple[rl.Array, rl.Array]]:
    re = odd.fst * w.fst - odd.snd * w.snd
    im = odd.fst * w.snd + odd.snd * w.fst
    return (even.fst + re, even.snd + im), (even.fst - re, even.snd - im)


@rl.jit
def fft_step(
    even_re: Annotated[rl.Array, "N", rl.f32],
    even_im: Annotated[rl.Array, "N", rl.f32],
    odd_re: Annotated[rl.Array, "N", rl.f32],
    odd_im: Annotated[rl.Array, "N", rl.f32],
    w_re: Annotated[rl.Array, "N", rl.f32],
    w_im: Annotated[rl.Array, "N", rl.f32],
) -> rl.Array:
    """Return both halves of the transform; complex numbers are pairs, w has the twiddle factors."""
    evens, odds, ws = rl.zip(even_re, even_im), rl.zip(odd_re, odd_im), rl.zip(w_re, w_im)
    return rl.zip(evens, rl.zip(odds, ws)) | rl.map(butterfly) | rl.unzip


def inputs() -> tuple[Any, ...]:
    signal = np.random.default_rng(22).standard_normal(16)
    even, odd = np.fft.fft(signal[0::2]), np.fft.fft(signal[1::2])
    w = np.exp(-2j * np.pi * np.arange(8) / 16)
    parts = (part for z in (even, odd, w) for part in (np.real(z), np.imag(z)))
    return tuple(part.astype(np.float32) for part in parts)


def expected(even_re: Any, even_im: Any, odd_re: Any, odd_im: Any, w_re: Any, w_im: Any) -> Any:
    even, turned = even_re + 1j * even_im, (odd_re + 1j * odd_im) * (w_re + 1j * w_im)
    first, second = even + turned, even - turned
    return np.real(first), np.imag(first), np.real(second), np.imag(second)
