"""Phase 2, the way of a path: one step from a value to what it is made of (seed 000, figure 8)."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Operation, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.codegen_views import ShiftedPadOp
from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.types import (
    ArrayType,
    IdxType,
    RiseType,
    ScalarType,
    VectorType,
    components,
    kept,
    parts_of,
)
from riselang.errors import InternalError
from riselang.lowering.lane_access import LaneAccess
from riselang.lowering.memory import Path, Side, array_of, index_at, inner_length
from riselang.nat import Nat, nat_max, nat_min

PaddedOp: TypeAlias = ShiftedPadOp | codegen.PadConstOp
"""The pads: each has its array somewhere in the middle."""


SHOWN = (
    codegen.FstOp, codegen.SndOp, codegen.TupleOp, codegen.ZipOp, codegen.UnzipOp,
    codegen.TransposeOp, codegen.SplitOp, codegen.JoinOp, codegen.SlideOp, codegen.ReverseOp,
    codegen.TakeOp, codegen.DropOp, codegen.AsScalarOp,
)  # fmt: skip
"""Ops that show a part of a value, or all of it in another layout, whatever the index is."""


LED_ELSEWHERE = (
    codegen.GatherOp, codegen.ConcatOp, codegen.PadConstOp, codegen.ElementsOp, codegen.GenerateOp,
    codegen.PrefetchOp,
)  # fmt: skip
"""Ops where what a path leads to depends on its index, or more is done than to follow it."""


class PathSteps(LaneAccess):
    """What each op does to a path that goes through it, to read or to write."""

    def __init__(self) -> None:
        super().__init__()
        self.guards: list[Nat] = []
        """What must not be negative where the path of a store ends, or nothing is stored."""

    def seen_through(self, op: codegen.MapReadOp, path: Path) -> tuple[SSAValue, Path] | None:
        """The way through a map whose function only shows its element: a part, another layout."""
        block, inner = op.body.block, path[1:]
        last = block.last_op
        assert isinstance(last, ReturnOp)
        value: SSAValue = last.values[0]
        while value is not block.args[0]:
            shown = value.owner
            if not isinstance(shown, SHOWN) or shown.parent is not block:
                return None
            value, inner = self.step(shown, inner)
        return op.source, (path[0], *inner)

    def step(self, op: Operation, path: Path) -> tuple[SSAValue, Path]:
        """One step of figure 8 of seed 000."""
        match op:
            case codegen.IdxOp():
                return op.array, (self.index(op), *path)
            case codegen.FstOp():
                return op.source, (Side.FIRST, *path)
            case codegen.SndOp():
                return op.source, (Side.SECOND, *path)
            case codegen.TupleOp():
                return (op.first if path[0] is Side.FIRST else op.second), path[1:]
            case codegen.ZipOp():
                chosen = op.first if path[1] is Side.FIRST else op.second
                return chosen, (path[0], *path[2:])
            case codegen.ListOp():
                return op.elements[index_at(path[0]).constant], path[1:]
            case codegen.ZipAccOp():
                return op.target, (path[0], Side(op.POSITION), *path[1:])
            case codegen.UnzipOp():
                return op.source, (path[1], path[0], *path[2:])
            case codegen.UnzipAccOp():
                return op.source, (path[1], path[0], *path[2:])
            case codegen.TransposeOp() | codegen.TransposeAccOp():
                return op.source, (path[1], path[0], *path[2:])
            case codegen.SplitOp():
                return op.source, (_joined(path, inner_length(op.result)), *path[2:])
            case codegen.JoinAccOp():
                return op.source, (_joined(path, inner_length(op.result)), *path[2:])
            case codegen.JoinOp() | codegen.SplitAccOp():
                # In an empty array there is nothing to read, so any index will do.
                length = nat_max(inner_length(op.source), Nat.const(1))
                return op.source, (
                    index_at(path[0]) // length,
                    index_at(path[0]) % length,
                    *path[1:],
                )
            case codegen.AsVectorOp() | codegen.AsScalarAccOp():
                return op.source, (_joined(path, _lanes_of(op.result)), *path[2:])
            case codegen.AsScalarOp() | codegen.AsVectorAccOp():
                lanes = _lanes_of(op.source)
                index = index_at(path[0])
                return op.source, (index // lanes, index % lanes, *path[1:])
            case codegen.SlideOp():
                start = index_at(path[0]) * op.step.data
                return op.source, (start + index_at(path[1]), *path[2:])
            case codegen.ReverseOp() | codegen.ReverseAccOp():
                return op.source, (array_of(op.source).length - 1 - index_at(path[0]), *path[1:])
            case codegen.SliceAtOp():
                starts = array_of(op.source).length - array_of(op.result).length + 1
                start = self.known_index(op.index, starts)
                return op.source, (start + index_at(path[0]), *path[1:])
            case codegen.TakeOp() | codegen.PrefetchOp():
                return op.source, path
            case codegen.TakeAccOp():
                self.guards.append(array_of(op.source).length - 1 - index_at(path[0]))
                return op.source, path
            case codegen.DropOp():
                dropped = array_of(op.source).length - array_of(op.result).length
                return op.source, (index_at(path[0]) + dropped, *path[1:])
            case codegen.MapAccOp():
                return op.source, (path[0], *self.in_element(op, path[1:]))
            case ShiftedPadOp():
                length = array_of(op.source).length
                return op.source, (_padded_index(op, index_at(path[0]), length), *path[1:])
            case _:
                raise InternalError(f"{op.name} is no step of an access path")

    def in_element(self, op: codegen.MapAccOp, path: Path) -> Path:
        """Where a map of views has what stands at a path in one of the elements before it."""
        last = op.body.block.last_op
        assert isinstance(last, ReturnOp)
        value = last.values[0]
        while value is not op.body.block.args[0]:
            assert isinstance(value.owner, Operation)
            value, path = self.step(value.owner, path)
        return path

    def index(self, op: codegen.IdxOp) -> Nat:
        """The index as an expression; by its type it is below the length of the array."""
        return self.known_index(op.index, array_of(op.array).length)


def is_nowhere(type: RiseType, path: Path) -> bool:
    """Whether the path leads into an empty array.

    Loops over it do not run, but an index into it that a check has refused gets here.
    """
    if not kept(type, "_has_empty_array", _has_empty_array):
        return False
    for part in path:
        if isinstance(part, Side):
            type = components(type)[part.value]
        else:
            assert isinstance(type, ArrayType | VectorType)
            if type.length == Nat.const(0):
                return True
            type = type.element
    return False


def _has_empty_array(type: RiseType) -> bool:
    """Whether an array in a type is known to have no elements."""
    if isinstance(type, ArrayType | VectorType) and type.length == Nat.const(0):
        return True
    return any(kept(part, "_has_empty_array", _has_empty_array) for part in parts_of(type))


def leaf_type(type: RiseType, path: Path) -> Attribute:
    """The plain type of the scalar at the end of a path."""
    for part in path:
        if isinstance(part, Side):
            type = components(type)[part.value]
        else:
            assert isinstance(type, ArrayType | VectorType)
            type = type.element
    return IndexType() if isinstance(type, IdxType) else _scalar(type).element


def _scalar(type: RiseType) -> ScalarType:
    assert isinstance(type, ScalarType)
    return type


def _padded_index(op: ShiftedPadOp, index: Nat, length: Nat) -> Nat:
    """Where in an array of `length` elements a padded array has its element `index`."""
    if isinstance(op, codegen.PadWrapOp):
        # The left pad is at most the length, so adding the length once makes it positive.
        return (index - op.left.data + length) % nat_max(length, Nat.const(1))
    inside, last = index - op.left.data, length - 1
    if isinstance(op, codegen.PadReflectOp):
        distance = nat_max(inside, -inside)
        return nat_min(distance, last * 2 - distance)
    return nat_max(nat_min(inside, last), Nat.const(0))


def is_plain_step(op: Operation) -> bool:
    """Whether following an op only changes the path."""
    return not isinstance(op, LED_ELSEWHERE)


def _lanes_of(array: SSAValue) -> Nat:
    vector = array_of(array).element
    assert isinstance(vector, VectorType)
    return vector.length


def _joined(path: Path, length: Nat) -> Nat:
    return index_at(path[0]) * length + index_at(path[1])
