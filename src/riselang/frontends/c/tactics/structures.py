"""Statements over boxes of elements: their loops, and how arrays are accessed along them.

Loops of the target index elements, which are independent; others are reductions into an element, in
source order. That is the semantics of patterns and structured ops. All of it is proved: the
iteration domain is a box, subscripts are sums of loops, elements do not depend on each other, and a
reduction runs upward.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.parse.syntax import Access, Assign, Expression, Variable, direct_operands
from riselang.frontends.c.tactics.boxes import LoopRange, NotLifted, inner_ranges
from riselang.frontends.c.tactics.extents import declared_extents


@dataclass(frozen=True)
class IndexAxis:
    """The index of one dimension: loops, each times a constant, and an invariant offset."""

    loops: tuple[tuple[str, int], ...]
    offset: Linear


@dataclass(frozen=True)
class Operand:
    """An element that every iteration accesses."""

    access: Access
    axes: tuple[IndexAxis, ...]

    @property
    def array(self) -> Variable:
        return self.access.variable

    @property
    def loops(self) -> tuple[str, ...]:
        return tuple(loop for axis in self.axes for loop, _ in axis.loops)


@dataclass(frozen=True)
class Structure:
    """A statement as an operation on arrays."""

    statement: ModelStatement
    outer_loops: tuple[str, ...]
    """The remaining loops: the structure is what one of their iterations does."""
    target: Operand
    reads: tuple[Operand, ...]
    """The array elements that are read, each once; without the target."""
    scalars: tuple[Access, ...]
    """Invariant variables that are read."""
    ranges: Mapping[str, LoopRange]
    """The range of each loop, in source order."""
    extents: Mapping[Variable, tuple[Linear | None, ...]]
    """The lengths of arrays; None where none is declared."""
    value: Expression
    """The new value of an element."""
    is_updated: bool
    """Whether the target is read."""

    @property
    def reduction_loops(self) -> tuple[str, ...]:
        """The reduction loops: those that do not index the target."""
        return tuple(loop for loop in self.ranges if loop not in self.target.loops)

    def is_target(self, access: Access) -> bool:
        return access == self.target.access or (
            access.variable is self.target.array
            and bool(access.indices)
            and self.statement.access_relations[access].indices
            == self.statement.access_relations[self.target.access].indices
        )


def read_structure(
    scop: Scop, statement: ModelStatement, outer_loops: Sequence[str] = ()
) -> Structure:
    """Return the structure of a statement inside remaining loops; raises NotLifted with the
    reason."""
    body = statement.body
    if not isinstance(body, Assign) or not statement.has_must_writes:
        raise NotLifted("it is data-dependent")
    if statement.checked_accesses:
        raise NotLifted("its accesses are checked at run time")
    strided = next((each for each in statement.access_relations if each.variable.is_strided), None)
    if strided is not None:
        raise NotLifted(f"{strided.variable.name} is not contiguous in memory")
    inner = [name for _, name in statement.iterators if name not in outer_loops]
    if not inner:
        raise NotLifted("all its loops remain sequential")
    read = list(dict.fromkeys(_value_accesses(body.value)))
    counters = {variable for variable, _ in statement.iterators}
    if any(access.variable in counters for access in read):
        raise NotLifted("its value depends on a loop variable")
    target = _read_operand(statement, body.target, inner)
    _check_target(target)
    structure = Structure(
        statement, tuple(outer_loops), target, (), (), inner_ranges(scop, statement, outer_loops),
        {}, body.value, is_updated=False,
    )  # fmt: skip
    other_reads = [access for access in read if not structure.is_target(access)]
    reads = tuple(
        _read_operand(statement, access, inner) for access in other_reads if access.indices
    )
    for read_ in reads:
        if len(set(read_.loops)) != len(read_.loops):
            raise NotLifted(f"a loop indexes two dimensions of {read_.array.name}")
    extents = {each.array: declared_extents(scop, each.array) for each in (target, *reads)}
    structure = Structure(
        statement, structure.outer_loops, target, reads,
        tuple(access for access in other_reads if not access.indices),
        structure.ranges, extents, body.value, is_updated=len(other_reads) < len(read),
    )  # fmt: skip
    _check_dependences(scop, structure)
    for operand in (target, *reads):
        _check_bounds(scop, structure, operand)
    return structure


def _value_accesses(expression: Expression) -> Iterator[Access]:
    """Yield the accesses of a value, without those in subscripts."""
    if isinstance(expression, Access):
        yield expression
        return
    for operand in direct_operands(expression):
        yield from _value_accesses(operand)


def _read_operand(statement: ModelStatement, access: Access, inner: Sequence[str]) -> Operand:
    if not access.indices:
        return Operand(access, ())
    subscript = statement.access_relations.get(access)
    if subscript is None or subscript.indices is None:
        raise NotLifted(f"a subscript of {access.variable.name} is not affine")
    return Operand(access, tuple(_read_axis(access, index, inner) for index in subscript.indices))


def _read_axis(access: Access, index: Linear, inner: Sequence[str]) -> IndexAxis:
    loops: list[tuple[str, int]] = []
    offset = Linear(index.constant)
    for atom, factor in index.terms:
        if not isinstance(atom, str):
            raise NotLifted(
                f"a subscript of {access.variable.name} contains a quotient or remainder"
            )
        if atom in inner:
            loops.append((atom, factor))
        else:
            offset = offset + Linear(0, ((atom, factor),))
    return IndexAxis(tuple(loops), offset)


def _check_target(target: Operand) -> None:
    name = target.array.name
    if len(set(target.loops)) != len(target.loops) or any(
        axis.loops and [factor for _, factor in axis.loops] != [1] for axis in target.axes
    ):
        raise NotLifted(f"a subscript of {name}, which is written, is not a single loop of its own")


# Self-dependences


def _check_dependences(scop: Scop, structure: Structure) -> None:
    self_pairs = _self_dependences(scop, structure)
    array = structure.target.array
    if not structure.reduction_loops:
        if not self_pairs.is_empty():
            raise NotLifted("it reads elements that it writes in other iterations")
        return
    if not structure.is_updated:
        raise NotLifted(f"the loop over {structure.reduction_loops[0]} repeats it")
    if any(each.array is array for each in structure.reads):
        raise NotLifted(f"{array.name} is also read by the reduction that accumulates into it")
    if not self_pairs.is_subset(isl().Map.lex_lt(self_pairs.get_space().domain())):
        raise NotLifted("its reduction runs downward")


def _self_dependences(scop: Scop, structure: Structure) -> Any:
    """Return pairs of instances of a statement in one iteration of the loops around it."""
    pairs = dependences(scop)
    if pairs is None:
        raise NotLifted("analyzing the dependences of the region takes too long")
    space = structure.statement.domain.get_space()
    own = pairs.all.extract_map(space.map_from_domain_and_range(space))
    dims = isl().dim_type
    for position in range(len(structure.outer_loops)):
        own = own.equate(dims.in_, position, dims.out, position)
    return own


def _check_bounds(scop: Scop, structure: Structure, operand: Operand) -> None:
    """Check that there are sizes for which all accesses are within bounds.

    Passing such sizes is up to the caller, as in C. An element that is read only under a condition
    is always read once it is lifted, so it must be within bounds for all sizes.
    """
    statement = structure.statement
    sizes = possible = statement.domain.params()
    is_certain = operand.access in statement.must_accesses
    known = {each.name for each in scop.parameters}
    names = ", ".join(name for _, name in statement.iterators)
    for axis, extent in zip(operand.axes, structure.extents[operand.array], strict=True):
        if extent is None or not set(extent.names()) <= known:
            if not is_certain:
                raise NotLifted(f"what is read of {operand.array.name} depends on a condition")
            continue
        index = axis.offset + Linear(0, axis.loops)
        inside = f"{scop.prefix}{{ {statement.name}[{names}] : 0 <= {index} < {extent} }}"
        outside = statement.domain.subtract(isl().Set(inside))
        possible = possible.subtract(outside.params())
    if not is_certain and not possible.is_equal(sizes):
        raise NotLifted(f"what is read of {operand.array.name} depends on a condition")
    if possible.is_empty():
        raise NotLifted(f"{operand.array.name} is accessed out of bounds")
