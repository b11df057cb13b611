"""Pass `contract-rise-floats`: contracts multiplications and additions to `fma`."""

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
"""The module attribute for the float permission."""
CONTRACTED = "rise.contracted"
"""Marks a module whose programs have been contracted, which happens once, before rewriting."""


def permission_of(module: ModuleOp) -> str:
    """Return the float permission of a module."""
    permission = module.attributes.get(FLOAT_PERMISSION)
    return permission.data if isinstance(permission, StringAttr) else "strict"


def contracts(module: ModuleOp) -> bool:
    """Whether contraction of a module is permitted, and not done yet."""
    return CONTRACTED not in module.attributes and permission_of(module) != "strict"


@dataclass(frozen=True)
class ContractRiseFloatsPass(ModulePass):
    """Contracts floats in the source program."""

    name = "contract-rise-floats"

    @deep
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        contract_programs(op)


def contract_programs(module: ModuleOp) -> None:
    """Contract every program of a module, and mark the module as contracted."""
    for function in functions(module):
        _contract_function(function)
    module.attributes[CONTRACTED] = UnitAttr()


def _contract_function(function: FuncOp) -> None:
    for place, unit in units(function):
        contracted = contract(unit.term)
        if contracted != unit.term:
            replace_unit(place, unit, contracted)
