"""What ranks do: a list of steps, each of which gathers operands and computes buffers from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from riselang.dialects.rise.types import RiseType
from riselang.ranks.mesh import Axis, Mesh
from riselang.ranks.views import Buffer, View
from riselang.term.nodes import Term


@dataclass(frozen=True, eq=False)
class Pair:
    """A pair, or an array of pairs as a pair of arrays."""

    first: Value
    second: Value


Value: TypeAlias = View | Pair


def leaf_views(value: Value) -> list[View]:
    """Return the arrays and scalars of a value, in the order of its type."""
    if isinstance(value, View):
        return [value]
    return [*leaf_views(value.first), *leaf_views(value.second)]


@dataclass(frozen=True, eq=False)
class Step:
    """Computes buffers for each task: with a kernel, or as copies of the operands."""

    kernel: Term | None
    """A closed function of the operands."""
    axes: tuple[Axis, ...]
    operands: tuple[View, ...]
    """The operands of all tasks; the first dimensions are those of the tasks."""
    outputs: tuple[Buffer, ...]


@dataclass(frozen=True, eq=False)
class Plan:
    """A program for the ranks of a mesh."""

    mesh: Mesh
    inputs: tuple[Buffer, ...]
    """The parameters, which all ranks have."""
    steps: tuple[Step, ...]
    results: tuple[View, ...]
    result_type: RiseType

    def buffers_to_free(self) -> list[Sequence[Buffer]]:
        """Return the buffers that are used for the last time by each step."""
        last: dict[Buffer, int] = {}
        for number, step in enumerate(self.steps):
            for buffer in (
                *step.outputs,
                *(each for view in step.operands for each in _read(view)),
            ):
                last[buffer] = number
        for view in self.results:
            for buffer in _read(view):
                last.pop(buffer, None)
        freed: list[list[Buffer]] = [[] for _ in self.steps]
        for buffer, number in last.items():
            freed[number].append(buffer)
        return list(freed)


def _read(view: View) -> list[Buffer]:
    return [source.buffer for source in view.sources]
