"""Arithmetic on integer intervals that may be unbounded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """All integers from lower to upper, both included; None means unbounded."""

    lower: int | None
    upper: int | None

    def __add__(self, other: Interval) -> Interval:
        return Interval(_add(self.lower, other.lower), _add(self.upper, other.upper))

    def __mul__(self, other: Interval) -> Interval:
        if self.is_nonnegative and other.is_nonnegative:
            return Interval(_multiply(self.lower, other.lower), _multiply(self.upper, other.upper))
        products = [_finite_product(x, y) for x in self._bounds for y in other._bounds]
        finite_products = [end for end in products if end is not None]
        return (
            Interval(min(finite_products), max(finite_products))
            if len(finite_products) == len(products)
            else UNBOUNDED
        )

    def scale(self, factor: int) -> Interval:
        """Every member times `factor`."""
        lower, upper = (self.lower, self.upper) if factor >= 0 else (self.upper, self.lower)
        return Interval(_multiply(factor, lower), _multiply(factor, upper))

    def floor_divide(self, divisor: Interval) -> Interval:
        """Floor division by something that is at least 1."""
        smallest_divisor = max(divisor.lower or 1, 1)
        largest_divisor = None if divisor.upper is None else max(divisor.upper, smallest_divisor)
        return Interval(
            _divide_end(self.lower, smallest_divisor, largest_divisor, when_unbounded=0),
            _divide_end(self.upper, largest_divisor, smallest_divisor, when_unbounded=-1),
        )

    @property
    def is_nonnegative(self) -> bool:
        return self.lower is not None and self.lower >= 0

    @property
    def _bounds(self) -> tuple[int | None, int | None]:
        return self.lower, self.upper


UNBOUNDED = Interval(None, None)


def largest(candidates: Iterable[int | None]) -> int | None:
    """The largest known one."""
    return max((value for value in candidates if value is not None), default=None)


def smallest(candidates: Iterable[int | None]) -> int | None:
    """The smallest known one."""
    return min((value for value in candidates if value is not None), default=None)


def smallest_if_all(candidates: Iterable[int | None]) -> int | None:
    """The smallest one, if all are known."""
    values = list(candidates)
    return None if None in values else smallest(values)


def largest_if_all(candidates: Iterable[int | None]) -> int | None:
    """The largest one, if all are known."""
    values = list(candidates)
    return None if None in values else largest(values)


def _add(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def _multiply(left: int | None, right: int | None) -> int | None:
    """The product of two ends of the same sign; None is infinity."""
    if left == 0 or right == 0:
        return 0
    return None if left is None or right is None else left * right


def _finite_product(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left * right


def _divide_end(
    end: int | None, if_negative: int | None, otherwise: int | None, when_unbounded: int
) -> int | None:
    """Divide an end by the divisor that makes the interval largest."""
    if end is None:
        return None
    divisor = if_negative if end < 0 else otherwise
    return when_unbounded if divisor is None else end // divisor
