"""Replace the program in a lowering unit after a pass has rewritten it as a term."""

from __future__ import annotations

from xdsl.ir import Block, Operation, Region

from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.interface_ops import LoweringUnitOp
from riselang.term.from_dialect import Unit
from riselang.term.nodes import Term
from riselang.term.to_dialect import emit_program


def replace_unit(op: Operation, unit: Unit, term: Term) -> None:
    """Replace the lowering unit `unit`, which is the op `op`, by the program `term`."""
    block = Block()
    emit_program(term, block, unit.inputs, unit.outputs)
    block.add_op(ReturnOp())
    replacement = LoweringUnitOp(Region(block))
    replacement.location = op.location
    parent = op.parent
    assert parent is not None
    parent.insert_op_before(replacement, op)
    op.detach()
    op.erase(safe_erase=False)
