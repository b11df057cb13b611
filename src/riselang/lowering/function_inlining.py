"""Phase 2, functions: what embeds, maps and generates compute, where an element of them is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.dialects.constants import INDEX
from riselang.dialects.rise import codegen
from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.interface_ops import EmbedOp
from riselang.lowering import defined_arith
from riselang.lowering.buffer_access import (
    Anchor,
    Path,
)
from riselang.lowering.origins import builder_at
from riselang.lowering.path_steps import (
    Body,
)
from riselang.lowering.stores import Stores
from riselang.nat import (
    Nat,
    simplify,
)
from riselang.support.errors import InternalError


class FunctionInlining(Stores, ABC):
    """Inlines the functions whose results a path leads to."""

    def __init__(self, helpers: defined_arith.Helpers) -> None:
        super().__init__()
        self.helpers = helpers
        self.inlined_elements: dict[tuple[Anchor, SSAValue, Nat], SSAValue] = {}

    @abstractmethod
    def process(self, ops: Sequence[Operation]) -> None:
        """Resolve what these ops store or pass to other dialects; views are resolved where read."""

    @abstractmethod
    def resolve_value(self, value: SSAValue, path: Path) -> SSAValue:
        """Return the builtin scalar at `path`, which contains only tuple positions, in `value`."""

    def inline_embed(self, op: EmbedOp) -> SSAValue:
        """Insert the ops of an embed before it, applied to builtin scalars; return their result."""
        mapping: dict[SSAValue, SSAValue] = {}
        body = self.body_of(op).block
        for argument, operand in zip(body.args, op.arguments, strict=True):
            mapping[argument] = self.resolve_value(operand, ())
        builder = builder_at(InsertPoint.before(op), op.location)
        for inner in body.ops:
            if isinstance(inner, ReturnOp):
                return mapping[inner.values[0]]
            if defined_arith.needs_replacement(inner):
                operands = [mapping[operand] for operand in inner.operands]
                located = builder_at(InsertPoint.before(op), inner.location)
                mapping[inner.results[0]] = defined_arith.emit_total(
                    inner, operands, lambda new, to=located: to.insert(new).results[0], self.helpers
                )
                continue
            builder.insert(_clone_op(inner, mapping))
        raise InternalError("an embed without return passed the verifier")

    def compute_generated(
        self, op: codegen.GenerateOp, index: Nat, anchor: Anchor, builder: Builder
    ) -> SSAValue:
        """Compute the element of a generated array at an index."""
        body = self.body_of(op)
        argument = body.block.args[0]
        if not argument.uses:
            return self.inline_body(body, argument, builder)
        (position,) = self.emit_indices([simplify(index, self.facts(index))], builder)
        wrapped = builder.insert(codegen.CastOp([position], argument.type)).results[0]
        return self.inline_body(body, wrapped, builder)

    def compute_mapped(
        self, op: codegen.MapReadOp, index: Nat, anchor: Anchor, builder: Builder
    ) -> SSAValue:
        """Compute an element of a map whose result is not stored: inline its function body."""
        index = simplify(index, self.facts(index))
        key = (anchor, op.result, index)
        if key in self.inlined_elements:
            return self.inlined_elements[key]
        position = builder.insert(codegen.CastOp([], INDEX)).results[0]
        self.expressions[position] = index
        element = builder.insert(codegen.IdxOp(op.source, position)).results[0]
        self.inlined_elements[key] = self.inline_body(self.body_of(op), element, builder)
        return self.inlined_elements[key]

    def inline_body(self, body: Body, argument: SSAValue, builder: Builder) -> SSAValue:
        """Inline the body of a region for an argument, and return its result."""
        block = body.block
        mapping: dict[SSAValue, SSAValue] = {**body.captured_values, block.args[0]: argument}
        copies: list[Operation] = []
        for inner in block.ops:
            if isinstance(inner, ReturnOp):
                self.process(copies)
                return mapping.get(inner.values[0], inner.values[0])
            copies.append(builder.insert(self.copy_op(inner, mapping)))
        raise InternalError("a region without return passed the verifier")

    def copy_op(self, op: Operation, mapping: dict[SSAValue, SSAValue]) -> Operation:
        """Copy an op of a region that is inlined; its own regions are copied when it is read."""
        if not isinstance(op, EmbedOp | codegen.MapReadOp | codegen.GenerateOp):
            return _clone_op(op, mapping)
        copy = op.clone_without_regions(mapping)
        # An embed is isolated from above, so it captures nothing.
        captured_values = (
            {} if isinstance(op, EmbedOp) else {**self.body_of(op).captured_values, **mapping}
        )
        self.bodies[copy] = Body(self.body_of(op).block, captured_values)
        return copy


def _clone_op(op: Operation, mapping: dict[SSAValue, SSAValue]) -> Operation:
    """Clone an op with mapped operands, and add its results to the mapping."""
    return op.clone(mapping) if op.regions else op.clone_without_regions(mapping)
