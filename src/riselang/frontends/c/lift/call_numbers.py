"""The values of parameters in a call, and of lengths that are sums of them."""

from __future__ import annotations

from collections.abc import Mapping

from riselang.frontends.c.calling import Values
from riselang.frontends.c.model.footprints import Footprints
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.tactics.boxes import LoopRange

Numbers = Mapping[str, int]
"""The values of parameters, and of the remaining loops."""


def parameter_numbers(footprints: Footprints, values: Values) -> Numbers:
    """Return the values of the parameters that are known in a call."""
    whole = {each: int(value) for each, value in values.items() if each.type.is_integer}
    known = footprints.parameter_values(whole)
    return {name: value for name, value in known.items() if value is not None}


def evaluate_linear(linear: Linear, numbers: Numbers) -> int:
    total = linear.constant
    for atom, factor in linear.terms:
        assert isinstance(atom, str)
        total += factor * numbers[atom]
    return total


def evaluate_length(linear: Linear, numbers: Numbers) -> int:
    """Return the length of a range, which is zero if its end is before its start."""
    return max(0, evaluate_linear(linear, numbers))


def evaluate_lengths(ranges: Mapping[str, LoopRange], numbers: Numbers) -> dict[str, int]:
    return {loop: evaluate_length(each.length, numbers) for loop, each in ranges.items()}


def evaluate_slice(first: Linear, length: Linear, numbers: Numbers) -> slice:
    start = evaluate_linear(first, numbers)
    return slice(start, start + evaluate_length(length, numbers))
