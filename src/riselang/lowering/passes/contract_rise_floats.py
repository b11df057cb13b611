"""Pass `contract-rise-floats`: sums of products in RISE programs become `fma`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from riselang.dialects.module import functions
from riselang.lowering.units import replace_unit
from riselang.support.recursion import deep
from riselang.term.contraction import contract
from riselang.term.from_dialect import units

FLOAT_PERMISSION = "rise.float"
"""The attribute of a module that says what may be done to its float arithmetic."""
CONTRACTED = "rise.contracted"
"""Marks a module whose programs have been contracted: it is decided once, before rewriting."""


def permission_of(module: ModuleOp) -> str:
    """What a module permits to be done to its float arithmetic."""
    permission = module.attributes.get(FLOAT_PERMISSION)
    return permission.data if isinstance(permission, StringAttr) else "strict"


def contracts(module: ModuleOp) -> bool:
    """Whether a module permits sums of products to be contracted."""
    return CONTRACTED not in module.attributes and permission_of(module) != "strict"


@dataclass(frozen=True)
class ContractRiseFloatsPass(ModulePass):
    """Decides float contraction on the source program."""

    name = "contract-rise-floats"

    @deep
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        contract_programs(op)


def contract_programs(module: ModuleOp) -> None:
    """Contract every program of a module, and mark that it was done."""
    for function in functions(module):
        _contract_function(function)
    module.attributes[CONTRACTED] = UnitAttr()


def _contract_function(function: FuncOp) -> None:
    for place, unit in units(function):
        contracted = contract(unit.term)
        if contracted != unit.term:
            replace_unit(place, unit, contracted)
