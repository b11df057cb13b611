"""Pass `contract-rise-floats`: sums of products in RISE programs become `fma`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass

from riselang.dialects.module import functions
from riselang.dialects.rise.borders import LoweringUnitOp
from riselang.dialects.rise.functional import ReturnOp
from riselang.term.contraction import contract
from riselang.term.from_dialect import Unit, units
from riselang.term.nodes import Term
from riselang.term.to_dialect import emit_program

FLOAT_PERMISSION = "rise.float"
"""The attribute of a module that says what may be done to its float arithmetic."""
CONTRACTED = "rise.contracted"
"""Marks a module whose programs have been contracted: it is decided once, before rewriting."""


def contracts(module: ModuleOp) -> bool:
    """Whether a module permits sums of products to be contracted."""
    permission = module.attributes.get(FLOAT_PERMISSION)
    if CONTRACTED in module.attributes:
        return False
    return isinstance(permission, StringAttr) and permission.data != "strict"


@dataclass(frozen=True)
class ContractRiseFloatsPass(ModulePass):
    """Decides float contraction on the source program."""

    name = "contract-rise-floats"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            _contract_function(function)
        op.attributes[CONTRACTED] = UnitAttr()


def _contract_function(function: FuncOp) -> None:
    for place, unit in units(function):
        contracted = contract(unit.term)
        if contracted != unit.term:
            replace_program(place, unit, contracted)


def replace_program(place: Operation, unit: Unit, term: Term) -> None:
    """Put another program between the same buffers."""
    block = Block()
    emit_program(term, block, unit.inputs, unit.outputs)
    block.add_op(ReturnOp())
    replacement = LoweringUnitOp(Region(block))
    replacement.location = place.location
    parent = place.parent
    assert parent is not None
    parent.insert_op_before(replacement, place)
    place.detach()
    place.erase(safe_erase=False)
