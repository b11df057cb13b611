"""Arrays as views of buffers that are distributed to ranks.

A view has an index array for each dimension of its buffer. These arrays broadcast to the shape of
the view, and have length 1 in each dimension on which they do not depend, so a view of a large
array takes little memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riselang.ranks.mesh import Axis, Task
from riselang.support.lazy import cached_property

Indices = np.ndarray[Any, np.dtype[np.intp]]


@dataclass(frozen=True, eq=False)
class Buffer:
    """A buffer for each task; or a constant, which needs no buffer."""

    axes: tuple[Axis, ...]
    shape: tuple[int, ...]
    """The shape of the buffer of one task."""
    dtype: np.dtype[Any]
    constant: Any = None
    """The elements of a constant."""


@dataclass(frozen=True, eq=False)
class Source:
    """Elements of a buffer."""

    buffer: Buffer
    indices: tuple[Indices, ...]


@dataclass(frozen=True, eq=False)
class View:
    """An array or a scalar; element e is element e of the source that `choice` has at e."""

    shape: tuple[int, ...]
    sources: tuple[Source, ...]
    choice: Indices

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.sources[0].buffer.dtype

    @property
    def key(self) -> object:
        """Equal for views of the same elements."""
        arrays = [self.choice, *(each for source in self.sources for each in source.indices)]
        content = [(each.shape, each.tobytes()) for each in arrays]
        return self.shape, tuple(source.buffer for source in self.sources), tuple(content)

    def depends_on(self, at: int) -> bool:
        """Whether elements differ along a dimension."""
        arrays = [self.choice, *(each for source in self.sources for each in source.indices)]
        return self.shape[at] > 1 and any(each.shape[at] > 1 for each in arrays)

    def transform(self, shape: Sequence[int], change: Callable[[Indices], Indices]) -> View:
        """Apply a change of layout to all index arrays."""
        sources = [replace(each, indices=tuple(map(change, each.indices))) for each in self.sources]
        return View(tuple(shape), tuple(sources), change(self.choice))

    # Each of these changes dimension `at`.

    def pick(self, at: int, positions: Indices) -> View:
        """Take the element of a dimension at a position that depends on the dimensions before."""

        def change(a: Indices) -> Indices:
            if a.shape[at] == 1:
                return np.take(a, 0, axis=at)
            chosen = positions.reshape((*positions.shape, *(1 for _ in range(a.ndim - at))))
            shape = np.broadcast_shapes(a.shape[:at], positions.shape)
            a = np.broadcast_to(a, (*shape, *a.shape[at:]))
            chosen = np.broadcast_to(chosen, (*shape, *chosen.shape[at:]))
            return np.take_along_axis(a, chosen, axis=at).squeeze(at)

        return self.transform(self.shape[:at] + self.shape[at + 1 :], change)

    def select(self, at: int, positions: Indices | int) -> View:
        """Take some elements of a dimension; an integer removes the dimension."""
        if isinstance(positions, int):
            shape = self.shape[:at] + self.shape[at + 1 :]
            return self.transform(
                shape, lambda a: np.take(a, 0 if a.shape[at] == 1 else positions, axis=at)
            )
        shape = (*self.shape[:at], len(positions), *self.shape[at + 1 :])
        return self.transform(
            shape, lambda a: a if a.shape[at] == 1 else np.take(a, positions, axis=at)
        )

    def split(self, at: int, size: int) -> View:
        count = self.shape[at] // size if size else 0

        def change(a: Indices) -> Indices:
            parts = (1, 1) if a.shape[at] == 1 else (count, size)
            return a.reshape((*a.shape[:at], *parts, *a.shape[at + 1 :]))

        return self.transform((*self.shape[:at], count, size, *self.shape[at + 1 :]), change)

    def join(self, at: int) -> View:
        outer, inner = self.shape[at : at + 2]

        def change(a: Indices) -> Indices:
            if a.shape[at : at + 2] != (1, 1):
                a = np.broadcast_to(a, (*a.shape[:at], outer, inner, *a.shape[at + 2 :]))
            return a.reshape((*a.shape[:at], a.shape[at] * a.shape[at + 1], *a.shape[at + 2 :]))

        shape = (*self.shape[:at], outer * inner, *self.shape[at + 2 :])
        return self.transform(shape, change)

    def swap(self, at: int) -> View:
        shape = list(self.shape)
        shape[at], shape[at + 1] = shape[at + 1], shape[at]
        return self.transform(shape, lambda a: np.swapaxes(a, at, at + 1))

    def slide(self, at: int, count: int, size: int, step: int) -> View:
        starts = np.arange(count, dtype=np.intp)[:, None] * step
        positions = (starts + np.arange(size, dtype=np.intp)).reshape(-1)
        return self.select(at, positions).unflatten(at, count, size)

    def unflatten(self, at: int, count: int, size: int) -> View:
        def change(a: Indices) -> Indices:
            parts = (1, 1) if a.shape[at] == 1 else (count, size)
            return a.reshape((*a.shape[:at], *parts, *a.shape[at + 1 :]))

        return self.transform((*self.shape[:at], count, size, *self.shape[at + 1 :]), change)

    def insert(self, at: int, sizes: Sequence[int]) -> View:
        """Add dimensions on which no element depends."""

        def change(a: Indices) -> Indices:
            return a.reshape((*a.shape[:at], *(1 for _ in sizes), *a.shape[at:]))

        return self.transform((*self.shape[:at], *sizes, *self.shape[at:]), change)

    def concatenate(self, at: int, other: View) -> View:
        """Concatenate two views that have the same shape in the other dimensions."""
        first, second = self.shape[at], other.shape[at]
        sources = (
            *(_extend(each, at, first, 0, second) for each in self.sources),
            *(_extend(each, at, second, first, 0) for each in other.sources),
        )
        choices = (self.choice, other.choice + len(self.sources))
        shape = np.broadcast_shapes(*(each.shape[:at] + each.shape[at + 1 :] for each in choices))
        parts = [
            np.broadcast_to(each, (*shape[:at], size, *shape[at:]))
            for each, size in zip(choices, (first, second), strict=True)
        ]
        result = (*self.shape[:at], first + second, *self.shape[at + 1 :])
        return View(result, sources, np.concatenate(parts, axis=at))


def _extend(source: Source, at: int, length: int, before: int, after: int) -> Source:
    """Add indices, which are not used, before and after those of a source."""

    def change(a: Indices) -> Indices:
        if a.shape[at] == 1:
            return a
        if not length:
            return np.zeros((*a.shape[:at], before + after, *a.shape[at + 1 :]), np.intp)
        widths = [(0, 0)] * a.ndim
        widths[at] = (before, after)
        return np.pad(a, widths, "edge")

    return replace(source, indices=tuple(map(change, source.indices)))


def whole(buffer: Buffer) -> View:
    """View all elements of a buffer, with its tasks as the first dimensions."""
    shape = (*(axis.size for axis in buffer.axes), *buffer.shape)
    indices = [
        np.arange(size, dtype=np.intp).reshape([-1 if k == at else 1 for k in range(len(shape))])
        for at, size in enumerate(shape)
    ]
    return View(shape, (Source(buffer, tuple(indices)),), np.zeros([1] * len(shape), np.intp))


@dataclass(frozen=True, eq=False)
class Selection:
    """Elements of a buffer, in the order and shape in which they are sent."""

    index: tuple[Any, ...]
    """The NumPy index of the elements: integers and slices, or arrays that broadcast."""
    order: tuple[int, ...] | None
    """The order of the dimensions that slices select; None for arrays."""
    shape: tuple[int, ...]
    """The shape, which broadcasts to that of the part of the view."""

    def read(self, data: Any) -> Any:
        """Return the elements; without a copy if the index consists of slices."""
        part = np.asarray(data[self.index])
        return (part if self.order is None else part.transpose(self.order)).reshape(self.shape)

    @cached_property
    def key(self) -> object:
        """Equal for the same elements in the same order."""
        index = tuple(
            each.tobytes() if isinstance(each, np.ndarray) else str(each) for each in self.index
        )
        return index, self.order, self.shape


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a view that is in the buffer of one task: where it goes, and where it is."""

    buffer: Buffer
    task: Task
    target: tuple[Any, ...]
    """The NumPy index of the part in the view."""
    selection: Selection


