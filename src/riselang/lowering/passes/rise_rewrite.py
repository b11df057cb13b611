"""Pass `rise-rewrite`: rewrites RISE programs with a strategy.

In a pipeline, the text of a strategy is quoted, and quotes inside of it are escaped:

    rise-opt -p 'rise-rewrite{strategy="tile(32, 32) @ outermost(\\"map\\", nest=2)"}'

Single quotes need no escape. A `.strategy` file is given by its path.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from riselang.dialects.module import functions, location_of, op_error
from riselang.dialects.rise.types import uncurry
from riselang.lowering.lowering_units import replace_unit
from riselang.lowering.passes.contract_rise_floats import (
    CONTRACTED,
    FLOAT_PERMISSION,
    contract_programs,
)
from riselang.rewrite.core import Strategy
from riselang.rewrite.derivation import derive
from riselang.rewrite.eta import eta_expand
from riselang.rewrite.strategy_files import read_strategy
from riselang.rewrite.strategy_text import parse_strategy
from riselang.support.config import FLOAT_PERMISSIONS
from riselang.support.errors import RiseError, UserError
from riselang.support.recursion import with_deep_stack
from riselang.term.from_dialect import read_units
from riselang.term.nodes import Term

STRATEGY = "rise.strategy"
"""The function attribute with the strategy for its programs."""


@dataclass(frozen=True)
class RiseRewritePass(ModulePass):
    """Applies the given strategy, or the strategy of its function, to every program."""

    name = "rise-rewrite"

    strategy: str | None = None
    """A strategy or a `.strategy` file; by default, each function's own strategy."""
    float: str | None = None
    """The float permission; by default that of the module, or else `contract`."""

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        strategy = None if self.strategy is None else read_strategy(self.strategy)
        rewrite_module(op, strategy, self._permission(op))

    def _permission(self, module: ModuleOp) -> str:
        attribute = module.attributes.get(FLOAT_PERMISSION)
        name = attribute.data if isinstance(attribute, StringAttr) else "contract"
        permission = self.float or name
        if permission not in FLOAT_PERMISSIONS:
            permissions = ", ".join(FLOAT_PERMISSIONS)
            raise UserError(
                f"{self.name}: expected float to be one of {permissions}, but found {permission}"
            )
        return permission


def rewrite_module(module: ModuleOp, override: Strategy | None, permission: str) -> None:
    """Rewrite every program with `override`, or else with the strategy of its function.

    Floats are contracted first, in the original programs, and only once.
    """
    strategies = [(function, override or _own_strategy(function)) for function in functions(module)]
    if all(strategy is None for _, strategy in strategies):
        return
    if permission != "strict" and CONTRACTED not in module.attributes:
        contract_programs(module)
    for function, strategy in strategies:
        if strategy is not None:
            _rewrite_function(function, strategy, permission)


def _own_strategy(function: FuncOp) -> Strategy | None:
    attribute = function.attributes.pop(STRATEGY, None)
    if attribute is None:
        return None
    if not isinstance(attribute, StringAttr):
        raise op_error(function, f"expected {STRATEGY} to be a text, but found {attribute}")
    return parse_strategy(attribute.data, f"<{STRATEGY} of {function.sym_name.data}>")


def _rewrite_function(function: FuncOp, strategy: Strategy, permission: str) -> None:
    for op, unit in read_units(function):
        try:
            replace_unit(op, unit, _rewrite_term(unit.term, strategy, permission))
        except RiseError as error:
            raise error.with_location(location_of(op)) from None


def _rewrite_term(term: Term, strategy: Strategy, permission: str) -> Term:
    derived = derive(term, strategy, permission).end
    return eta_expand(derived, len(uncurry(term.type)[0]))
