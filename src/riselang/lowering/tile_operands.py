"""Phase 2, products of tiles: the parts of buffers that are their operands."""

from __future__ import annotations

from collections.abc import Sequence
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
    fragment, _, _ = _operand(op, op.target, (ROW,), resolver, builder)
    rows, row_dimensions, are_rows_padded = _operand(op, op.rows, (ROW, DEPTH), resolver, builder)
    columns, column_dimensions, are_columns_padded = _operand(
        op, op.columns, (ROW, DEPTH), resolver, builder
    )
    builder.insert(
        ProductOp(
            fragment, rows, columns, op.init, op.size_values,
            (*row_dimensions, *column_dimensions, int(are_rows_padded or are_columns_padded)),
        )
    )  # fmt: skip


def resolve_tile_attention(
    op: codegen.TensorAttentionOp, resolver: Resolver, builder: Builder
) -> None:
    """Add the attention of tiles that an op stands for."""
    fragment, *_ = _operand(op, op.target, (ROW,), resolver, builder)
    operands = [
        _operand(op, each, (ROW, DEPTH), resolver, builder)
        for each in (op.queries, op.keys, op.values)
    ]
    if any(is_padded for *_, is_padded in operands):
        raise _unsupported(op)
    buffers = [fragment, *(buffer for buffer, *_ in operands)]
    dimensions = [each for _, of_operand, _ in operands for each in of_operand]
    scalars = (op.scale, op.empty, op.last)
    builder.insert(AttentionOp(buffers, scalars, op.size_values, dimensions))


def _operand(
    op: Operation, value: SSAValue, names: Sequence[str], resolver: Resolver, builder: Builder
) -> tuple[tuple[SSAValue, list[SSAValue]], list[int], bool]:
    """Return the buffer of an operand, its first indices there, the dimension of each name, and
    whether zeros follow the rows of the buffer."""
    type = array_type_of(value)
    for name in names:
        resolver.bounds[name] = type.length - 1
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
    padded = [(simplify(index, resolver.facts(index)), length) for index, length in paddings]
    if any(each != (indices[row], shape[row]) for each in padded):
        raise _unsupported(op)
    unaligned = first[-1] % ALIGNMENT
    if len(names) > 1 and simplify(unaligned, resolver.facts(unaligned)) != Nat.const(0):
        raise _unsupported(op)
    return (buffer, resolver.emit_indices(first, builder)), dimensions, bool(paddings)


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
