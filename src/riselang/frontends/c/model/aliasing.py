"""Aliasing checks at the entry of functions that C calls.

Reordered loops are correct only if an array that is written shares no memory with any other. Python
checks that before a call. C does not, so a function for C compares the addresses of its arrays, and
runs the loops in source order if two of them overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from riselang.frontends.c.emit.expression_emitter import ExpressionEmitter
from riselang.frontends.c.emit.region_functions import input_type
from riselang.frontends.c.emit.strided_arrays import emit_span
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Variable


def can_check_aliasing(scop: Scop) -> bool:
    """Whether the lengths of all possibly aliasing arrays are known, so that their ranges can be
    compared."""
    return all(
        extent is not None
        for pair in possibly_aliasing_pairs(scop)
        for variable in pair
        for extent in _extents(scop, variable)
    )


def possibly_aliasing_pairs(scop: Scop) -> Iterator[tuple[Variable, Variable]]:
    """Yield pairs of arrays of which one is written, and that C does not declare `restrict`."""
    buffers = [each for each in scop.inputs if isinstance(input_type(scop, each), MemRefType)]
    for position, first in enumerate(buffers):
        for second in buffers[position + 1 :]:
            is_promised = first.is_restrict or second.is_restrict or first.storage is second.storage
            if not is_promised and (
                first in scop.written_variables or second in scop.written_variables
            ):
                yield first, second


def _extents(scop: Scop, variable: Variable) -> Sequence[object]:
    view = scop.views.get(variable)
    return view.extents if view is not None else variable.extents


def emit_overlap_check(emitter: ExpressionEmitter, buffers: dict[Variable, SSAValue]) -> SSAValue:
    """Emit a check whether any two arrays, one of them written, overlap in memory."""
    spans = {
        variable: _address_range(emitter, variable, buffers[variable])
        for pair in possibly_aliasing_pairs(emitter.scop)
        for variable in pair
    }
    overlap = emitter.add(arith.ConstantOp.from_int_and_width(0, 1))
    for first, second in possibly_aliasing_pairs(emitter.scop):
        (start, end), (other_start, other_end) = spans[first], spans[second]
        one = emitter.add(arith.CmpiOp(start, other_end, "ult"))
        other_meets = emitter.add(arith.CmpiOp(other_start, end, "ult"))
        meet = emitter.add(arith.AndIOp(one, other_meets))
        overlap = emitter.add(arith.OrIOp(overlap, meet))
    return overlap


def _address_range(
    emitter: ExpressionEmitter, variable: Variable, buffer: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """Return the address of a buffer's first byte, and the address past its last byte."""
    size = emit_span(emitter, variable, buffer, variable.type.bits // 8)
    start = emitter.add(memref.ExtractAlignedPointerAsIndexOp.get(buffer))
    return start, emitter.add(arith.AddiOp(start, size))
