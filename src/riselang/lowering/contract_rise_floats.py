"""Pass `contract-rise-floats`: sums of products in RISE programs become `fma`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from riselang.dialects.module import functions
from riselang.lowering.units import replace_unit
from riselang.term.contraction import contract
from riselang.term.from_dialect import units

FLOAT_PERMISSION = "rise.float"
"""The attribute of a module that says what may be done to its float arithmetic."""


def contracts(module: ModuleOp) -> bool:
    """Whether a module permits sums of products to be contracted."""
    permission = module.attributes.get(FLOAT_PERMISSION)
    return isinstance(permission, StringAttr) and permission.data != "strict"


@dataclass(frozen=True)
class ContractRiseFloatsPass(ModulePass):
    """Decides float contraction on the source program."""

    name = "contract-rise-floats"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            _contract_function(function)


def _contract_function(function: FuncOp) -> None:
    for place, unit in units(function):
        contracted = contract(unit.term)
        if contracted != unit.term:
            replace_unit(place, unit, contracted)
