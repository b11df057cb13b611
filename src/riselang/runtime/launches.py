"""The host's plan for a GPU program: allocations, kernel launches and loops, in order.

Steps refer to buffers and scalars by number; the function's parameters have the first numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from riselang.runtime.sealing import check_json_type

Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class Allocate:
    """Allocate memory for a temporary, until the end of the call."""

    value: int
    bytes: int


@dataclass(frozen=True)
class Launch:
    """Launch a kernel asynchronously; kernels run in order."""

    kernel: str
    grid: Dim3
    block: Dim3
    shared_bytes: int
    """The bytes of shared memory that the kernel asks for at launch."""
    arguments: tuple[int, ...]


@dataclass(frozen=True)
class TensorMap:
    """Describe a part of a buffer, for the copy engine of a GPU."""

    value: int
    buffer: int
    element: int
    """The driver's number of the type of the elements."""
    sizes: tuple[int, ...]
    """The sizes of the buffer, innermost first."""
    strides: tuple[int, ...]
    """The strides in bytes of all dimensions but the innermost."""
    box: tuple[int, ...]
    """The sizes of the part that one copy brings."""


@dataclass(frozen=True)
class Repeat:
    """A loop of steps, `for index in range(start, end, step)`, with loop-carried values."""

    start: int
    end: int
    step: int
    index: int
    carried: tuple[int, ...]
    initial: tuple[int, ...]
    """The values that are carried into the first iteration."""
    steps: tuple[Step, ...]
    yielded: tuple[int, ...]
    """The values that are carried into the next iteration."""
    results: tuple[int, ...]


Step = Allocate | TensorMap | Launch | Repeat


@dataclass(frozen=True)
class HostPlan:
    """The steps of the host when a function is called."""

    function: str
    steps: tuple[Step, ...]
    read: tuple[int, ...]
    """The parameters that kernels read."""
    written: tuple[int, ...]
    """The parameters that kernels store to."""


@dataclass(frozen=True)
class Kernels:
    """The kernels of a module as PTX, and the host's plan for each function."""

    ptx: str
    plans: tuple[HostPlan, ...]

    def to_json(self) -> Any:
        return [self.ptx, [plan_to_json(plan) for plan in self.plans]]

    @staticmethod
    def from_json(data: Any) -> Kernels:
        ptx, plans = data
        return Kernels(check_json_type(ptx, str), tuple(map(plan_from_json, plans)))


KINDS: dict[str, type[Step]] = {
    "allocate": Allocate, "tensormap": TensorMap, "launch": Launch, "repeat": Repeat,
}  # fmt: skip


def plan_to_json(plan: HostPlan) -> list[Any]:
    return [plan.function, [_step_to_json(step) for step in plan.steps], plan.read, plan.written]


def plan_from_json(data: Any) -> HostPlan:
    function, steps, read, written = data
    return HostPlan(
        check_json_type(function, str),
        tuple(map(_step_from_json, steps)),
        _int_tuple(read),
        _int_tuple(written),
    )


def _int_tuple(data: Any) -> tuple[int, ...]:
    return tuple(check_json_type(each, int) for each in data)


def _step_to_json(step: Step) -> list[Any]:
    values = {field.name: getattr(step, field.name) for field in fields(step)}
    if isinstance(step, Repeat):
        values["steps"] = [_step_to_json(inner) for inner in step.steps]
    return [type(step).__name__.lower(), *values.values()]


def _step_from_json(data: Sequence[Any]) -> Step:
    kind = KINDS[data[0]]
    values: list[Any] = []
    for field, value in zip(fields(kind), data[1:], strict=True):
        if field.name == "steps":
            values.append(tuple(map(_step_from_json, value)))
        elif field.name == "kernel":
            values.append(check_json_type(value, str))
        elif field.type == "int":
            values.append(check_json_type(value, int))
        else:
            values.append(_int_tuple(value))
    return kind(*values)
