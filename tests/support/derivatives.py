"""Derivatives of terms, run by the interpreter: reverse against forward, and both against
differences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from riselang.autodiff.differentiation import forward_term, reverse_term
from riselang.autodiff.instantiation import normalize_function
from riselang.dialects.rise.types import RiseType, index_bounds, is_float, leaves, uncurry
from riselang.interpreter.evaluate import from_buffers, run_term, to_buffers
from riselang.term.nodes import Term
from support.numpy_scalars import Array

STEP = 1e-6


def run(term: Term, buffers: Sequence[Array]) -> list[Array]:
    """The results of a program, given a buffer for each scalar of its arguments."""
    inputs, output = uncurry(term.type)
    pending = list(buffers)
    arguments: list[object] = []
    for type in inputs:
        count = len(list(leaves(type)))
        arguments.append(from_buffers(type, pending[:count]))
        del pending[:count]
    return to_buffers(output, run_term(term, arguments))


def random_buffers(type: RiseType, source: np.random.Generator) -> list[Array]:
    buffers: list[Array] = []
    for (lengths, leaf), bound in zip(leaves(type), index_bounds(type), strict=True):
        shape = tuple(length.constant for length in lengths)
        if is_float(leaf):
            buffers.append(np.asarray(source.normal(size=shape)))
        else:
            buffers.append(np.asarray(source.integers(0, 1 if bound else 2, shape)))
    return buffers


def has_only_floats(type: RiseType) -> bool:
    return all(is_float(leaf) for _, leaf in leaves(type))


class Derivatives:
    """Both derivatives of a program in a random direction."""

    def __init__(self, term: Term, values: Sequence[Array], seed: int):
        source = np.random.default_rng(seed)
        self.term, self.values = term, list(values)
        inputs, output = uncurry(term.type)
        self.active = [has_only_floats(type) for type in inputs]
        self.counts = [len(list(leaves(type))) for type in inputs]
        self.tangents = [np.asarray(source.normal(size=each.shape)) for each in self.active_values]
        self.results = run(term, self.values)
        self.is_float = [is_float(leaf) for _, leaf in leaves(output)]
        self.cotangents = [
            np.asarray(source.normal(size=each.shape)) for each in self.floats(self.results)
        ]

    @property
    def active_values(self) -> list[Array]:
        flags = [
            flag for flag, count in zip(self.active, self.counts, strict=True) for _ in range(count)
        ]
        return [value for value, flag in zip(self.values, flags, strict=True) if flag]

    def floats(self, results: Sequence[Array]) -> list[Array]:
        return [each for each, flag in zip(results, self.is_float, strict=True) if flag]

    def check_agreement(self) -> float:
        """Reverse and forward mode agree, also after normalization, and do not change the result;
        returns the derivative, or NaN if it is not finite."""
        outputs = [
            self.run_derivative(reverse_term(self.term, self.active), self.cotangents),
            self.run_derivative(forward_term(self.term, self.active), self.tangents),
        ]
        gradient, derivative = outputs
        with np.errstate(all="ignore"):
            products = [a * b for a, b in zip(gradient, self.tangents, strict=True)]
            others = [a * b for a, b in zip(derivative, self.cotangents, strict=True)]
            scale = float(sum(np.abs(each).sum() for each in (*products, *others)))
            if not np.isfinite(scale):
                return float("nan")
            first, second = (float(sum(each.sum() for each in all)) for all in (products, others))
        rounding = max(
            (np.abs(each).max(initial=0) for each in self.floats(self.results)), default=0
        )
        tolerance = 1e-9 * (1 + scale) + 1e-14 * float(np.nan_to_num(rounding))
        assert abs(first - second) <= tolerance, (first, second)
        return first

    def run_derivative(self, derivative: Term, directions: Sequence[Array]) -> list[Array]:
        """The derivatives of a term in directions; the results are those of the program."""
        results = run(normalize_function(derivative), [*self.values, *directions])
        count = len(self.results)
        for own, other in zip(self.results, results[:count], strict=True):
            assert np.array_equal(own, other, equal_nan=own.dtype.kind == "f")
        return results[count:]

    def difference(self) -> float:
        """The derivative as the quotient of differences."""
        after, before = (self._moved(step) for step in (STEP, -STEP))
        return float(
            sum(
                ((a - b) / (2 * STEP) * c).sum()
                for a, b, c in zip(after, before, self.cotangents, strict=True)
            )
        )

    def _moved(self, step: float) -> list[Array]:
        pending = iter(self.tangents)
        values: list[Array] = []
        given = iter(self.values)
        for flag, count in zip(self.active, self.counts, strict=True):
            for _ in range(count):
                value = next(given)
                values.append(value + step * next(pending) if flag else value)
        return self.floats(run(self.term, values))