def parts(view: View) -> Iterator[Part]:
    """Split a view into parts of buffers, in order."""
    if 0 in view.shape:
        return
    keys = [view.choice]
    for source in view.sources:
        count = len(source.buffer.axes)
        keys += source.indices[:count]
        keys += [runs for each in source.indices[count:] if (runs := _runs(each)) is not None]
    for target in _uniform_blocks(view.shape, keys):
        block = [_take(view.choice, target)]
        source = view.sources[int(block[0].flat[0])]
        indices = [_take(each, target) for each in source.indices]
        count = len(source.buffer.axes)
        task = tuple(int(each.flat[0]) for each in indices[:count])
        selection = _select(indices[count:], len(view.shape))
        yield Part(source.buffer, task, _as_slices(target), selection)


MAX_RUNS = 8
"""The number of runs of consecutive positions into which a dimension is split; an array with more
runs, such as every second element, is read at once."""


def _runs(positions: Indices) -> Indices | None:
    """Number the runs of consecutive positions, if they are few: padding begins a run."""
    if positions.size == 0 or max(positions.shape, default=1) != positions.size:
        return None
    numbers = np.cumsum(np.diff(positions.reshape(-1), prepend=positions.reshape(-1)[:1] - 1) != 1)
    return numbers.reshape(positions.shape) if numbers[-1] < MAX_RUNS else None


