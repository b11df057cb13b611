"""`rl.build`: emit a RISE program into a function that is being built.

See Lücke et al., CC 2021, listing 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.interface_ops import LoweringUnitOp, check_buffers
from riselang.dialects.rise.types import RiseType, ScalarType, array, result_types
from riselang.dsl.tracing import trace_function
from riselang.support.counts import format_count
from riselang.support.errors import UserError
from riselang.term.finish import finish
from riselang.term.to_dialect import emit_program


def build_unit(
    block: Block, outputs: SSAValue | Sequence[SSAValue], inputs: Sequence[SSAValue]
) -> Callable[[Callable[..., Any]], LoweringUnitOp]:
    targets = [outputs] if isinstance(outputs, SSAValue) else list(outputs)
    types = [_buffer_type(value) for value in inputs]

    def emit(function: Callable[..., Any]) -> LoweringUnitOp:
        names = [value.name_hint or f"in{position}" for position, value in enumerate(inputs)]
        root, trace, results = trace_function(function, names, types)
        if results != len(targets):
            raise UserError(
                f"expected {format_count(len(targets), 'result')}, one for each output, but the "
                f"program returns {results}"
            )
        term = finish(root, trace.inference)
        for target, type in zip(targets, result_types(term.type, results), strict=True):
            try:
                check_buffers([target.type], type)
            except VerifyException as error:
                raise UserError(f"the output does not fit the program: {error}") from None
        unit = Block()
        emit_program(term, unit, [[value] for value in inputs], [[target] for target in targets])
        unit.add_op(ReturnOp())
        op = LoweringUnitOp(Region(unit))
        block.add_op(op)
        return op

    return emit


def _buffer_type(value: SSAValue) -> RiseType:
    if not isinstance(value.type, MemRefType):
        raise UserError(f"expected a memref as input, but found {value.type}")
    try:
        type: RiseType = ScalarType(value.type.element_type)
    except (VerifyException, TypeError) as error:
        raise UserError(f"the input {value.type} cannot be used: {error}") from None
    for length in reversed(value.type.get_shape()):
        type = array(length, type)
    return type
