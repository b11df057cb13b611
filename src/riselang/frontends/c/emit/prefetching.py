"""Prefetching of elements that each iteration of an innermost loop finds in another row.

The hardware prefetcher detects contiguous accesses, but not accesses to a different row in each
iteration, which then wait for memory. This is harmless if iterations are short, since the CPU
overlaps several of them, but not if an iteration executes many statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from riselang.dialects.memref import PrefetchOp
from riselang.frontends.c.emit.registers import Element
from riselang.frontends.c.emit.values import Emitter, substituted
from riselang.frontends.c.emit.vectors import Instance, step_of
from riselang.frontends.c.model.linear import Linear

AHEAD = 8
"""The prefetch distance in iterations."""
LONG = 4
"""The number of statements from which an iteration counts as long."""


def ask_ahead(out: Emitter, instances: Sequence[Instance], loop: str, step: int) -> None:
    """Prefetch the elements that a later iteration of a loop accesses far from the others."""
    if len(instances) < LONG:
        return
    later = {loop: Linear.of(loop) + Linear(AHEAD * step)}
    for variable, indices in _far(instances, loop):
        places = [out.indices.value(substituted(index, later)) for index in indices]
        out.insert(PrefetchOp(out.memory[variable], places))


def _far(instances: Sequence[Instance], loop: str) -> Iterator[Element]:
    """Yield the elements that move to other rows; of those in one row, the first and the last."""
    rows: dict[object, list[tuple[int, Element]]] = {}
    for instance in instances:
        for access in instance.statement.subscripts:
            indices = instance.indices(access)
            if not indices or step_of(instance, access, loop) is not None:
                continue
            *outer, last = indices
            row = (access.variable, *outer, last - Linear(last.constant))
            rows.setdefault(row, []).append((last.constant, (access.variable, tuple(indices))))
    for found in rows.values():
        found.sort(key=lambda each: each[0])
        yield from {element: None for _, element in (found[0], found[-1])}
