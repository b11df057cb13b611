"""Slices with NumPy's meaning: negative positions, steps, and positions beyond the end."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Any

from riselang.dialects.rise.types import i64
from riselang.dsl import patterns
from riselang.dsl.arrays.shapes import length_value, literal_of
from riselang.dsl.diagnostics import refuse
from riselang.dsl.symbolic_values import Value, convert
from riselang.dsl.tracing import value_text
from riselang.nat import Nat

FULL = slice(None)


@dataclass(frozen=True)
class Range:
    """The positions `start + i * step` for each i below `count`; `step` may be negative."""

    start: Nat
    count: Nat
    step: int = 1


def is_full(key: Any) -> bool:
    return isinstance(key, slice) and all(
        bound is None for bound in (key.start, key.stop, key.step)
    )


def resolve_slice(key: slice, length: Nat) -> Range:
    """Return the positions that a slice of an array of this length selects."""
    step = 1 if key.step is None else _as_integer(key.step)
    if step == 0:
        refuse("the step of a slice cannot be 0")
    if length.is_constant and not any(isinstance(each, Nat) for each in (key.start, key.stop)):
        first, last = (
            None if each is None else _as_integer(each) for each in (key.start, key.stop)
        )
        positions = range(*slice(first, last, step).indices(length.constant))
        start = positions[0] if positions else 0
        return Range(Nat.const(start), Nat.const(len(positions)), step)
    return _resolve_symbolic(key, length, step)


def _resolve_symbolic(key: slice, length: Nat, step: int) -> Range:
    """Return the positions of a slice that ends at a size expression; it must be in range."""
    if step < 0:
        if not is_full(slice(key.start, key.stop)):
            refuse(
                f"a slice of an array of length {length} cannot have both bounds and a negative "
                "step; reverse it first with x[::-1]"
            )
        return Range(length - 1, _ceildiv(length, -step), step)
    start = Nat.const(0) if key.start is None else _position(key.start, length)
    stop = length if key.stop is None else _position(key.stop, length)
    if (count := stop - start).is_constant and count.constant < 0:
        return Range(start, Nat.const(0), step)
    return Range(start, _ceildiv(count, step), step)


def _ceildiv(count: Nat, step: int) -> Nat:
    return (count + (step - 1)) // step


def _position(key: Any, length: Nat) -> Nat:
    if isinstance(key, Nat):
        return key
    number = _as_integer(key)
    return length + number if number < 0 else Nat.const(number)


def _as_integer(key: Any) -> int:
    if isinstance(key, bool | Value) or not hasattr(key, "__index__"):
        refuse(
            f"the bounds of a slice are integers or sizes such as x.shape[0], but found "
            f"{value_text(key)}; rl.slice_at takes an index"
        )
    return index(key)


def take_slice(x: Value, positions: Range) -> Value:
    """Return the elements at these positions, as a view."""
    length: Nat = x.type.length  # pyright: ignore
    start, count, step = positions.start, positions.count, positions.step
    if step < 0:
        if length.is_constant:
            last = start + (count - 1) * step if count != 0 else start
            return patterns.reverse(take_slice(x, Range(last, count, -step)))
        return take_slice(patterns.reverse(x), Range(Nat.const(0), count, -step))
    if step != 1 and not length.is_constant:
        return patterns.generate(
            lambda i: patterns.at(position_index(positions, length, i), x), n=count
        )
    span = (count - 1) * step + 1 if count != 0 else count
    if start != 0:
        x = patterns.drop(start, x)
    if span != length - start:
        x = patterns.take(span, x)
    return x if step == 1 or count == 0 else patterns.join(patterns.slide(1, step, x))


def position_index(positions: Range, length: Nat, i: Value) -> Value:
    """Return the position number i of a range as an index of an array of this length."""
    start = length_value(positions.start, i64)
    offset = convert(patterns.from_idx(i), i64) * literal_of(positions.step, i64)
    return patterns.clamp_idx(length, offset + start)
