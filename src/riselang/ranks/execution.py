"""Carries out a plan: sends the parts of operands to the ranks that need them, and runs kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from riselang.ranks.mesh import Axis, Mesh, Task, owners, tasks
from riselang.ranks.plan import Plan, Step
from riselang.ranks.transport import Transport
from riselang.ranks.views import Buffer, Part, View, as_slices, parts, read_part

Array = np.ndarray[Any, Any]
Kernel = Callable[[Sequence[Array]], Sequence[Array]]


@dataclass(frozen=True, eq=False)
class Transfer:
    """A part of an operand that a rank reads from a buffer of itself or of another rank."""

    source: int
    target: int
    part: Part
    operand: tuple[Task, int]
    shape: tuple[int, ...]
    """The shape in which the part is sent; it broadcasts to the part of the operand."""

    @property
    def bytes(self) -> int:
        return int(np.prod(self.shape)) * self.part.buffer.dtype.itemsize


@dataclass
class Exchange:
    """All transfers of a step, in an order on which all ranks agree."""

    mesh: Mesh
    axes: tuple[Axis, ...]
    views: Sequence[View]
    targets: Sequence[int] | None = None
    """The ranks that get the views; by default, the owners of each task."""
    transfers: list[Transfer] = field(default_factory=list[Transfer])
    instances: list[tuple[Task, int, int]] = field(default_factory=list[tuple[Task, int, int]])
    """Each operand of each task on each rank."""

    def __post_init__(self) -> None:
        for task in tasks(self.axes):
            ranks = owners(self.mesh, self.axes, task) if self.targets is None else self.targets
            for number, view in enumerate(self.views):
                for index in task:
                    view = view.select(0, index)
                pieces = list(parts(view))
                for rank in ranks:
                    self.instances.append((task, number, rank))
                    for piece in pieces:
                        source = self._source(piece, rank)
                        rank_count = len(piece.target)
                        shape = np.broadcast_shapes(
                            *(each.shape for each in piece.indices), (1,) * rank_count
                        )
                        self.transfers.append(Transfer(source, rank, piece, (task, number), shape))

    def _source(self, part: Part, rank: int) -> int:
        if part.buffer.constant is not None:
            return rank
        having = owners(self.mesh, part.buffer.axes, part.task)
        return rank if rank in having else having[rank % len(having)]


class Execution:
    """A plan with the communicator that carries it out."""

    def __init__(self, plan: Plan, transport: Transport, compile: Callable[[Step], Kernel]):
        self.plan = plan
        self.transport = transport
        self.kernels = [None if each.kernel is None else compile(each) for each in plan.steps]
        self.exchanges = [Exchange(plan.mesh, each.axes, each.operands) for each in plan.steps]
        self.freed = plan.buffers_to_free()

    def run(self, inputs: Sequence[Array], receivers: Sequence[int]) -> dict[int, list[Array]]:
        """Return the results on each of the ranks in this process that receives them."""
        buffers: dict[tuple[Buffer, Task, int], Array] = {}
        for rank in self.transport.local_ranks:
            for buffer, array in zip(self.plan.inputs, inputs, strict=True):
                buffers[buffer, (), rank] = array
        work = zip(self.plan.steps, self.exchanges, self.kernels, self.freed, strict=True)
        for step, exchange, kernel, freed in work:
            operands = self._gather(exchange, buffers)
            for task in tasks(step.axes):
                for rank in owners(self.plan.mesh, step.axes, task):
                    if rank in self.transport.local_ranks:
                        values = [
                            operands.pop((task, number, rank))
                            for number in range(len(step.operands))
                        ]
                        results = values if kernel is None else kernel(values)
                        for buffer, array in zip(step.outputs, results, strict=True):
                            buffers[buffer, task, rank] = np.asarray(array)
            for key in [key for key in buffers if key[0] in freed]:
                del buffers[key]
        exchange = Exchange(self.plan.mesh, (), self.plan.results, receivers)
        found = self._gather(exchange, buffers)
        return {
            rank: [found[(), number, rank] for number in range(len(self.plan.results))]
            for rank in receivers
            if rank in self.transport.local_ranks
        }

    def _gather(
        self, exchange: Exchange, buffers: dict[tuple[Buffer, Task, int], Array]
    ) -> dict[tuple[Task, int, int], Array]:
        """Return the operands of the tasks of the ranks in this process."""
        local = self.transport.local_ranks
        operands: dict[tuple[Task, int, int], Array] = {}

        def read(each: Transfer) -> Any:
            part = each.part
            data = part.buffer.constant
            if data is None:
                data = buffers[part.buffer, part.task, each.source]
            return read_part(data, part.indices, len(part.target))

        def write(each: Transfer, data: Array) -> None:
            task, number = each.operand
            operands[task, number, each.target][as_slices(each.part.target)] = data

        shapes = {
            (task, number): view.shape[len(exchange.axes) :]
            for task, number, _ in exchange.instances
            for view in (exchange.views[number],)
        }
        copies: list[Transfer] = []
        pending: list[tuple[Transfer, Array]] = []
        for each in exchange.transfers:
            is_here, is_for_here = each.source in local, each.target in local
            if is_here and is_for_here:
                copies.append(each)
            elif is_here:
                self.transport.send(np.ascontiguousarray(read(each)), each.target)
            elif is_for_here:
                buffer = np.empty(each.shape, each.part.buffer.dtype)
                self.transport.receive(buffer, each.source)
                pending.append((each, buffer))
        whole: set[tuple[Task, int, int]] = set()
        for each in copies:
            task, number = each.operand
            data = read(each)
            if data.shape == shapes[task, number]:
                operands[task, number, each.target] = np.ascontiguousarray(data).reshape(data.shape)
                whole.add((task, number, each.target))
        for task, number, rank in exchange.instances:
            if rank in local and (task, number, rank) not in whole:
                view = exchange.views[number]
                operands[task, number, rank] = np.empty(shapes[task, number], view.dtype)
        for each in copies:
            if (*each.operand, each.target) not in whole:
                write(each, read(each))
        self.transport.wait()
        for each, buffer in pending:
            write(each, buffer)
        return operands
