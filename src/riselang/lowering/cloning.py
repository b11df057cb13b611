"""Copies modules for lowering, without the RISE ops, which are lowered from their terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from riselang.dialects.module import functions, walk
from riselang.dialects.rise.interface_ops import LoweringUnitOp
from riselang.lowering.passes.convert_rise_to_imperative import Units
from riselang.term.from_dialect import Unit, read_units


def clone_for_lowering(
    module: ModuleOp, ops: Sequence[Operation]
) -> tuple[ModuleOp, dict[FuncOp, Units]]:
    """Copy ops to a module with empty lowering units; return it and the programs of the units."""
    if any(len(region.blocks) > 1 for op in ops for each in walk(op) for region in each.regions):
        # With several blocks, a value may be used in the text before its definition.
        copy = ModuleOp([op.clone() for op in ops], dict(module.attributes))
        return copy, {function: read_units(function) for function in functions(copy)}
    copier = _Copier()
    copy = ModuleOp([copier.copy_op(op) for op in ops], dict(module.attributes))
    function_ops = [op for op in ops if isinstance(op, FuncOp)]
    pairs = zip([op for op in function_ops if not op.is_declaration], functions(copy), strict=True)
    return copy, {
        copied: [
            (copier.ops[unit_op], copier.copy_unit(unit)) for unit_op, unit in read_units(function)
        ]
        for function, copied in pairs
    }


@dataclass
class _Copier:
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    ops: dict[Operation, Operation] = field(default_factory=dict[Operation, Operation])

    def copy_op(self, op: Operation) -> Operation:
        copy = op.clone_without_regions(self.values)
        self.ops[op] = copy
        if isinstance(op, LoweringUnitOp):
            return copy
        for region, target in zip(op.regions, copy.regions, strict=True):
            for block in region.blocks:
                target.add_block(self.copy_block(block))
        return copy

    def copy_block(self, block: Block) -> Block:
        copy = Block(arg_types=block.arg_types)
        for old, new in zip(block.args, copy.args, strict=True):
            new.name_hint = old.name_hint
            self.values[old] = new
        for op in block.ops:
            copy.add_op(self.copy_op(op))
        return copy

    def copy_unit(self, unit: Unit) -> Unit:
        """Return the same program, with the buffers of the copy."""
        inputs, outputs = (
            tuple(tuple(self.values[buffer] for buffer in group) for group in groups)
            for groups in (unit.inputs, unit.outputs)
        )
        return replace(unit, inputs=inputs, outputs=outputs)
