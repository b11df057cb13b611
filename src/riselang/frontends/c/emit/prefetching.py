"""Elements that an innermost loop finds in another row in each iteration, asked for ahead.

Where elements lie together the machine guesses what is next. Where each iteration goes to another
row it does not, and every access waits for memory. That costs nothing where iterations are short,
since the machine begins several of them at a time, but it does where statements stand side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from riselang.dialects.memref import PrefetchOp
from riselang.frontends.c.emit.registers import Element
from riselang.frontends.c.emit.values import Emitter, substituted
from riselang.frontends.c.emit.vectors import Instance, step_of
from riselang.frontends.c.model.linear import Linear

AHEAD = 8
"""Iterations after which an element is needed."""
LONG = 4
"""Statements side by side from which on an iteration is long."""


def ask_ahead(out: Emitter, instances: Sequence[Instance], loop: str, step: int) -> None:
    """Prefetches what a later iteration of a loop accesses far from the others."""
    if len(instances) < LONG:
        return
    later = {loop: Linear.of(loop) + Linear(AHEAD * step)}
    for variable, indices in _far(instances, loop):
        places = [out.indices.value(substituted(index, later)) for index in indices]
        out.insert(PrefetchOp(out.memory[variable], places))


def _far(instances: Sequence[Instance], loop: str) -> Iterator[Element]:
    """Elements that move to other rows; of those that lie in one row, the first and the last."""
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