def _uniform_blocks(
    shape: tuple[int, ...], keys: Sequence[Indices]
) -> Iterator[tuple[Indices, ...]]:
    """Split a shape into blocks in which all keys are constant.

    Each dimension is split where a slice differs: equal slices are together."""
    groups = [
        _equal_slices(size, [np.moveaxis(key, at, 0) for key in keys if key.shape[at] != 1])
        for at, size in enumerate(shape)
    ]

    def combine(at: int, chosen: tuple[Indices, ...]) -> Iterator[tuple[Indices, ...]]:
        if at == len(groups):
            yield chosen
            return
        for group in groups[at]:
            yield from combine(at + 1, (*chosen, group))

    return combine(0, ())


def _equal_slices(size: int, keys: Sequence[Indices]) -> list[Indices]:
    """Group the positions of a dimension, the first one, at which all keys have equal slices."""
    if not keys:
        return [np.arange(size, dtype=np.intp)]
    slices = [key.reshape(size, -1) for key in keys]
    is_first = np.zeros(size, bool)
    is_first[0] = True
    for each in slices:
        is_first[1:] |= np.any(each[1:] != each[:-1], axis=1)
    starts = np.flatnonzero(is_first)
    ends = np.append(starts[1:], size)
    distinct = np.concatenate([each[starts] for each in slices], axis=1)
    numbers = np.unique(distinct, axis=0, return_inverse=True)[1].reshape(-1)
    runs: list[list[Indices]] = [[] for _ in range(numbers.max() + 1)]
    for start, end, number in zip(starts, ends, numbers, strict=True):
        runs[number].append(np.arange(start, end, dtype=np.intp))
    return [np.concatenate(each) for each in runs]


def _take(indices: Indices, target: Sequence[Indices]) -> Indices:
    for at, positions in enumerate(target):
        if indices.shape[at] != 1:
            indices = np.take(indices, positions, axis=at)
    return indices


def _select(indices: Sequence[Indices], dimensions: int) -> Selection:
    """Return the selection of the elements at indices, which broadcast to this many dimensions."""
    shape = np.broadcast_shapes(*(each.shape for each in indices), (1,) * dimensions)
    selected: list[int | slice] = []
    order: list[int] = []
    for each in indices:
        varying = [at for at, size in enumerate(each.shape) if size != 1]
        positions = each.reshape(-1)
        if not varying:
            selected.append(int(positions[0]))
            continue
        steps = np.diff(positions)
        if len(varying) > 1 or varying[0] in order or steps[0] <= 0 or np.ptp(steps):
            return Selection(tuple(indices), None, shape)
        order += varying
        selected.append(slice(int(positions[0]), int(positions[-1]) + 1, int(steps[0])))
    ordered = sorted(range(len(order)), key=lambda number: order[number])
    return Selection(tuple(selected), tuple(ordered), shape)


def _as_slices(target: Sequence[Indices]) -> tuple[Any, ...]:
    """Return an index that assigns to positions in each dimension, as slices where possible."""
    if all(len(each) == 1 or np.all(np.diff(each) == 1) for each in target):
        return tuple(slice(int(each[0]), int(each[-1]) + 1) for each in target)
    return np.ix_(*target)
