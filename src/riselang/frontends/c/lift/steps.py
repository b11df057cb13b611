"""A region as steps of one function: loops, with calls or structured ops for some parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Block, Region

from riselang.frontends.c.emit.indices import INDEX
from riselang.frontends.c.emit.library import CallEmitter
from riselang.frontends.c.emit.routines import RoutineEmitter
from riselang.frontends.c.emit.row_calls import RowCallEmitter
from riselang.frontends.c.emit.structured import StructuredEmitter, is_structured
from riselang.frontends.c.emit.values import Emitter
from riselang.frontends.c.lift.choices import Choice, for_product, for_routine
from riselang.frontends.c.lift.costs import CALL
from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.schedule.isl_schedule import loops
from riselang.frontends.c.tactics.circles import Circle, circle_of
from riselang.frontends.c.tactics.parts import (
    Part,
    circles_of,
    part_of,
    separate_parts,
    together,
)
from riselang.frontends.c.tactics.products import Product
from riselang.frontends.c.tactics.routines import Routine, routine_of
from riselang.frontends.c.tactics.row_products import RowProduct
from riselang.frontends.c.tactics.structures import NotLifted
from riselang.support.config import Options


def with_calls(region: Scop, scop: Scop, options: Options, schedule: str) -> Any:
    """Replace the products that a library routine computes by calls of it.

    `scop` is the region transformed as the float permission allows.
    """
    chosen = {part.names: found for part, found in called_parts(region, options)
              if found.choice.way is CALL}  # fmt: skip
    if not chosen:
        return loops(scop, schedule)
    parts = together(separate_parts(region), lambda part: part.names in chosen)
    return tuple(
        _call(chosen[part.names].what)
        if part.names in chosen
        else loops(part_of(scop, part, number), schedule)
        for number, part in enumerate(parts)
    )


@dataclass(frozen=True)
class Called:
    """A computation of a routine, and whether it is called."""

    what: Product | RowProduct | Routine
    choice: Choice


def called_parts(region: Scop, options: Options) -> list[tuple[Part, Called]]:
    """Return the parts of a region that routines compute."""
    if dependences(region) is None:
        return []
    found: list[tuple[Part, Called]] = []
    for part in separate_parts(region):
        what = part.product
        if isinstance(what, RowProduct):
            choice = for_product(region, what.product, options)
        elif isinstance(what, Product):
            choice = for_product(region, what, options)
        else:
            routine = _routine(region, part)
            if routine is None:
                continue
            what, choice = routine, for_routine(region, routine)
        found.append((part, Called(what, choice)))
    return found


def _routine(region: Scop, part: Part) -> Routine | None:
    return routine_of(region, region.statement(part.names[0])) if len(part.names) == 1 else None


def _call(what: Product | RowProduct | Routine) -> Any:
    return lambda out: _emit_call(out, what)


def _emit_call(out: Emitter, what: Product | RowProduct | Routine) -> None:
    if isinstance(what, Product):
        with out.at(what.target.access.place):
            CallEmitter(out, what).run()
    elif isinstance(what, RowProduct):
        with out.at(what.product.target.access.place):
            RowCallEmitter(out, what).run()
    else:
        with out.at(what.target.access.place):
            RoutineEmitter(out, what).run()


def with_structures(scop: Scop, schedule: str) -> Any:
    """Replace statements over boxes of elements by linalg ops."""
    circles = [tuple(circle) for circle in circles_of(scop)]
    found = {circle: _structured(scop, circle) for circle in circles}
    parts = together([Part(circle) for circle in circles], lambda part: part.names in found
                     and found[part.names] is not None)  # fmt: skip
    steps: list[Any] = []
    for number, part in enumerate(parts):
        circle = found.get(part.names)
        if circle is not None:
            steps.append(_structures(circle))
        else:
            steps.append(loops(part_of(scop, part, number), schedule))
    return tuple(steps)


def _structured(scop: Scop, names: Sequence[str]) -> Circle | None:
    """Return statements that all become ops; None if one does not."""
    try:
        circle = circle_of(scop, names)
    except NotLifted:
        return None
    return circle if all(map(is_structured, circle.structures)) else None


def _structures(circle: Circle) -> Any:
    return lambda out: _emit_structures(out, circle, list(circle.around))


def _emit_structures(out: Emitter, circle: Circle, around: Sequence[str]) -> None:
    """Emit the ops of a dependence cycle, in the remaining loops."""
    if not around:
        for structure in circle.structures:
            StructuredEmitter(out, structure).run()
        return
    range_ = circle.around[around[0]]
    block = Block(arg_types=[INDEX])
    block.args[0].name_hint = around[0]
    out.indices.others[around[0]] = block.args[0]
    with out.inside(block):
        _emit_structures(out, circle, around[1:])
        out.insert(scf.YieldOp())
    first, end = (out.indices.value(each) for each in (range_.first, range_.first + range_.length))
    out.insert(scf.ForOp(first, end, out.indices.constant(1), [], Region(block)))
    del out.indices.others[around[0]]
