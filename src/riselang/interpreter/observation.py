"""What a run of the interpreter reports: values that a program shows, and the first NaN."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Any

from riselang.dialects.rise.types import is_float
from riselang.support.errors import LimitationError, NotFiniteError
from riselang.support.observations import OBSERVE_END, current_recorder
from riselang.term.nodes import Embed, Scalar, scalar_type
from riselang.term.observation_regions import observation_of

_float_checks: list[None] = []
"""An entry for each active `checking_floats`."""


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


def evaluate_observation(term: Embed, operands: Sequence[Any]) -> Any:
    """Report a scalar that a program observes, and return the token."""
    observation = observation_of(term.region)
    if observation is None:
        raise LimitationError(
            "the interpreter cannot run an embed with ops other than arith and math", term.location
        )
    callee, number = observation
    if (recorder := current_recorder()) is not None:
        if callee == OBSERVE_END:
            recorder.finish_observation(number)
        else:
            recorder.add(operands[1])
    return operands[0]


def check_finite(term: Scalar, operands: Sequence[Any], result: Any) -> None:
    """Raise an error if an operation on finite numbers returns NaN or infinity."""
    if not is_float(scalar_type(term)) or isfinite(result):
        return
    if is_float(scalar_type(term.operands[-1])) and not all(map(isfinite, operands)):
        return
    name, numbers = term.op.partition(".")[2], [float(operand) for operand in operands]
    raise NotFiniteError(not_finite_message(name, numbers, float(result)), term.location)


def not_finite_message(name: str, operands: Sequence[float], result: float) -> str:
    """Return the message for an operation on finite numbers whose result is not finite."""
    numbers = " and ".join(f"{operand:g}" for operand in operands)
    return f"'{name}' of {numbers} is {result}"
