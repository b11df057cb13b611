"""Aliasing checks at the entry of functions that C calls.

Reordered loops are correct only if an array that is written shares no memory with any other. Python
checks that before a call. C does not, so a function for C compares the addresses of the rows that
it accesses, and runs the loops in source order if two of them overlap. The rows are computed from
the access relations; the declared lengths are used only if those are not affine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from riselang.frontends.c.emit.expression_emitter import ExpressionEmitter
from riselang.frontends.c.emit.region_functions import input_type
from riselang.frontends.c.emit.strided_arrays import emit_span
from riselang.frontends.c.model.isl_text import isl, within_limits
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Variable

MAX_PIECES = 6
"""The limit on cases that the first or last row of an array may distinguish."""
MAX_RANGE_OPERATIONS = 100_000
"""The limit on isl operations to find the rows of an array."""


def can_check_aliasing(scop: Scop) -> bool:
    """Whether the rows of all possibly aliasing arrays are known, so that their addresses can be
    compared."""
    return all(
        accessed_rows(scop, variable) is not None or _has_known_length(scop, variable)
        for pair in possibly_aliasing_pairs(scop)
        for variable in pair
    )


def _has_known_length(scop: Scop, variable: Variable) -> bool:
    return all(extent is not None for extent in _extents(scop, variable))


def possibly_aliasing_pairs(scop: Scop) -> Iterator[tuple[Variable, Variable]]:
    """Yield pairs of arrays of which one is written, one is a pointer, and that C does not declare
    `restrict`."""
    buffers = [each for each in scop.inputs if isinstance(input_type(scop, each), MemRefType)]
    for position, first in enumerate(buffers):
        for second in buffers[position + 1 :]:
            is_promised = first.is_restrict or second.is_restrict or first.storage is second.storage
            is_promised = is_promised or (_is_object(first) and _is_object(second))
            if not is_promised and (
                first in scop.written_variables or second in scop.written_variables
            ):
                yield first, second


def _is_object(variable: Variable) -> bool:
    """Whether it has its own buffer, to which no other variable refers."""
    return variable.member is None and not (variable.is_pointer or variable.row_pointers)


def _extents(scop: Scop, variable: Variable) -> Sequence[object]:
    view = scop.views.get(variable)
    return view.extents if view is not None else variable.extents


@dataclass(frozen=True)
class RowRange:
    """The rows of an array that a region accesses, as isl expressions of its parameters."""

    first: Any
    last: Any


@lru_cache(maxsize=256)
def accessed_rows(scop: Scop, variable: Variable) -> RowRange | None:
    """Return the rows that a region accesses; None if they are not affine."""
    if not variable.is_array or variable.is_strided:
        return None
    return within_limits(lambda: _find_rows(scop, variable), MAX_RANGE_OPERATIONS)


def _find_rows(scop: Scop, variable: Variable) -> RowRange | None:
    dims = isl().dim_type
    rows: Any = None
    for statement in scop.statements:
        for access, found in statement.access_relations.items():
            if access.variable is variable:
                elements = found.relation.range()
                elements = elements.project_out(dims.set, 1, elements.dim(dims.set) - 1)
                rows = elements if rows is None else rows.union(elements)
    if rows is None or not rows.is_bounded():
        return None
    first, last = _with_default(rows.dim_min(0), 0), _with_default(rows.dim_max(0), -1)
    known = _known_parameters(scop)
    for bound in (first, last):
        if bound.n_piece() > MAX_PIECES or not _used_parameters(bound) <= known:
            return None
    build = isl().AstBuild.from_context(isl().Set(f"{scop.prefix}{{ : }}"))
    return RowRange(*(build.expr_from_pw_aff(bound) for bound in (first, last)))


def _with_default(bound: Any, value: int) -> Any:
    """Give an expression a value where it has none, because no row is accessed."""
    bound = bound.coalesce()
    elsewhere = bound.domain().complement()
    constant = isl().Val.int_from_si(isl().DEFAULT_CONTEXT, value)
    return bound.union_max(isl().PwAff.val_on_domain(elsewhere, constant)).coalesce()


def _used_parameters(bound: Any) -> set[str]:
    kind = isl().dim_type.param
    return {
        bound.get_dim_name(kind, position)
        for position in range(bound.dim(kind))
        if bound.involves_dims(kind, position, 1)
    }


def _known_parameters(scop: Scop) -> set[str]:
    """Return the parameters whose values are known at the entry of the function."""
    variables = {
        each.name for each in scop.parameters
        if isinstance(each.source, Variable) and each.source in scop.inputs
        and not isinstance(input_type(scop, each.source), MemRefType)
    }  # fmt: skip
    products = {
        each.name for each in scop.parameters
        if isinstance(each.source, tuple)
        and all(name in variables for factor in each.source for name in factor.names())
    }  # fmt: skip
    return variables | products


def emit_entry_parameters(emitter: ExpressionEmitter) -> None:
    """Emit the products among the parameters that are known at the entry."""
    known, symbols = _known_parameters(emitter.scop), emitter.indices.symbols
    for parameter in emitter.scop.parameters:
        if isinstance(parameter.source, tuple) and parameter.name in known:
            total = emitter.indices.emit_constant(1)
            for factor in parameter.source:
                value = emitter.indices.emit_linear(factor)
                total = emitter.add(arith.MuliOp(total, value))
            symbols[parameter.name] = total


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
    """Return the address of the first byte that is accessed, and the address past the last one."""
    address = emitter.add(memref.ExtractAlignedPointerAsIndexOp.get(buffer))
    rows = accessed_rows(emitter.scop, variable)
    if rows is None:
        size = emit_span(emitter, variable, buffer, variable.type.bits // 8)
        return address, emitter.add(arith.AddiOp(address, size))
    type = buffer.type
    assert isinstance(type, MemRefType)
    size = emitter.indices.emit_constant(variable.type.bits // 8)
    for position in range(1, type.get_num_dims()):
        index = emitter.indices.emit_constant(position)
        length = emitter.add(memref.DimOp(buffer, index))
        size = emitter.add(arith.MuliOp(size, length))
    first, last = (
        emitter.indices.emit_isl_expression(each, {}) for each in (rows.first, rows.last)
    )
    end = emitter.add(arith.AddiOp(last, emitter.indices.emit_constant(1)))
    starts = [emitter.add(arith.MuliOp(row, size)) for row in (first, end)]
    start, end = (emitter.add(arith.AddiOp(address, each)) for each in starts)
    return start, end
