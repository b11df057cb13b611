"""Phase 2: lower access paths to loads and stores.

Section 4.2.2 of the paper "Integrating a Functional Pattern-Based IR into MLIR" describes this
phase. For each scalar that is needed, the chain of views is followed back to a buffer, collecting a
path of indices and tuple positions; at the buffer, the path becomes one load or store. A value that
contains no array is resolved once, right after its definition, so nothing is loaded or computed
twice. To resolve a RISE value is to replace it with *builtin* scalars or vectors, that is, with
values of MLIR types such as `f32`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    MemRefType,
)
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.dialects.module import walk
from riselang.dialects.rise import codegen
from riselang.dialects.rise.interface_ops import EmbedOp
from riselang.dialects.rise.types import (
    RiseType,
    contains_array,
)
from riselang.lowering import defined_arith
from riselang.lowering.buffer_access import (
    Path,
    Side,
    rise_type_of,
)
from riselang.lowering.flat_loads import flatten_loads
from riselang.lowering.lane_access import (
    vector_type_at,
)
from riselang.lowering.lane_reads import LaneReads
from riselang.lowering.origins import builder_at
from riselang.lowering.runtime_checks import is_failure_report
from riselang.lowering.tile_operands import resolve_tile_attention, resolve_tile_product


def resolve_accesses(
    function: Operation, helpers: defined_arith.Helpers, *, flattens: bool = False
) -> None:
    """Add loads and stores for every access path in `function`; the path ops are then unused.

    Functions that the new code calls are added to `helpers`. With `flattens`, inputs may have views
    of one dimension.
    """
    resolver = _Resolver(helpers)
    for op in walk(function):
        resolver.can_fail |= is_failure_report(op)
        if isinstance(op, codegen.SizeOp):
            resolver.declare_size(op)
            op.result.replace_all_uses_with(op.value)
    for region in function.regions:
        for block in region.blocks:
            resolver.process(list(block.ops))
    resolver.emit_guarded_stores()
    if flattens:
        flatten_loads(resolver.flat_loads, resolver.affine_map)


def _can_sink_stores_past(op: Operation) -> bool:
    """Whether an op reads no memory, so that pending vector stores may move past it."""
    if isinstance(op, codegen.AssignOp):
        owner = op.value.owner
        return isinstance(owner, codegen.CastOp) and not isinstance(
            owner.sources[0].type, MemRefType
        )
    return isinstance(op, codegen.IdxOp | codegen.CastOp | codegen.ListOp | arith.ConstantOp)


class _Resolver(LaneReads):
    """Resolves the values that ops store, carry or pass to other dialects."""

    def __init__(self, helpers: defined_arith.Helpers) -> None:
        super().__init__(helpers)
        self.resolved_values: dict[tuple[SSAValue, Path], SSAValue] = {}
        self.builders: dict[Operation, Builder] = {}

    def process(self, ops: Sequence[Operation]) -> None:
        """Resolve what these ops store or pass to other dialects; views are resolved where read."""
        for op in ops:
            if self.pending_columns and not _can_sink_stores_past(op):
                self.store_columns()
            if isinstance(op, codegen.ElementsOp | codegen.GenerateOp):
                continue
            if isinstance(op, codegen.AssignOp):
                value = self.resolve_value(op.value, ())
                self.store(value, op.target, builder_at(InsertPoint.before(op), op.location))
            elif isinstance(op, codegen.CastOp) and not isinstance(op.result.type, RiseType):
                if op.sources:
                    op.result.replace_all_uses_with(self.resolve_value(op.sources[0], ()))
            elif isinstance(op, codegen.TensorMmaOp):
                resolve_tile_product(op, self, builder_at(InsertPoint.before(op), op.location))
            elif isinstance(op, codegen.TensorAttentionOp):
                resolve_tile_attention(op, self, builder_at(InsertPoint.before(op), op.location))
            elif not isinstance(op, EmbedOp):
                for region in op.regions:
                    for block in region.blocks:
                        self.process(list(block.ops))
        if self.pending_columns:
            self.store_columns()

    def resolve_value(self, value: SSAValue, path: Path) -> SSAValue:
        """Return the builtin scalar at `path`, which contains only tuple positions, in `value`."""
        while True:
            owner = value.owner
            if isinstance(owner, (codegen.FstOp, codegen.SndOp)):
                if contains_array(rise_type_of(owner.source)):
                    break
                side = Side.FIRST if isinstance(owner, codegen.FstOp) else Side.SECOND
                value, path = owner.source, (side, *path)
            elif isinstance(owner, codegen.TupleOp):
                value = owner.first if path[0] is Side.FIRST else owner.second
                path = path[1:]
            else:
                break
        key = (value, path)
        if key not in self.resolved_values:
            self.resolved_values[key] = self.compute_value(value, path)
        return self.resolved_values[key]

    def compute_value(self, value: SSAValue, path: Path) -> SSAValue:
        owner = value.owner
        assert isinstance(owner, Operation), "a RISE value is never a block argument here"
        if isinstance(owner, EmbedOp):
            return self.inline_embed(owner)
        if isinstance(owner, codegen.CastOp) and not isinstance(owner.sources[0].type, MemRefType):
            return owner.sources[0]
        vector_type = vector_type_at(rise_type_of(value), path)
        if vector_type is not None:
            lane = self.lane_variable(vector_type.length)
            return self.follow_lanes(
                value, (*path, lane), lane, vector_type, self.builder_after(owner), value
            )
        return self.follow(value, path, value, self.builder_after(owner))

    def builder_after(self, op: Operation) -> Builder:
        """Return the one builder that inserts after an op, so that inserted ops stay in order."""
        if op not in self.builders:
            self.builders[op] = builder_at(InsertPoint.after(op), op.location)
        return self.builders[op]
