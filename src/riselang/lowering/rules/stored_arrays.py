"""Which arrays that are only read are stored in buffers, instead of computed where they are read.

The first lowering of a program records the arrays that are computed where they are read. If some
of them are computed too often, the program is lowered again, and these arrays are stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.types import RiseType
from riselang.lowering.functional_values import Closure, Delayed, Lazy
from riselang.lowering.loop_emitter import LoopKind
from riselang.lowering.recomputation import (
    ElementsOp,
    Recomputed,
    recomputed_arrays,
)
from riselang.lowering.stored_values import data_type, is_in_memory
from riselang.lowering.translation import Translation
from riselang.term.nodes import Pattern, Term
from riselang.term.view_inverses import is_view

MIN_PARALLEL_WORK = 1 << 18
"""The minimum work for which storing an array in parallel is worth the overhead of threads."""


@dataclass(frozen=True)
class ArrayKey:
    """Identifies an array in all lowerings of a program."""

    pattern: Pattern
    arguments: tuple[Term | RiseType | None, ...]


def array_key(pattern: Pattern, arguments: Sequence[Lazy]) -> ArrayKey:
    return ArrayKey(pattern, tuple(map(_argument_key, arguments)))


def _argument_key(argument: Lazy) -> Term | RiseType | None:
    match argument:
        case Delayed():
            return argument.term
        case Closure():
            return argument.function
        case SSAValue():
            return data_type(argument)
        case _:
            return None


def is_computed(lazy: Lazy) -> bool:
    return isinstance(lazy, Delayed) and not is_view(lazy.term)


def access_path(value: SSAValue) -> tuple[SSAValue, tuple[SSAValue | int, ...]]:
    """Return the value that a value is part of, and the path to it.

    The path has indices, and 0 or 1 for the components of pairs.
    """
    path: tuple[SSAValue | int, ...] = ()
    while True:
        op = value.owner
        if isinstance(op, codegen.IdxOp):
            value, path = op.array, (op.index, *path)
        elif isinstance(op, (codegen.FstOp, codegen.SndOp)):
            value, path = op.source, (int(isinstance(op, codegen.SndOp)), *path)
        elif isinstance(op, codegen.TupleOp) and path:
            value, path = (op.second if path[0] == 1 else op.first), path[1:]
        elif isinstance(op, codegen.ZipOp) and len(path) > 1:
            value, path = (op.second if path[1] == 1 else op.first), (path[0], *path[2:])
        else:
            return value, path


class StoredArrays(Translation):
    """Records the arrays that are computed where they are read, and which of them are stored."""

    stored_arrays: Mapping[ArrayKey, LoopKind]
    """The arrays that are stored, and the kind of the loop that computes each."""
    recorded_arrays: dict[Operation, ArrayKey]
    """The arrays that are computed where they are read."""

    def record_array(self, op: ElementsOp, key: ArrayKey) -> None:
        """Record an array, unless it only rearranges what is in memory: a copy would not pay."""
        if not is_in_memory(op.result):
            self.recorded_arrays[op] = key

    def arrays_to_store(self, ops: Sequence[Operation]) -> dict[ArrayKey, LoopKind]:
        """Return the arrays that are computed too often by `ops`, which are the program."""
        if not self.recorded_arrays:
            return {}
        recomputed = recomputed_arrays(ops, self.recorded_arrays)
        if self.for_gpu:
            # Threads have little memory, so only arrays outside of kernels are stored.
            recomputed = [each for each in recomputed if each.op.parent is ops[0].parent]
        return {self.recorded_arrays[each.op]: self.loop_kind_for(each) for each in recomputed}

    def loop_kind_for(self, array: Recomputed) -> LoopKind:
        is_parallel = array.in_parallel and array.work >= MIN_PARALLEL_WORK
        return LoopKind.PARALLEL if is_parallel else self.unordered_kind

    def store_unless_stored(self, lazy: Lazy, target: SSAValue) -> None:
        """Store a value, unless it is in its target already."""
        if not self.is_stored_at(lazy, target):
            self.store(lazy, target)

    def is_stored_at(self, lazy: Lazy, target: SSAValue) -> bool:
        """Whether a value is already stored in its target."""
        if is_computed(lazy):
            return False
        return access_path(self.read_data(lazy)) == access_path(target)
