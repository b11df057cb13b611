"""Prefetching of elements that each iteration of an innermost loop finds in another row.

The hardware prefetcher detects contiguous accesses, but not accesses to a different row in each
iteration, which then wait for memory. This is harmless if iterations are short, since the CPU
overlaps several of them, but not if an iteration executes many statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from riselang.dialects.memref import PrefetchOp
from riselang.frontends.c.emit.expression_emitter import ExpressionEmitter, substitute_names
from riselang.frontends.c.emit.loop_vectorization import StatementInstance, access_stride
from riselang.frontends.c.emit.registers import Element
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.parse.syntax import Access, Assign, Literal

PREFETCH_DISTANCE = 8
"""The prefetch distance in iterations."""
LONG_ITERATION = 4
"""The number of statements, other than those that set a scalar to a value in memory or in a
register, from which an iteration counts as long."""


def prefetch_elements(
    out: ExpressionEmitter, instances: Sequence[StatementInstance], loop: str, step: int
) -> None:
    """Prefetch the elements that a later iteration of a loop accesses far from the others."""
    if sum(not _is_move(each) for each in instances) < LONG_ITERATION:
        return
    later = {loop: Linear.of(loop) + Linear(PREFETCH_DISTANCE * step)}
    for variable, indices in _far_elements(instances, loop):
        later_indices = [
            out.indices.emit_linear(substitute_names(index, later)) for index in indices
        ]
        out.insert(PrefetchOp(out.memory[variable], later_indices))


def _is_move(instance: StatementInstance) -> bool:
    """Whether a statement sets a scalar to a value that is there already."""
    body = instance.statement.body
    return (
        isinstance(body, Assign)
        and not body.target.indices
        and isinstance(body.value, Access | Literal)
    )


def _far_elements(instances: Sequence[StatementInstance], loop: str) -> Iterator[Element]:
    """Yield the elements that move to other rows; of those in one row, the first and the last."""
    rows: dict[object, list[tuple[int, Element]]] = {}
    for instance in instances:
        for access in instance.statement.access_relations:
            indices = instance.indices(access)
            if not indices or access_stride(instance, access, loop) is not None:
                continue
            *outer, last = indices
            row = (access.variable, *outer, last - Linear(last.constant))
            rows.setdefault(row, []).append((last.constant, (access.variable, tuple(indices))))
    for elements in rows.values():
        elements.sort(key=lambda each: each[0])
        yield from {element: None for _, element in (elements[0], elements[-1])}
