"""RISE programs of what was recognised, in notation.

A program is built from the outside in: for each loop of the target, the views that it runs along
are zipped and mapped over, and the others are used as they are; then other loops become a
reduction, which begins with the element of the target that was there. That is the order of the C
loops, so the result is the same bit by bit. It is what the statement writes, which may be a part of
the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riselang.frontends.c.linear import Linear
from riselang.frontends.c.model import Scop
from riselang.frontends.c.syntax import Access, Variable
from riselang.frontends.c.tactics.recognition import Recognised
from riselang.frontends.c.tactics.structures import NotLifted, Operand, Structure, structure_of
from riselang.frontends.c.tactics.values import ValueWriter, type_text
from riselang.frontends.c.tactics.views import (
    View,
    fronted,
    groups_of,
    is_fixed,
    places,
    size_text,
    view_of,
)


@dataclass(frozen=True)
class Lifting:
    """The program of a statement, and what it is called with."""

    structure: Structure
    text: str
    arrays: tuple[Variable, ...]
    scalars: tuple[Access, ...]


def lifting(scop: Scop, structure: Structure) -> Lifting:
    """A statement as a program; raises NotLifted with the reason."""
    return _Writer(scop, structure).lifting()


def notation(scop: Scop, found: Recognised) -> str:
    """The program of what was recognised."""
    if found.tactic is None:
        raise NotLifted("it is nothing that is known")
    return lifting(scop, structure_of(scop, found.statement, found.around)).text


class _Writer:
    """Writes the program of a structure."""

    def __init__(self, scop: Scop, structure: Structure):
        self._scop = scop
        self._structure = structure
        self._count = 0
        self._elements: dict[Access, str] = {}
        """What stands for what is read, at the place of the moment."""

    def lifting(self) -> Lifting:
        structure = self._structure
        target = structure.target
        groups = groups_of(structure, structure.reads)
        if self._needs_target(groups):
            groups.insert(0, [target])
        arrays = list(dict.fromkeys(group[0].array for group in groups))
        parameters = [f"{self._name(array)} : {self._type(groups, array)}" for array in arrays]
        self._check_sizes(groups, arrays)
        for scalar in structure.scalars:
            text = self._name(scalar.variable)
            self._elements[scalar] = text
            parameters.append(f"{text} : {type_text(scalar.type)}")
        views = [view_of(structure, self._name(group[0].array), group) for group in groups]
        body = self._built(list(target.loops), groups, views)
        text = f"fun(({', '.join(parameters)}),\n  {body})"
        return Lifting(structure, text, tuple(arrays), structure.scalars)

    def _needs_target(self, groups: Sequence[Sequence[Operand]]) -> bool:
        """Whether the target is read, or has to be there for its lengths."""
        structure = self._structure
        read = {loop for group in groups for loop in group[0].loops}
        if structure.is_updated or not set(structure.target.loops) <= read:
            return True
        known = _determined([e for group in groups for e in self._extents(group)])
        return not self._sizes(groups) <= known

    def _extents(self, group: Sequence[Operand]) -> list[Linear | None]:
        """The lengths of an array that the program gets."""
        axes, extents = group[0].axes, self._structure.extents[group[0].array]
        pairs = zip(axes, extents, strict=True)
        return [extent for axis, extent in pairs if not is_fixed(axis, self._structure)]

    def _sizes(self, groups: Sequence[Sequence[Operand]]) -> set[str]:
        """All names of sizes that the program has."""
        structure = self._structure
        sizes = [size for each in structure.ranges.values() for size in (each.first, each.length)]
        sizes += [axis.offset for group in groups for operand in group for axis in operand.axes
                  if not is_fixed(axis, structure)]  # fmt: skip
        return {name for size in sizes for name in size.names()}

    def _check_sizes(self, groups: Sequence[Sequence[Operand]], arrays: Sequence[Variable]) -> None:
        known = _determined([e for group in groups for e in self._extents(group)])
        unknown = sorted(self._sizes(groups) - known)
        if unknown:
            raise NotLifted(f"{unknown[0]} is the length of no array that it reads")
        for array in arrays:
            shapes = {tuple(self._extents(group)) for group in groups if group[0].array is array}
            if len(shapes) > 1:
                raise NotLifted(f"parts of {array.name} of several kinds are read")
            fixed = {_fixed_part(group[0], self._structure) for group in groups
                     if group[0].array is array}  # fmt: skip
            if len(fixed) > 1:
                raise NotLifted(f"several parts of {array.name} are read")

    def _type(self, groups: Sequence[Sequence[Operand]], array: Variable) -> str:
        group = next(group for group in groups if group[0].array is array)
        lengths: list[str] = []
        for extent in self._extents(group):
            if extent is None:
                raise NotLifted(f"the length of {array.name} is not declared")
            text = size_text(extent)
            lengths.append(text if text.isdecimal() or text.isidentifier() else f"({text})")
        return ".".join([*lengths, type_text(array.type)])

    def _name(self, variable: Variable) -> str:
        return self._scop.names.of(variable)

    # The loops

    def _built(
        self, loops: list[str], groups: Sequence[Sequence[Operand]], views: list[View]
    ) -> str:
        if loops:
            along, inner, element = self._along(loops[0], views)
            body = self._built(loops[1:], groups, inner)
            return f"{along} |> map(fun({element}, {body}))"
        start = self._start(groups, views)
        return self._folded(list(self._structure.folded), groups, views, start)

    def _start(self, groups: Sequence[Sequence[Operand]], views: Sequence[View]) -> str:
        for group, view in zip(groups, views, strict=True):
            if group[0] is self._structure.target:
                return view.text
        return ""

    def _folded(
        self,
        loops: list[str],
        groups: Sequence[Sequence[Operand]],
        views: list[View],
        start: str,
    ) -> str:
        if not loops:
            return self._value(groups, views, start)
        if not any(loops[0] in view.loops for view in views):
            raise NotLifted(f"the loop over {loops[0]} repeats it")
        along, inner, element = self._along(loops[0], views)
        total = self._fresh("acc")
        body = self._folded(loops[1:], groups, inner, total)
        return f"{along} |> reduce(fun(({total}, {element}), {body}), {start})"

    def _along(self, loop: str, views: list[View]) -> tuple[str, list[View], str]:
        """Views along a loop, zipped; what each is inside; and the name of an element."""
        rows = [fronted(view, loop) for view in views if loop in view.loops]
        element = self._fresh("x")
        *first, text = rows
        for row in reversed(first):
            text = f"zip({row}, {text})"
        components = iter(_components(element, len(rows)))
        inner = [
            view.without(loop, next(components)) if loop in view.loops else view for view in views
        ]
        return text, inner, element

    def _value(self, groups: Sequence[Sequence[Operand]], views: Sequence[View], start: str) -> str:
        for group, view in zip(groups, views, strict=True):
            for access, place in places(group, view):
                text = view.text
                for at, (_, width) in zip(place, view.windows, strict=True):
                    text = f"{text} |> at(clampIdx({width}, {at}_i32))"
                self._elements[access] = _atom(text)
        self._elements[self._structure.target.access] = _atom(start)
        return ValueWriter(self._element).text(self._structure.value)

    def _element(self, access: Access) -> str:
        is_target = self._structure.is_target(access)
        return self._elements[self._structure.target.access if is_target else access]

    def _fresh(self, base: str) -> str:
        while True:
            self._count += 1
            name = f"{base}{self._count}"
            if not self._scop.names.is_taken(name):
                return name


def _atom(text: str) -> str:
    """A text that can stand between operators."""
    return f"({text})" if " " in text else text


def _components(element: str, count: int) -> list[str]:
    """The components of an element of arrays that are zipped from the right."""
    if count == 1:
        return [element]
    return [f"fst({element})", *_components(f"snd({element})", count - 1)]


def _fixed_part(operand: Operand, structure: Structure) -> tuple[Linear, ...]:
    return tuple(axis.offset for axis in operand.axes if is_fixed(axis, structure))


def _determined(extents: Sequence[Linear | None]) -> set[str]:
    """The names of sizes that follow from the lengths of arrays."""
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
