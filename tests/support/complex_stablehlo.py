"""Random ops on complex numbers, and what they mean: the same ops on real and imaginary parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from support.random_stablehlo import Case, random_case

MOVING = (
    "broadcast_in_dim", "concatenate", "dynamic_slice", "dynamic_update_slice", "gather", "pad",
    "reshape", "reverse", "slice_", "transpose",
)  # fmt: skip
"""Ops that say where elements stand."""
PRODUCTS = ("convolution", "dot_general")
Parts = Sequence[Callable[[Any], Any]]
"""For each argument, which part of it is taken."""


@dataclass(frozen=True)
class ComplexCase:
    """An op on complex numbers, and arguments for it."""

    name: str
    real: Case
    text: str
    arguments: tuple[Any, ...]

    def expected(self, run: Callable[[Sequence[Any]], list[Any]]) -> list[Any]:
        """Its results, where `run` gives those of the op on floats."""
        re, im = np.real, np.imag

        def of(*parts: Callable[[Any], Any]) -> list[Any]:
            each = [*parts, *[parts[-1]] * len(self.arguments)]
            return run([_part(x, part) for x, part in zip(self.arguments, each, strict=False)])

        if self.name not in PRODUCTS:
            return [a + 1j * b for a, b in zip(of(re), of(im), strict=True)]
        products = (of(re, re), of(im, im), of(re, im), of(im, re))
        return [(a - b) + 1j * (c + d) for a, b, c, d in zip(*products, strict=True)]


def _part(x: Any, part: Callable[[Any], Any]) -> Any:
    return np.array(part(x), np.float32, order="C") if x.dtype.kind == "c" else x


def complex_case(name: str, seed: int) -> ComplexCase | None:
    """A random op, if it is one of floats; small integers make all sums exact."""
    case = random_case(name, seed)
    if "f32" not in case.text or "f64" in case.text:
        return None
    random = np.random.default_rng(seed)
    arguments = tuple(
        (each + 1j * random.integers(-3, 4, each.shape)).astype(np.complex64)
        if each.dtype == np.float32
        else each
        for each in case.arguments
    )
    text = re.sub(r"\bf32\b|(?<=x)f32\b", "complex<f32>", case.text)
    return ComplexCase(name, case, text, arguments)
