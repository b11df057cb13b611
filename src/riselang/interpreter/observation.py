"""What a run of the interpreter reports: values that a program shows, and the first NaN."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import isfinite
from typing import Any

from riselang.dialects.rise.types import is_float
from riselang.support.errors import NotFiniteError
from riselang.term.nodes import Pattern, Scalar, scalar_type

Observer = Callable[[Pattern, Any], None]
_observers: ContextVar[Mapping[str, Observer] | None] = ContextVar("observers", default=None)
"""The functions that are called with the value of a let, by the location of the let."""
_float_checks: list[None] = []
"""An entry for each active `checking_floats`."""


@contextmanager
def observing(observers: Mapping[str, Observer]) -> Generator[None]:
    """Call functions with the values of the lets at some locations."""
    token = _observers.set(observers)
    try:
        yield
    finally:
        _observers.reset(token)


@contextmanager
def checking_floats() -> Generator[None]:
    """Raise an error at the first operation that returns NaN or infinity for finite operands."""
    _float_checks.append(None)
    try:
        yield
    finally:
        _float_checks.pop()


def checks_floats() -> bool:
    return bool(_float_checks)


def observe(pattern: Pattern, value: Any) -> None:
    """Report the value of a let, if it is observed."""
    observers = _observers.get()
    if observers and (observer := observers.get(str(pattern.location))) is not None:
        observer(pattern, value)


def check_finite(term: Scalar, operands: Sequence[Any], result: Any) -> None:
    """Raise an error if an operation on finite numbers returns NaN or infinity."""
    if not is_float(scalar_type(term)) or isfinite(result):
        return
    if is_float(scalar_type(term.operands[-1])) and not all(map(isfinite, operands)):
        return
    numbers = " and ".join(f"{operand:g}" for operand in map(float, operands))
    raise NotFiniteError(
        f"'{term.op.partition('.')[2]}' of {numbers} is {float(result)}", term.location
    )
