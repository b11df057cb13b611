"""Phase 2, products of tiles: the parts of buffers that are their operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType
from xdsl.ir import Operation, SSAValue

from riselang.dialects.module import location_of
from riselang.dialects.rise import codegen
from riselang.dialects.rise.interface_ops import EmbedOp
from riselang.dialects.tile import AttentionOp, ProductOp
from riselang.lowering.buffer_access import Path, array_type_of
from riselang.lowering.path_steps import PassedPadding
from riselang.nat import Nat, simplify
from riselang.nat.facts import Facts
from riselang.support.errors import LimitationError

ROW, DEPTH = "$row", "$depth"
"""The names of the indices into an operand."""


ALIGNMENT = 8
"""The number of elements of which the first index of an operand must be a multiple, since 16 bytes
are copied at a time."""


class Resolver(Protocol):
    """What phase 2 knows about paths and buffers."""

    bounds: dict[str, Nat | None]

    def follow_direct(
        self, value: SSAValue, path: Path, passed: PassedPadding | None = None
    ) -> tuple[codegen.CastOp, Path] | None: ...
    def address(self, op: codegen.CastOp, path: Path) -> tuple[SSAValue, list[Nat]]: ...
    def facts(self, *expressions: Nat) -> Facts: ...
    def emit_indices(self, indices: Sequence[Nat], builder: Builder) -> list[SSAValue]: ...


def resolve_tile_product(op: codegen.TensorMmaOp, resolver: Resolver, builder: Builder) -> None:
    """Add the product of tiles that an op stands for."""
    step = op.size_values[0]
    fragment = _operand(op, op.target, (ROW,), resolver, builder)
    rows = _operand(op, op.rows, (ROW, DEPTH), resolver, builder, step)
    columns = _operand(op, op.columns, (ROW, DEPTH), resolver, builder, step)
    dimensions = [number for each in (rows, columns) for number in (*each.dimensions, *each.ends)]
    dimensions.append(int(rows.is_padded or columns.is_padded))
    target, first, second = ((each.buffer, each.first) for each in (fragment, rows, columns))
    builder.insert(ProductOp(target, first, second, op.init, op.size_values, dimensions))


def resolve_tile_attention(
    op: codegen.TensorAttentionOp, resolver: Resolver, builder: Builder
) -> None:
    """Add the attention of tiles that an op stands for."""
    fragment = _operand(op, op.target, (ROW,), resolver, builder)
    operands = [
        _operand(op, each, (ROW, DEPTH), resolver, builder)
        for each in (op.queries, op.keys, op.values)
    ]
    if any(each.is_padded for each in operands):
        raise _unsupported(op)
    buffers = [(each.buffer, each.first) for each in (fragment, *operands)]
    dimensions = [number for each in operands for number in each.dimensions]
    scalars = (op.scale, op.empty, op.last)
    builder.insert(AttentionOp(buffers, scalars, op.size_values, dimensions))


@dataclass(frozen=True)
class _Operand:
    """A part of a buffer."""

    buffer: SSAValue
    first: list[SSAValue]
    """The indices of its first element."""
    dimensions: list[int]
    """The dimensions of its rows and of their elements."""
    ends: list[int]
    """The ends of these dimensions, after which the copy engine reads zeros."""
    is_padded: bool
    """Whether the part has rows after the end."""


def _operand(
    op: Operation, value: SSAValue, names: Sequence[str], resolver: Resolver, builder: Builder,
    step: int = 1,
) -> _Operand:  # fmt: skip
    """Return the part of a buffer that an operand is, of whose rows `step` elements are read at a
    time."""
    type = array_type_of(value)
    length = type.length
    for name in names:
        length = type.length
        resolver.bounds[name] = length - 1
        element = type.element
        if name != names[-1]:
            assert isinstance(element, type.__class__)
            type = element
    resolver_path: Path = tuple(Nat.var(name) for name in names)
    paddings: list[tuple[Nat, Nat]] = []

    def is_passed(padding: Operation, path: Path) -> bool:
        """Whether a padding adds rows of zeros at the end."""
        if not isinstance(padding, codegen.PadConstOp) or padding.left.data != Nat.const(0):
            return False
        index = path[0]
        assert isinstance(index, Nat)
        paddings.append((index, array_type_of(padding.source).length))
        return _is_zero(padding.value)

    end = resolver.follow_direct(value, resolver_path, is_passed)
    if end is None:
        raise _unsupported(op)
    buffer, indices = resolver.address(*end)
    first = [index.substitute(dict.fromkeys(names, 0)) for index in indices]
    first = [simplify(index, resolver.facts(index)) for index in first]
    dimensions: list[int] = []
    total = list(first)
    for name in names:
        positions = [at for at, index in enumerate(indices) if name in index.variables]
        if len(positions) != 1:
            raise _unsupported(op)
        dimensions += positions
        total[positions[0]] = total[positions[0]] + Nat.var(name)
    if total != indices or len(set(dimensions)) < len(dimensions):
        raise _unsupported(op)
    row, shape = dimensions[0], array_shape(buffer)
    ends = [shape[each] for each in dimensions]
    for index, padded in paddings:
        if simplify(index, resolver.facts(index)) != indices[row]:
            raise _unsupported(op)
        ends[0] = padded
    if length % step != Nat.const(0):
        ends[-1] = first[dimensions[-1]] + length  # the last step reads zeros after it
    if not all(each.is_constant for each in ends):
        raise _unsupported(op)
    unaligned = first[-1] % ALIGNMENT
    if len(names) > 1 and simplify(unaligned, resolver.facts(unaligned)) != Nat.const(0):
        raise _unsupported(op)
    return _Operand(
        buffer, resolver.emit_indices(first, builder), dimensions,
        [each.constant for each in ends], bool(paddings),
    )  # fmt: skip


def array_shape(buffer: SSAValue) -> list[Nat]:
    assert isinstance(buffer.type, MemRefType)
    return [Nat.const(size) for size in buffer.type.get_shape()]


def _is_zero(value: SSAValue) -> bool:
    """Whether all scalars of a value are the constant 0."""
    op = value.owner
    if isinstance(op, codegen.GenerateOp | EmbedOp):
        last = op.regions[0].block.last_op
        return last is not None and len(last.operands) == 1 and _is_zero(last.operands[0])
    if isinstance(op, codegen.CastOp):
        return len(op.sources) == 1 and _is_zero(op.sources[0])
    if not isinstance(op, arith.ConstantOp):
        return False
    constant = op.value
    return isinstance(constant, IntegerAttr | FloatAttr) and constant.value.data == 0


def _unsupported(op: Operation) -> LimitationError:
    name = op.name.rpartition(".")[2]
    return LimitationError(
        f"the operands of {name} must be rows of stored matrices that start at multiples of 16 "
        "bytes; store them first",
        location_of(op),
    )
