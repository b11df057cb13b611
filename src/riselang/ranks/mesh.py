"""Meshes: ranks in a grid, and the ranks that own the elements of a distributed axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from riselang.support.errors import UserError


@dataclass(frozen=True)
class Mesh:
    """Ranks in a grid; the last coordinate of consecutive ranks changes fastest."""

    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        """The number of ranks."""
        return prod(self.shape)

    def rank(self, coordinates: Sequence[int]) -> int:
        rank = 0
        for size, coordinate in zip(self.shape, coordinates, strict=True):
            rank = rank * size + coordinate
        return rank

    def coordinates(self, rank: int) -> tuple[int, ...]:
        result: list[int] = []
        for size in reversed(self.shape):
            rank, coordinate = divmod(rank, size)
            result.append(coordinate)
        return tuple(reversed(result))


@dataclass(frozen=True)
class Axis:
    """An axis of tasks: element i is on the ranks whose coordinate on `mesh_axis` is `first` + i,
    modulo the size of the mesh axis; on all ranks if `mesh_axis` is None."""

    size: int
    mesh_axis: int | None = None
    first: int = 0


Task = tuple[int, ...]
"""The indices of a task on its axes."""


def owners(mesh: Mesh, axes: Sequence[Axis], task: Task) -> tuple[int, ...]:
    """Return the ranks that run a task, in order; the outermost axis on a mesh axis decides."""
    choices: list[Sequence[int]] = [range(size) for size in mesh.shape]
    for axis, index in reversed(list(zip(axes, task, strict=True))):
        if axis.mesh_axis is not None:
            choices[axis.mesh_axis] = [(axis.first + index) % mesh.shape[axis.mesh_axis]]
    return tuple(mesh.rank(coordinates) for coordinates in product(*choices))


def tasks(axes: Sequence[Axis]) -> Iterator[Task]:
    """Iterate over all tasks, in order."""
    return product(*(range(axis.size) for axis in axes))


def read_mesh(ranks: int | Sequence[int]) -> Mesh:
    """Return the mesh for a number of ranks, or for the sizes of its axes."""
    shape = (ranks,) if isinstance(ranks, int) else tuple(ranks)
    if not shape or any(not isinstance(size, int) or size < 1 for size in shape):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserError(
            f"ranks must be a number of ranks or the sizes of a mesh, such as 4 or (2, 2), but is "
            f"{ranks!r}"
        )
    return Mesh(shape)
