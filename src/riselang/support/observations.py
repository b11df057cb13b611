"""Python code that sees the values of a running program: `rl.debug.print` and `rl.debug.callback`.

The program reports the scalars of the observed values one by one, and then the end of an
observation. An array reports its length before its elements. Compiled code and the interpreter
report to the recorder of the call that runs in the current thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from riselang.support.errors import SourceLocation

OBSERVE_FLOAT, OBSERVE_INTEGER, OBSERVE_END = (
    "rise_observe_float",
    "rise_observe_integer",
    "rise_observe_end",
)
"""The functions that a program calls: with the number of the observation, a token that orders the
calls, and a scalar. They return the token."""
REPORT_FLOAT = "rise_not_finite"
"""The function that an operation calls with its number, its operands and its result if the result
is not finite."""
MAX_FLOAT_OPERANDS = 3
_calls = threading.local()


@dataclass(frozen=True)
class ArrayLayout:
    """How an array is reported: its length, then its elements."""

    element: Layout


@dataclass(frozen=True)
class PairLayout:
    """How a pair is reported: one component after the other."""

    first: Layout
    second: Layout


Layout = str | ArrayLayout | PairLayout
"""How a value is reported; a scalar has the name of its NumPy type."""


@dataclass(frozen=True)
class Observation:
    """A line of a program that observes values."""

    make: Callable[[], Callable[..., Any]]
    """Returns the function that is called with the values in one run."""
    layouts: tuple[Layout, ...]
    location: SourceLocation | None = None


class Recorder:
    """Calls functions with the values that one run of a program reports."""

    def __init__(self, observations: Sequence[Observation]):
        self._observations = observations
        self._functions: dict[int, Callable[..., Any]] = {}
        self._scalars: list[Any] = []
        self._error: BaseException | None = None

    def add(self, scalar: Any) -> None:
        self._scalars.append(scalar)

    def finish_observation(self, number: int) -> None:
        """Call the function of an observation; an exception ends all later ones."""
        scalars, self._scalars = self._scalars, []
        if self._error is not None:
            return
        observation = self._observations[number]
        try:
            function = self._functions.get(number)
            if function is None:
                function = self._functions[number] = observation.make()
            stream = iter(scalars)
            function(*(_read_value(layout, stream) for layout in observation.layouts))
        except BaseException as error:
            self._error = error

    def raise_error(self) -> None:
        """Raise the exception of a function that was called."""
        if self._error is not None:
            raise self._error


@dataclass
class FloatRecorder:
    """Finds the first operation of a run that returns NaN or infinity for finite operands."""

    operand_counts: Sequence[int]
    failure: tuple[int, list[float], float] | None = None
    """The number of the operation, its operands and its result."""

    def add(self, number: int, operands: Sequence[float], result: float) -> None:
        own_operands = list(operands[: self.operand_counts[number]])
        if self.failure is None and all(map(isfinite, own_operands)):
            self.failure = number, own_operands, result


@contextmanager
def recording_floats(operand_counts: Sequence[int]) -> Generator[FloatRecorder]:
    """Record the first result that is not finite while a program runs in this thread."""
    outer = getattr(_calls, "floats", None)
    _calls.floats = FloatRecorder(operand_counts)
    try:
        yield _calls.floats
    finally:
        _calls.floats = outer


def current_float_recorder() -> FloatRecorder | None:
    return getattr(_calls, "floats", None)


@contextmanager
def recording(observations: Sequence[Observation]) -> Generator[None]:
    """Call the functions of these observations while a program runs in this thread."""
    if not observations:
        yield
        return
    recorders = _active_recorders()
    recorder = Recorder(observations)
    recorders.append(recorder)
    try:
        yield
    finally:
        recorders.pop()
    recorder.raise_error()


def current_recorder() -> Recorder | None:
    recorders = _active_recorders()
    return recorders[-1] if recorders else None


def _active_recorders() -> list[Recorder]:
    """Return the recorders of the calls that run in this thread, the innermost one last."""
    if not hasattr(_calls, "recorders"):
        _calls.recorders = []
    return _calls.recorders


def _read_value(layout: Layout, scalars: Iterator[Any]) -> Any:
    """Return a scalar, an array, or a tuple of the arrays of the components of pairs."""
    leaves = _read_leaves(layout, scalars)
    values = [
        np.array(leaf, dtype_name)[()]
        for leaf, dtype_name in zip(leaves, _dtype_names(layout), strict=True)
    ]
    return values[0] if len(values) == 1 else tuple(values)


def _read_leaves(layout: Layout, scalars: Iterator[Any]) -> list[Any]:
    """Return a number for each scalar leaf of a value, or a nested list of these for an array."""
    if isinstance(layout, PairLayout):
        return [*_read_leaves(layout.first, scalars), *_read_leaves(layout.second, scalars)]
    if isinstance(layout, ArrayLayout):
        rows = [_read_leaves(layout.element, scalars) for _ in range(next(scalars))]
        if not rows:
            return [[] for _ in _dtype_names(layout)]
        return [list(leaf) for leaf in zip(*rows, strict=True)]
    scalar = next(scalars)
    if layout.startswith("complex"):
        return [complex(scalar, next(scalars))]
    return [scalar % (1 << 64) if layout.startswith("uint") else scalar]


def _dtype_names(layout: Layout) -> list[Any]:
    if isinstance(layout, PairLayout):
        return [*_dtype_names(layout.first), *_dtype_names(layout.second)]
    if isinstance(layout, ArrayLayout):
        return _dtype_names(layout.element)
    return [_bfloat16() if layout == "bfloat16" else layout]


def _bfloat16() -> Any:
    import ml_dtypes

    return ml_dtypes.bfloat16
