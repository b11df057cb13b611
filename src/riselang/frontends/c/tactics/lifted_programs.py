"""RISE programs of recognized statements.

A program is built from the outside in: for each loop of the target, the views that it indexes are
zipped and mapped over, and the others are used unchanged; the other loops become a reduction, which
starts from the element of the target. That is the order of the C loops, so results are bitwise
identical. The result is what the statement writes, which may be a part of the target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from riselang.dialects.rise.types import RiseType, array
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Access, Variable
from riselang.frontends.c.tactics.array_parts import Part, cut_arrays
from riselang.frontends.c.tactics.array_views import (
    ArrayView,
    ViewBuilder,
    group_reads,
    is_fixed,
    window_offsets,
)
from riselang.frontends.c.tactics.boxes import NotLifted
from riselang.frontends.c.tactics.recognition import Recognition
from riselang.frontends.c.tactics.structures import Operand, Structure, read_structure
from riselang.frontends.c.tactics.value_builder import ValueBuilder, scalar_type
from riselang.frontends.term_builder import Builder
from riselang.nat.errors import NatError
from riselang.support.errors import SourceLocation
from riselang.support.lazy import cached_property
from riselang.term import build
from riselang.term.build import Node
from riselang.term.finish import finish
from riselang.term.nodes import Term


@dataclass(frozen=True)
class LiftedProgram:
    """The program of a statement, and its arguments."""

    structure: Structure
    root: Node
    arrays: tuple[Variable, ...]
    scalars: tuple[Access, ...]
    parts: Mapping[Variable, Part] = field(default_factory=dict[Variable, Part])
    """The parts of arrays that are passed, if not all of their elements are."""

    @cached_property
    def term(self) -> Term:
        return finish(self.root)


def lift_structure(scop: Scop, structure: Structure) -> LiftedProgram:
    """Build the program of a statement; raises NotLifted with the reason.

    It takes whole arrays if their lengths determine all sizes, else the parts that are accessed.
    """
    try:
        return _build_program(scop, structure)
    except NotLifted:
        partial = cut_arrays(structure)
        if not partial.parts:
            raise
    lifted = _build_program(scop, partial.structure)
    parts = {each: partial.parts[each] for each in lifted.arrays if each in partial.parts}
    return replace(lifted, structure=structure, parts=parts)


def _build_program(scop: Scop, structure: Structure) -> LiftedProgram:
    try:
        return _StatementBuilder(scop, structure).build()
    except NatError as error:
        raise NotLifted(f"a size cannot be represented: {error}") from None


def lift_recognized(scop: Scop, recognition: Recognition) -> LiftedProgram:
    """Return the program of a recognized statement."""
    if recognition.tactic is None:
        raise NotLifted("it is not recognized")
    return lift_structure(
        scop, read_structure(scop, recognition.statement, recognition.outer_loops)
    )


class _StatementBuilder:
    """Builds the program of a structure."""

    def __init__(self, scop: Scop, structure: Structure):
        self._scop = scop
        self._structure = structure
        self._builder = Builder()
        self._builder.location = structure.statement.location
        self._views = ViewBuilder(self._builder, structure)
        self._elements: dict[Access, Callable[[], Node]] = {}
        """The nodes for what is read, at the current loop."""

    def build(self) -> LiftedProgram:
        structure, builder = self._structure, self._builder
        groups = group_reads(structure, structure.reads)
        if self._needs_target(groups):
            groups.insert(0, [structure.target])
        arrays = list(dict.fromkeys(group[0].array for group in groups))
        nodes = {each: self._add_parameter(each, self._array_type(groups, each)) for each in arrays}
        self._check_sizes(groups, arrays)
        parameters = list(nodes.values())
        for scalar in structure.scalars:
            node = self._add_parameter(scalar.variable, scalar_type(scalar.type))
            self._elements[scalar] = lambda node=node: node
            parameters.append(node)
        views = [self._views.build_view(nodes[group[0].array], group) for group in groups]
        body = self._build_maps(list(structure.target.loops), groups, views)
        root = builder.program(parameters, body)
        return LiftedProgram(structure, root, tuple(arrays), structure.scalars)

    def _add_parameter(self, variable: Variable, type: RiseType) -> build.Variable:
        with self._builder.at_location(variable.location):
            return self._builder.parameter(self._scop.names.name_of(variable), type)

    def _needs_target(self, groups: Sequence[Sequence[Operand]]) -> bool:
        """Whether the target is read, or needed for its lengths."""
        structure = self._structure
        read = {loop for group in groups for loop in group[0].loops}
        if structure.is_updated or not set(structure.target.loops) <= read:
            return True
        known = _determined_sizes([e for group in groups for e in self._passed_extents(group)])
        return not self._size_names(groups) <= known

    def _passed_extents(self, group: Sequence[Operand]) -> list[Linear | None]:
        """Return the lengths of an array that is passed to the program."""
        axes, extents = group[0].axes, self._structure.extents[group[0].array]
        pairs = zip(axes, extents, strict=True)
        return [extent for axis, extent in pairs if not is_fixed(axis, self._structure)]

    def _size_names(self, groups: Sequence[Sequence[Operand]]) -> set[str]:
        """Return all names of sizes in the program."""
        structure = self._structure
        sizes = [size for each in structure.ranges.values() for size in (each.first, each.length)]
        sizes += [axis.offset for group in groups for operand in group for axis in operand.axes
                  if not is_fixed(axis, structure)]  # fmt: skip
        return {name for size in sizes for name in size.names()}

    def _check_sizes(self, groups: Sequence[Sequence[Operand]], arrays: Sequence[Variable]) -> None:
        known = _determined_sizes([e for group in groups for e in self._passed_extents(group)])
        unknown = sorted(self._size_names(groups) - known)
        if unknown:
            raise NotLifted(f"{unknown[0]} is not the length of an array that it reads")
        for each in arrays:
            shapes = {
                tuple(self._passed_extents(group)) for group in groups if group[0].array is each
            }
            if len(shapes) > 1:
                raise NotLifted(f"parts of {each.name} with different shapes are read")
            fixed = {_fixed_indices(group[0], self._structure) for group in groups
                     if group[0].array is each}  # fmt: skip
            if len(fixed) > 1:
                raise NotLifted(f"several parts of {each.name} are read")

    def _array_type(self, groups: Sequence[Sequence[Operand]], variable: Variable) -> RiseType:
        group = next(group for group in groups if group[0].array is variable)
        type: RiseType = scalar_type(variable.type)
        for extent in reversed(self._passed_extents(group)):
            if extent is None:
                raise NotLifted(f"the length of {variable.name} is not declared")
            type = array(extent.to_nat(), type)
        return type

    # The loops

    def _build_maps(
        self, loops: list[str], groups: Sequence[Sequence[Operand]], views: Sequence[ArrayView]
    ) -> Node:
        """Map over the loops of the target."""
        if not loops:
            start = self._previous_value(groups, views)
            return self._build_reductions(
                list(self._structure.reduction_loops), groups, views, start
            )
        loop, *inner = loops
        with self._builder.at_location(self._location(loop)):
            return self._builder.map(
                lambda x: self._build_maps(inner, groups, self._views_inside(loop, views, x)),
                self._zip_views(loop, views),
            )

    def _previous_value(
        self, groups: Sequence[Sequence[Operand]], views: Sequence[ArrayView]
    ) -> Node | None:
        """Return the previous value of the target, if it is passed to the program."""
        for group, view in zip(groups, views, strict=True):
            if group[0] is self._structure.target:
                return view.make()
        return None

    def _build_reductions(
        self,
        loops: list[str],
        groups: Sequence[Sequence[Operand]],
        views: Sequence[ArrayView],
        start: Node | None,
    ) -> Node:
        if not loops:
            return self._build_value(groups, views, start)
        loop, *inner = loops
        if start is None or not any(loop in view.loops for view in views):
            raise NotLifted(f"the loop over {loop} repeats it")
        with self._builder.at_location(self._location(loop)):
            return self._builder.reduce(
                lambda total, x: self._build_reductions(
                    inner, groups, self._views_inside(loop, views, x), total
                ),
                start,
                self._zip_views(loop, views),
            )

    def _location(self, loop: str) -> SourceLocation:
        return self._scop.loop_locations.get(loop, self._structure.statement.location)

    def _zip_views(self, loop: str, views: Sequence[ArrayView]) -> Node:
        """Return the views along a loop, zipped."""
        rows = [self._views.move_to_front(view, loop) for view in views if loop in view.loops]
        return self._builder.zip_all(rows)

    def _views_inside(
        self, loop: str, views: Sequence[ArrayView], element: Node
    ) -> list[ArrayView]:
        """Return each view in an iteration of a loop."""
        count = sum(loop in view.loops for view in views)
        parts = iter(self._builder.unpack_tuple(element, count))
        return [view.without(loop, next(parts)) if loop in view.loops else view for view in views]

    def _build_value(
        self, groups: Sequence[Sequence[Operand]], views: Sequence[ArrayView], start: Node | None
    ) -> Node:
        for group, view in zip(groups, views, strict=True):
            for access, offsets in window_offsets(group, view):
                self._elements[access] = partial(self._views.element_in_window, view, offsets)
        if start is not None:
            self._elements[self._structure.target.access] = lambda: start
        return ValueBuilder(self._builder, self._element_node).build_value(self._structure.value)

    def _element_node(self, access: Access) -> Node:
        is_target = self._structure.is_target(access)
        return self._elements[self._structure.target.access if is_target else access]()


def _fixed_indices(operand: Operand, structure: Structure) -> tuple[Linear, ...]:
    return tuple(axis.offset for axis in operand.axes if is_fixed(axis, structure))


def _determined_sizes(extents: Sequence[Linear | None]) -> set[str]:
    """Return the names of sizes that the lengths of arrays determine."""
    known: set[str] = set()
    while True:
        found: set[str] = set()
        for extent in extents:
            missing = set() if extent is None else set(extent.names()) - known
            if len(missing) == 1:
                found |= missing
        if not found:
            return known
        known |= found
