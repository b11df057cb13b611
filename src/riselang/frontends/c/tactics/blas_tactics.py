"""Statements that BLAS vector routines compute: gemv, ger, dot, axpy.

`target + scalar * element * element`, where each loop indexes one dimension of an array, and a
matrix has one contiguous dimension. Arrays may be parts of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.parse.syntax import Access, Expression, Literal, Variable
from riselang.frontends.c.tactics.boxes import NotLifted
from riselang.frontends.c.tactics.extents import declared_extents
from riselang.frontends.c.tactics.matching import NoMatch, added_value, product_parts
from riselang.frontends.c.tactics.structures import Operand, Structure, read_structure
from riselang.lowering.library_calls import MAX_BLAS_INT

BLAS_INTEGER_BITS = 32
"""The bits of the integers that routines take."""


@dataclass(frozen=True)
class Routine:
    """A routine, and its arguments in order."""

    name: str
    structure: Structure
    operands: tuple[Operand, ...]
    scale: tuple[Expression, ...]
    """The scalar factors."""

    @property
    def target(self) -> Operand:
        return self.structure.target


def find_routine(scop: Scop, statement: ModelStatement) -> Routine | None:
    """Return the routine that a statement corresponds to; None if there is none."""
    try:
        structure = read_structure(scop, statement)
        added = added_value(structure.value, structure.target.access)
    except (NotLifted, NoMatch):
        return None
    parts = list(product_parts(added))
    elements = [part for part in parts if isinstance(part, Access) and part.indices]
    scale = tuple(part for part in parts if part not in elements)
    reads = {each.access: each for each in structure.reads}
    if not all(each in reads for each in elements) or not _are_invariant(structure, scale):
        return None
    operands = [reads[each] for each in elements]
    if not _are_vectors(scop, structure, operands):
        return None
    routine = _match_routine(structure, operands)
    return None if routine is None else Routine(routine[0], structure, routine[1], scale)


def _are_invariant(structure: Structure, parts: Sequence[Expression]) -> bool:
    """Whether all parts are constants or invariant variables."""
    return all(
        isinstance(part, Literal)
        or (
            isinstance(part, Access)
            and part not in structure.statement.access_relations
            and part.type == structure.target.access.type
        )
        for part in parts
    )


def _are_vectors(scop: Scop, structure: Structure, operands: Sequence[Operand]) -> bool:
    """Whether routines can step through all operands: floats of one type, along single loops."""
    target = structure.target
    type = target.array.type
    if not type.is_float or any(each.array.type != type for each in operands):
        return False
    if any(each.array is target.array for each in operands):
        return False
    return all(_has_unit_steps(structure, each) for each in (target, *operands))


def _has_unit_steps(structure: Structure, operand: Operand) -> bool:
    """Whether loops index the last two dimensions, each with a step of one."""
    if any(axis.loops and [factor for _, factor in axis.loops] != [1] for axis in operand.axes):
        return False
    return not any(axis.loops for axis in operand.axes[:-2])


def _match_routine(
    structure: Structure, operands: Sequence[Operand]
) -> tuple[str, tuple[Operand, ...]] | None:
    """Return the routine by the loops of target and factors, and the factors in its argument
    order."""
    out, folded = structure.target.loops, structure.reduction_loops
    loops = [each.loops for each in operands]
    match (len(out), len(folded)):
        case (0, 1) if loops == [folded, folded]:
            return "dot", tuple(operands)
        case (1, 0) if loops == [out]:
            return "axpy", tuple(operands)
        case (2, 0) if sorted(loops) == sorted([(out[0],), (out[1],)]):
            return "ger", tuple(operands if loops[0] == (out[0],) else reversed(operands))
        case (1, 1) if len(loops) == 2:
            matrix, vector = sorted(operands, key=lambda each: -len(each.loops))
            if set(matrix.loops) == {*out, *folded} and vector.loops == folded:
                return "gemv", (matrix, vector)
            return None
        case _:
            return None


def find_long_length(scop: Scop, structure: Structure) -> str:
    """Return a length that may exceed what a routine takes; empty if there is none.

    The value of an `int` never exceeds it.
    """
    for variable, name in structure.statement.iterators:
        length = structure.ranges[name].length
        if variable.type.bits > BLAS_INTEGER_BITS and not is_short(scop, length):
            return str(length.to_nat())
    for operand in (structure.target, *structure.reads):
        if length := find_long_row(scop, operand.array):
            return length
    return ""


def find_long_row(scop: Scop, array: Variable) -> str:
    """Return the length of an inner dimension that may exceed what a routine takes."""
    for at, extent in enumerate(declared_extents(scop, array)[1:], 1):
        declared = array.extents[at] if at < len(array.extents) else None
        is_int = declared is not None and declared.type.bits <= BLAS_INTEGER_BITS
        if not is_int and (extent is None or not is_short(scop, extent)):
            return str(extent.to_nat()) if extent is not None else f"of a row of {array.name}"
    return ""


def is_short(scop: Scop, size: Linear) -> bool:
    """Whether a size fits, by the types of parameters."""
    known = {each.name: each.largest for each in scop.parameters}
    (atom, factor), *others = size.terms or ((None, 1),)
    if atom is None:
        return size.constant <= MAX_BLAS_INT
    is_one = isinstance(atom, str) and factor == 1 and not others and size.constant <= 0
    return is_one and known.get(str(atom), MAX_BLAS_INT + 1) <= MAX_BLAS_INT
