"""Phase 2, products of tiles: the parts of buffers that are their operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from riselang.dialects.module import location_of
from riselang.dialects.rise import codegen
from riselang.dialects.tile import ProductOp
from riselang.lowering.buffer_access import Path, array_type_of
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

    def follow_direct(self, value: SSAValue, path: Path) -> tuple[codegen.CastOp, Path] | None: ...
    def address(self, op: codegen.CastOp, path: Path) -> tuple[SSAValue, list[Nat]]: ...
    def facts(self, *expressions: Nat) -> Facts: ...
    def emit_indices(self, indices: Sequence[Nat], builder: Builder) -> list[SSAValue]: ...


def resolve_tile_product(op: codegen.TensorMmaOp, resolver: Resolver, builder: Builder) -> None:
    """Add the product of tiles that an op stands for."""
    fragment, _ = _operand(op, op.target, (ROW,), resolver, builder)
    rows, row_dimensions = _operand(op, op.rows, (ROW, DEPTH), resolver, builder)
    columns, column_dimensions = _operand(op, op.columns, (ROW, DEPTH), resolver, builder)
    builder.insert(
        ProductOp(
            fragment, rows, columns, op.init, op.size_values,
            (*row_dimensions, *column_dimensions),
        )
    )  # fmt: skip


def _operand(
    op: Operation, value: SSAValue, names: Sequence[str], resolver: Resolver, builder: Builder
) -> tuple[tuple[SSAValue, list[SSAValue]], list[int]]:
    """Return the buffer of an operand, its first indices there, and the dimension of each name."""
    type = array_type_of(value)
    for name in names:
        resolver.bounds[name] = type.length - 1
        element = type.element
        if name != names[-1]:
            assert isinstance(element, type.__class__)
            type = element
    resolver_path: Path = tuple(Nat.var(name) for name in names)
    end = resolver.follow_direct(value, resolver_path)
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
    unaligned = first[-1] % ALIGNMENT
    if len(names) > 1 and simplify(unaligned, resolver.facts(unaligned)) != Nat.const(0):
        raise _unsupported(op)
    return (buffer, resolver.emit_indices(first, builder)), dimensions


def _unsupported(op: Operation) -> LimitationError:
    return LimitationError(
        "the operands of tensorMMA must be rows of stored matrices that start at multiples of 16 "
        "bytes; store them first",
        location_of(op),
    )
