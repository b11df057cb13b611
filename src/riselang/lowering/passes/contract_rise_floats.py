"""Pass `contract-rise-floats`: contracts multiplications and additions to `fma`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from riselang.dialects.module import functions
from riselang.lowering.lowering_units import replace_unit
from riselang.support.recursion import with_deep_stack
from riselang.term.contraction import contract
from riselang.term.from_dialect import read_units

FLOAT_PERMISSION = "rise.float"
"""The module attribute for the float permission."""
CONTRACTED = "rise.contracted"
"""Marks a module whose programs have been contracted, which happens once, before rewriting."""


def float_permission(module: ModuleOp) -> str:
    """Return the float permission of a module."""
    permission = module.attributes.get(FLOAT_PERMISSION)
    return permission.data if isinstance(permission, StringAttr) else "strict"


def can_contract(module: ModuleOp) -> bool:
    """Whether contraction of a module is permitted, and not done yet."""
    return CONTRACTED not in module.attributes and float_permission(module) != "strict"


@dataclass(frozen=True)
class ContractRiseFloatsPass(ModulePass):
    """Contracts multiplications and additions to `fma` in the source program."""

    name = "contract-rise-floats"

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        contract_programs(op)


def contract_programs(module: ModuleOp) -> None:
    """Contract every program of a module, and mark the module as contracted."""
    for function in functions(module):
        _contract_function(function)
    module.attributes[CONTRACTED] = UnitAttr()


def _contract_function(function: FuncOp) -> None:
    for op, unit in read_units(function):
        contracted = contract(unit.term)
        if contracted != unit.term:
            replace_unit(op, unit, contracted)
