"""Carries out a plan: sends the parts of operands to the ranks that need them, and runs kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import prod
from typing import Any

import numpy as np

from riselang.ranks.mesh import Axis, Mesh, Task, owners, tasks
from riselang.ranks.plan import Plan, Step
from riselang.ranks.transport import Transport
from riselang.ranks.views import Buffer, Part, View, parts

Array = np.ndarray[Any, Any]
Kernel = Callable[[Sequence[Array]], Sequence[Array]]


@dataclass(frozen=True, eq=False)
class Transfer:
    """A part of an operand that a rank reads from a buffer of itself or of another rank."""

    owner: int
    target: int
    part: Part
    operand: tuple[Task, int]
    source: int
    """The rank that sends the part: the owner, or a rank that has received it before."""
    hop: int = 0
    """The number of ranks that have passed on the part before."""

    @property
    def content(self) -> object:
        """What is sent; equal for transfers of the same elements."""
        return self.owner, self.part.buffer, self.part.task, self.part.selection.key

    @property
    def bytes(self) -> int:
        return prod(self.part.selection.shape) * self.part.buffer.dtype.itemsize


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
                        owner = self._owner(piece, rank)
                        operand = (task, number)
                        self.transfers.append(Transfer(owner, rank, piece, operand, owner))
        self._relay()

    def _relay(self) -> None:
        """Send a part that several ranks need along a binomial tree.

        In each hop, all ranks that have the part send it to one other rank."""
        receivers: dict[object, list[int]] = {}
        for number, each in enumerate(self.transfers):
            if each.owner == each.target:
                continue
            ranks = receivers.setdefault(each.content, [each.owner])
            if each.target not in ranks:
                ranks.append(each.target)
            position = ranks.index(each.target)
            hop = position.bit_length() - 1
            source = ranks[position - (1 << hop)]
            self.transfers[number] = replace(each, source=source, hop=hop)
        self.transfers.sort(key=lambda each: each.hop)

    def _owner(self, part: Part, rank: int) -> int:
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
        self._spare: dict[tuple[tuple[int, ...], np.dtype[Any]], list[Array]] = {}
        self._allocated: dict[int, Array] = {}
        """The arrays of operands, by their identity."""
        self._result_exchanges: dict[tuple[int, ...], Exchange] = {}

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
                        if kernel is not None:
                            self._recycle(values)
                        for buffer, array in zip(step.outputs, results, strict=True):
                            buffers[buffer, task, rank] = np.asarray(array)
            for key in [key for key in buffers if key[0] in freed]:
                del buffers[key]
        found = self._gather(self._result_exchange(tuple(receivers)), buffers)
        self._allocated.clear()
        return {
            rank: [found[(), number, rank] for number in range(len(self.plan.results))]
            for rank in receivers
            if rank in self.transport.local_ranks
        }

    def _allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Return an array for an operand: memory that is in use already needs no page faults."""
        spare = self._spare.get((shape, dtype))
        array = spare.pop() if spare else np.empty(shape, dtype)
        self._allocated[id(array)] = array
        return array

    def _recycle(self, operands: Sequence[Array]) -> None:
        """Use arrays of operands again, after a kernel has read them."""
        for each in operands:
            if self._allocated.pop(id(each), None) is not None:
                self._spare.setdefault((each.shape, each.dtype), []).append(each)

    def _result_exchange(self, receivers: tuple[int, ...]) -> Exchange:
        if receivers not in self._result_exchanges:
            exchange = Exchange(self.plan.mesh, (), self.plan.results, receivers)
            self._result_exchanges[receivers] = exchange
        return self._result_exchanges[receivers]

    def _gather(
        self, exchange: Exchange, buffers: dict[tuple[Buffer, Task, int], Array]
    ) -> dict[tuple[Task, int, int], Array]:
        """Return the operands of the tasks of the ranks in this process."""
        local = self.transport.local_ranks
        operands: dict[tuple[Task, int, int], Array] = {}

        received: dict[object, Array] = {}

        def read(each: Transfer) -> Any:
            part = each.part
            data = part.buffer.constant
            if data is None:
                data = buffers.get((part.buffer, part.task, each.owner))
            if data is None:
                return received[each.content]
            return part.selection.read(data)

        def write(each: Transfer, data: Array) -> None:
            task, number = each.operand
            operands[task, number, each.target][each.part.target] = data

        shapes = {
            (task, number): exchange.views[number].shape[len(exchange.axes) :]
            for task, number, _ in exchange.instances
        }
        copies: list[Transfer] = []
        pending: list[tuple[Transfer, Array]] = []
        for _, transfers in groupby(exchange.transfers, lambda each: each.hop):
            for each in transfers:
                is_here, is_for_here = each.source in local, each.target in local
                if is_here and is_for_here:
                    copies.append(each)
                elif is_here:
                    self.transport.send(np.ascontiguousarray(read(each)), each.target)
                elif is_for_here:
                    buffer = np.empty(each.part.selection.shape, each.part.buffer.dtype)
                    self.transport.receive(buffer, each.source)
                    received[each.content] = buffer
                    pending.append((each, buffer))
            self.transport.wait()
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
                operands[task, number, rank] = self._allocate(shapes[task, number], view.dtype)
        for each in copies:
            if (*each.operand, each.target) not in whole:
                write(each, read(each))
        for each, buffer in pending:
            write(each, buffer)
        return operands
