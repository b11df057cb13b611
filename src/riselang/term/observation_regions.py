"""The regions with which a program reports observed values: calls to functions of the runtime."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from riselang.support.observations import OBSERVE_END, OBSERVE_FLOAT, OBSERVE_INTEGER
from riselang.term.foreign import ForeignRegion
from riselang.term.nodes import EMBEDS, Embed, Term, subterms

if TYPE_CHECKING:
    from xdsl.dialects.func import CallOp, FuncOp

CALLEES = (OBSERVE_FLOAT, OBSERVE_INTEGER, OBSERVE_END)


@cache
def observation_region(callee: str, number: int) -> ForeignRegion:
    """Return the region that passes a token, and a scalar if there is one, to a function."""
    # Imported only here, since few programs observe values.
    from xdsl.builder import Builder
    from xdsl.dialects import arith, func
    from xdsl.dialects.builtin import Float64Type, IntegerAttr, i32, i64
    from xdsl.ir import Block, Region
    from xdsl.rewriter import InsertPoint

    from riselang.dialects.rise.functional import ReturnOp

    scalars = {OBSERVE_FLOAT: [Float64Type()], OBSERVE_INTEGER: [i64], OBSERVE_END: []}[callee]
    block = Block(arg_types=[i32, *scalars])
    builder = Builder(InsertPoint.at_end(block))
    constant = builder.insert(arith.ConstantOp(IntegerAttr(number, i64)))
    call = builder.insert(func.CallOp(callee, [constant.results[0], *block.args], [i32]))
    builder.insert(ReturnOp([call.results[0]]))
    return ForeignRegion(Region(block))


def observation_of(region: ForeignRegion) -> tuple[str, int] | None:
    """Return the function that a region calls and the number it passes, if it observes a value."""
    call = _observation_call(region)
    if call is None:
        return None
    from xdsl.dialects import arith
    from xdsl.dialects.builtin import IntegerAttr

    number = call.operands[0].owner
    if not isinstance(number, arith.ConstantOp) or not isinstance(number.value, IntegerAttr):
        return None
    return call.callee.root_reference.data, number.value.value.data


def _observation_call(region: ForeignRegion) -> CallOp | None:
    from xdsl.dialects.func import CallOp

    calls = [op for op in region.region.blocks[0].ops if isinstance(op, CallOp)]
    is_observation = len(calls) == 1 and calls[0].callee.root_reference.data in CALLEES
    return calls[0] if is_observation else None


def observation_functions(term: Term) -> list[FuncOp]:
    """Return declarations of the functions that a program reports observed values to."""
    if not term.patterns & EMBEDS:
        return []
    from xdsl.dialects.func import FuncOp

    regions = {part.region for part in subterms(term) if isinstance(part, Embed)}
    calls = [call for call in map(_observation_call, regions) if call is not None]
    by_name = {call.callee.root_reference.data: call for call in calls}
    return [
        FuncOp.external(
            name, [each.type for each in call.operands], [each.type for each in call.results]
        )
        for name, call in sorted(by_name.items())
    ]
