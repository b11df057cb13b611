"""`rl.distribute`: run a program on the ranks of an MPI communicator, or on emulated ranks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from riselang.api.compiled import group_buffers
from riselang.api.complex_arrays import view_inputs, view_results
from riselang.api.jit import jit
from riselang.api.kernel import Kernel
from riselang.api.lowered import Lowered, resolve_strategy
from riselang.dialects.rise.types import leaves, result_types
from riselang.ranks.execution import Array, Execution
from riselang.ranks.mesh import Mesh, read_mesh
from riselang.ranks.plan import Plan, Step
from riselang.ranks.planner import plan_program
from riselang.ranks.transport import Emulation, Messages, Transport, load_mpi
from riselang.rewrite.core import Strategy
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.strategies.ranks import on_ranks
from riselang.support.errors import UserError
from riselang.support.tracebacks import with_short_tracebacks

ALL, ROOT = "all", "root"
STARTED = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
"""Environment variables that mpiexec sets, one of which an implementation of MPI has."""


@with_short_tracebacks
def distribute(
    function: Callable[..., Any],
    *,
    ranks: int | Sequence[int],
    strategy: Strategy | str | None = None,
    results: str = ALL,
    float: str | None = None,
) -> Distributed:
    """Run a function on ranks: `ranks` is their number, or the sizes of the axes of a mesh.

    Every rank calls the function with the same arrays. `strategy` distributes the program; by
    default, the outermost maps and reductions are distributed as far as the float permission
    allows. The ranks are those of `MPI.COMM_WORLD` if the process was started by `mpiexec`. In
    another process, all ranks are emulated, one after the other, with the same results.
    `results="root"` returns the results only on rank 0, and None on the others.
    """
    if results not in (ALL, ROOT):
        raise UserError(f"results must be '{ALL}' or '{ROOT}', but is {results!r}")
    mesh = read_mesh(ranks)
    kernel = function if isinstance(function, Kernel) else jit(function)
    return Distributed(kernel, mesh, resolve_strategy(strategy), results, float)


class Distributed:
    """A function that runs on the ranks of a mesh."""

    def __init__(
        self, kernel: Kernel, mesh: Mesh, strategy: Strategy | None, results: str, float: str | None
    ):
        self.kernel = kernel
        self.mesh = mesh
        self.results = results
        self.strategy = strategy
        self.float = float
        self._executions: dict[Any, tuple[Lowered, Execution]] = {}
        self.__name__ = kernel.__name__

    @with_short_tracebacks
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return the results for these arguments."""
        kernel, arrays = self.kernel.bind_call(arguments, named)
        lowered, execution = self._prepare(kernel, arrays)
        inputs = view_inputs(arrays, lowered.interface.complex_inputs)
        inputs = [_contiguous(each) for each in [*inputs, *lowered.interface.captured]]
        receivers = range(self.mesh.count) if self.results == ALL else (0,)
        found = execution.run(inputs, receivers)
        if not found:
            return None
        leaf_arrays = _unshared(next(iter(found.values())), inputs)
        types = result_types(lowered.source.type, lowered.results)
        groups = tuple(len(list(leaves(type))) for type in types)
        buffers = view_results(leaf_arrays, lowered.interface.complex_results)
        grouped = group_buffers([_result(each) for each in buffers], groups)
        return lowered.interface.unflatten(grouped)

    @with_short_tracebacks
    def lower(self, *arguments: Any, **named: Any) -> Lowered:
        """Return the program that is distributed: print it, or its derivation."""
        return self._distribute(self.kernel.lower(*arguments, **named))

    @with_short_tracebacks
    def plan(self, *arguments: Any, **named: Any) -> Plan:
        """Return what each rank does for these arrays or array types."""
        return plan_program(self.lower(*arguments, **named).term, self.mesh)

    def _distribute(self, lowered: Lowered) -> Lowered:
        options = lowered.options
        if self.float is not None:
            options = replace(options, float=self.float)
        return replace(lowered, strategy=self._strategy, options=options)

    @property
    def _strategy(self) -> Strategy:
        """The strategy that distributes the program: the given one, or that of the function."""
        own = self.kernel.strategy
        given = self.strategy or (None if own is DEFAULT else own)
        return given or on_ranks(*self.mesh.shape)

    def _prepare(self, kernel: Kernel, arrays: Sequence[Array]) -> tuple[Lowered, Execution]:
        key = kernel, *((each.shape, each.dtype) for each in arrays)
        if key not in self._executions:
            lowered = self._distribute(kernel.lower(*arrays))
            plan = plan_program(lowered.term, self.mesh)
            transport = self._transport()
            execution = Execution(plan, transport, lambda step: _compile(lowered, step))
            self._executions[key] = lowered, execution
        return self._executions[key]

    def _transport(self) -> Transport:
        communicator = world()
        size = 1 if communicator is None else communicator.Get_size()
        if communicator is None or size == 1:
            return Emulation(self.mesh.count)
        if size != self.mesh.count:
            raise UserError(
                f"{self.__name__} is distributed to {self.mesh.count} ranks, but mpiexec started "
                f"{size}; start as many"
            )
        return Messages(communicator)


def world() -> Any:
    """Return the communicator of all processes that mpiexec started; None in another process."""
    is_started = any(name in os.environ for name in STARTED)
    return load_mpi().COMM_WORLD if is_started else None


def _compile(lowered: Lowered, step: Step) -> Callable[[Sequence[Array]], Sequence[Array]]:
    """Compile the kernel of a step like any other program."""
    assert step.kernel is not None
    options = replace(lowered.options, contracted=True)
    kernel = Lowered(f"{lowered.name}_on_rank", step.kernel, 1, options, DEFAULT).compile()

    def run(operands: Sequence[Array]) -> Sequence[Array]:
        result = kernel.run(list(operands))
        return result if isinstance(result, tuple) else (result,)

    return run


def _contiguous(array: Array) -> Array:
    """Return a contiguous array; NumPy makes an array of one dimension of a scalar."""
    return np.ascontiguousarray(array).reshape(array.shape)


def _unshared(results: Sequence[Array], inputs: Sequence[Array]) -> list[Array]:
    """Copy results that are views of inputs or of other results, which callers may change."""
    own: list[Array] = []
    for result in results:
        is_shared = any(np.may_share_memory(result, each) for each in (*inputs, *own))
        own.append(result.copy() if is_shared else result)
    return own


def _result(array: Array) -> Any:
    return array if array.ndim else array[()]
