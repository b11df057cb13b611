"""Phase 2, path steps: from a value to the operands that it is made of.

See Lücke et al., CC 2021, figure 8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.codegen_views import READ_OPS, ShiftedPadOp, ViewOp
from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.interface_ops import EmbedOp
from riselang.dialects.rise.types import (
    ArrayType,
    IdxType,
    RiseType,
    ScalarType,
    VectorType,
    components,
    compute_once,
    parts_of,
)
from riselang.lowering.buffer_access import Path, Side, array_type_of, as_index
from riselang.lowering.lane_access import LaneAccess
from riselang.nat import Nat
from riselang.support.errors import InternalError

PaddedOp: TypeAlias = ShiftedPadOp | codegen.PadConstOp
"""The padding ops: their array has elements added before and after it."""


REARRANGING_OPS = (
    codegen.TupleOp,
    codegen.ZipOp,
    *(op for op in READ_OPS.values() if not op.VIEW.is_pad and op is not codegen.PrefetchOp),
)
"""Ops that give a part of a value, or all of it in another layout, whatever the index is."""
PREFETCHED_OPS = (*REARRANGING_OPS, READ_OPS["pad"])
"""Ops whose elements can be prefetched: padding repeats elements that are prefetched anyway."""


PassedPadding = Callable[[Operation, Path], bool]
"""Whether an op is a padding that a path may be followed through, as if it were its array."""
INDEX_DEPENDENT_OPS = (
    codegen.GatherOp, codegen.ConcatOp, codegen.PadConstOp, codegen.ElementsOp, codegen.GenerateOp,
    codegen.PrefetchOp,
)  # fmt: skip
"""Ops where the operand depends on the index, or which do more than lead to an operand."""


class Body(NamedTuple):
    """The computation of an op, for each element or on scalars."""

    block: Block
    captured_values: Mapping[SSAValue, SSAValue]
    """Replacements of values from outside of a block that belongs to another op."""


class PathSteps(LaneAccess):
    """The effect of each op on an access path through it, for loads and stores."""

    def __init__(self) -> None:
        super().__init__()
        self.guards: list[Nat] = []
        """Conditions of the current store: it happens only if none of these is negative."""
        self.is_nontemporal = False
        """Whether the vector of the current store is not to be kept in a cache."""
        self.bodies: dict[Operation, Body] = {}
        """The computations of ops that were copied without their regions."""

    def body_of(self, op: EmbedOp | codegen.MapReadOp | codegen.GenerateOp) -> Body:
        body = self.bodies.get(op)
        return Body(op.body.block, {}) if body is None else body

    def look_through_map(
        self,
        op: codegen.MapReadOp,
        path: Path,
        steps: tuple[type, ...] = REARRANGING_OPS,
        passed: PassedPadding | None = None,
    ) -> tuple[SSAValue, Path] | None:
        """Look through a map whose function only selects or rearranges parts of its element.

        The function consists of ops in `steps`, and of paddings that are `passed`. Return the array
        of the map, or a captured value that the function returns, with the path in it; or None.
        """
        found = self._look_through_body(op, path, steps, passed)
        if found is None or found[0] is not self.body_of(op).block.args[0]:
            return found
        return op.source, (path[0], *found[1])

    def look_through_generate(
        self,
        op: codegen.GenerateOp,
        path: Path,
        steps: tuple[type, ...] = REARRANGING_OPS,
        passed: PassedPadding | None = None,
    ) -> tuple[SSAValue, Path] | None:
        """Look through an array whose elements are the same captured value; None otherwise."""
        found = self._look_through_body(op, path, steps, passed)
        is_index = found is not None and found[0] is self.body_of(op).block.args[0]
        return None if is_index else found

    def _look_through_body(
        self,
        op: codegen.MapReadOp | codegen.GenerateOp,
        path: Path,
        steps: tuple[type, ...],
        passed: PassedPadding | None,
    ) -> tuple[SSAValue, Path] | None:
        """Follow the result of a function to its parameter or to a captured value, with the path
        in it."""
        (block, captured_values), inner = self.body_of(op), path[1:]
        last = block.last_op
        assert isinstance(last, ReturnOp)
        value: SSAValue = last.values[0]
        while value is not block.args[0]:
            op_at_result = value.owner
            if isinstance(op_at_result, Block) or op_at_result.parent is not block:
                return captured_values.get(value, value), inner
            if isinstance(op_at_result, codegen.MapReadOp | codegen.GenerateOp):
                source = self.look_through(op_at_result, inner, steps, passed)
                if source is None:
                    return None
                value, inner = source
            elif passed is not None and passed(op_at_result, inner):
                assert isinstance(op_at_result, codegen.PadConstOp)
                value = op_at_result.source
            elif isinstance(op_at_result, steps):
                value, inner = self.follow_op(op_at_result, inner)
            else:
                return None
        return value, inner

    def look_through(
        self,
        op: codegen.MapReadOp | codegen.GenerateOp,
        path: Path,
        steps: tuple[type, ...],
        passed: PassedPadding | None,
    ) -> tuple[SSAValue, Path] | None:
        """Look through a map or a generated array, if its elements are parts of stored arrays."""
        if isinstance(op, codegen.GenerateOp):
            return self.look_through_generate(op, path, steps, passed)
        return self.look_through_map(op, path, steps, passed)

    def follow_op(self, op: Operation, path: Path) -> tuple[SSAValue, Path]:
        """Follow a path through an op, as in figure 8 of Lücke et al., CC 2021."""
        if isinstance(op, ViewOp):
            if op.HEADROOM is not None:
                self.guards.append(op.headroom(path))
            self.is_nontemporal |= isinstance(op, codegen.NontemporalAccOp)
            return op.source, op.map_path(path)
        match op:
            case codegen.IdxOp():
                return op.array, (self.index_expression(op), *path)
            case codegen.TupleOp():
                return (op.first if path[0] is Side.FIRST else op.second), path[1:]
            case codegen.ZipOp():
                component = op.first if path[1] is Side.FIRST else op.second
                return component, (path[0], *path[2:])
            case codegen.ListOp():
                return op.elements[as_index(path[0]).constant], path[1:]
            case codegen.ZipAccOp():
                return op.target, (path[0], Side(op.POSITION), *path[1:])
            case codegen.SliceAtOp():
                starts = array_type_of(op.source).length - array_type_of(op.result).length + 1
                start = self.known_index(op.index, starts)
                return op.source, (start + as_index(path[0]), *path[1:])
            case codegen.MapAccOp():
                return op.source, (path[0], *self.element_path(op, path[1:]))
            case _:
                raise InternalError(f"{op.name} is not a step of an access path")

    def element_path(self, op: codegen.MapAccOp, path: Path) -> Path:
        """Return the path in a target element for a path in an element before the views."""
        last = op.body.block.last_op
        assert isinstance(last, ReturnOp)
        value = last.values[0]
        while value is not op.body.block.args[0]:
            assert isinstance(value.owner, Operation)
            value, path = self.follow_op(value.owner, path)
        return path

    def index_expression(self, op: codegen.IdxOp) -> Nat:
        """Return the index as an expression; its type guarantees that it is in bounds."""
        return self.known_index(op.index, array_type_of(op.array).length)


def is_in_empty_array(type: RiseType, path: Path) -> bool:
    """Whether the path leads into an empty array.

    Loops over it do not run, but an index into it that fails its check is still resolved.
    """
    if not compute_once(type, "_has_empty_array", _has_empty_array):
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
    return any(compute_once(part, "_has_empty_array", _has_empty_array) for part in parts_of(type))


def leaf_type(type: RiseType, path: Path) -> Attribute:
    """Return the builtin type of the scalar at the end of a path."""
    for part in path:
        if isinstance(part, Side):
            type = components(type)[part.value]
        else:
            assert isinstance(type, ArrayType | VectorType)
            type = type.element
    return IndexType() if isinstance(type, IdxType) else _as_scalar_type(type).storage


def _as_scalar_type(type: RiseType) -> ScalarType:
    assert isinstance(type, ScalarType)
    return type


def is_plain_step(op: Operation) -> bool:
    """Whether following an op only changes the path."""
    return not isinstance(op, INDEX_DEPENDENT_OPS)
