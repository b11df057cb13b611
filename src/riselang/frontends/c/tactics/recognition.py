"""Recognition of what each statement of a region computes, or why it is not recognized."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.parse.syntax import (
    Access,
    Assign,
    Binary,
    Call,
    Conditional,
    Literal,
    walk_expression,
)
from riselang.frontends.c.tactics.boxes import (
    DEPENDENT_BOUNDS,
    NotLifted,
    is_product,
    why_not_dense,
)
from riselang.frontends.c.tactics.loop_distribution import count_remaining_loops
from riselang.frontends.c.tactics.matching import (
    Factor,
    NoMatch,
    Update,
    loop_and_offset,
    read_factor,
    read_updates,
)
from riselang.frontends.c.tactics.matrix_products import NoProduct, read_product
from riselang.frontends.c.tactics.structures import Structure, read_structure
from riselang.frontends.c.tactics.tactic_library import TACTICS


@dataclass(frozen=True)
class Recognition:
    """A statement, its tactic, and what was proved about it."""

    statement: ModelStatement
    tactic: str | None
    outer_loops: tuple[str, ...] = ()
    """The loops that remain around it after loop distribution."""
    reason: str = ""
    """If it is not recognized: the nearest tactic and the condition that fails."""


@lru_cache(maxsize=64)
def recognize_statements(scop: Scop) -> tuple[Recognition, ...]:
    """Recognize each statement of a region."""
    if dependences(scop) is None:
        reason = "analyzing the dependences of the region takes too long"
        return tuple(Recognition(each, None, (), reason) for each in scop.statements)
    return tuple(_recognize_statement(scop, each) for each in scop.statements)


def _recognize_statement(scop: Scop, statement: ModelStatement) -> Recognition:
    depth = count_remaining_loops(scop, statement)
    outer_loops = tuple(name for _, name in statement.iterators[:depth])
    try:
        update, *other_updates = read_updates(statement)
        if other_updates:
            return _recognize_symmetric(scop, statement, outer_loops, (update, *other_updates))
    except NoMatch as reason:
        return _recognize_map(scop, statement, outer_loops, str(reason))
    inner = [name for _, name in statement.iterators[depth:]]
    used = {name for factor in (update.target, *update.factors) for name in factor.loops}
    name = _tactic_name(update, outer_loops)
    idle = [loop for loop in inner if loop not in used]
    if idle:
        reason = f"the closest tactic is {name}, but the loop over {idle[0]} repeats it"
        return Recognition(statement, None, outer_loops, reason)
    failure = _why_no_box(statement, outer_loops)
    if not failure:
        return Recognition(statement, name, outer_loops)
    is_symmetric = len({factor.array for factor in update.factors}) == 1
    if name == "syrk" and is_symmetric and _is_triangle(statement, update):
        return Recognition(statement, "syrk", outer_loops)
    reason = f"the closest tactic is {name}, but {failure}"
    return Recognition(statement, None, outer_loops, reason)


def _recognize_symmetric(
    scop: Scop, statement: ModelStatement, outer_loops: tuple[str, ...], updates: tuple[Update, ...]
) -> Recognition:
    """Recognize an update that adds two products, the second with swapped factors (syr2k)."""
    try:
        if not outer_loops and read_product(scop, statement, updates).is_both:
            return Recognition(statement, "syr2k", outer_loops)
        reason = "enclosing loops remain sequential"
    except NoProduct as error:
        reason = str(error)
    assert isinstance(statement.body, Assign)
    kind, _ = _prove_structure(scop, statement, outer_loops, statement.body)
    if kind is not None:
        return Recognition(statement, kind, outer_loops)
    return Recognition(statement, None, outer_loops, f"the closest tactic is syr2k, but {reason}")


def _tactic_name(update: Update, outer_loops: tuple[str, ...]) -> str:
    """Return the name of the tactic that matches an update, ignoring the loops around it."""
    plain = _strip_outer_loops(update, outer_loops)
    factors = plain.factors
    if len(factors) == 2 and factors[0].array is factors[1].array:
        shared = set(factors[0].loops) & set(factors[1].loops)
        if len(plain.target.loops) == 2 and len(shared) == 1 and _ranks(plain) == [2, 2, 2]:
            return "syrk"
    for tactic in TACTICS:
        if any(pattern.match(plain) is not None for pattern in tactic.patterns):
            return tactic.name
    if len(factors) == 1:
        reduced_loops = set(factors[0].loops) - set(plain.target.loops)
        return "reduction" if reduced_loops else "elementwise"
    return "tensor contraction"


def _ranks(update: Update) -> list[int]:
    return [len(factor.loops) for factor in (update.target, *update.factors)]


def _strip_outer_loops(update: Update, outer_loops: tuple[str, ...]) -> Update:
    """Return an update as one iteration of the loops around it sees it: rows instead of arrays."""

    def strip(factor: Factor) -> Factor:
        return Factor(
            factor.access, tuple(loop for loop in factor.loops if loop not in outer_loops)
        )

    return Update(strip(update.target), tuple(map(strip, update.factors)), update.parts)


def _why_no_box(statement: ModelStatement, outer_loops: tuple[str, ...]) -> str:
    """Return why inner loops do not run over a box; empty if they do."""
    positions = range(len(outer_loops), len(statement.iterators))
    if not is_product(statement.domain, positions):
        return why_not_dense(statement, positions) or DEPENDENT_BOUNDS
    return why_not_dense(statement, positions)


def _is_triangle(statement: ModelStatement, update: Update) -> bool:
    """Whether the domain is the part of a box on one side of the target's diagonal, and on it."""
    names = [name for _, name in statement.iterators]
    first, second = (names.index(loop) for loop in update.target.loops)
    for row, column in ((first, second), (second, first)):
        rows = statement.domain.eliminate(isl().dim_type.set, column, 1)
        square = rows.intersect(_move_dimension(rows, row, column))
        if _points_below_diagonal(square, row, column).is_equal(statement.domain):
            return True
    return False


def _move_dimension(points: Any, source: int, target: int) -> Any:
    """Impose the conditions on dimension `source` on dimension `target` instead."""
    dims = isl().dim_type
    space = points.get_space()
    relation = isl().Map.universe(space.map_from_set())
    relation = relation.equate(dims.in_, source, dims.out, target)
    for position in range(space.dim(dims.set)):
        if position not in (source, target):
            relation = relation.equate(dims.in_, position, dims.out, position)
    return points.apply(relation)


def _points_below_diagonal(points: Any, row: int, column: int) -> Any:
    """Return the points on and below the diagonal."""
    dims = isl().dim_type
    space = points.get_space()
    local = isl().LocalSpace.from_space(space)
    gap = isl().Constraint.alloc_inequality(local)
    gap = gap.set_coefficient_val(dims.set, row, isl().Val(1))
    gap = gap.set_coefficient_val(dims.set, column, isl().Val(-1))
    return points.intersect(isl().Set.universe(space).add_constraint(gap))


# Statements that do not add a product to their target


def _recognize_map(
    scop: Scop, statement: ModelStatement, outer_loops: tuple[str, ...], mismatch: str
) -> Recognition:
    """Recognize a map, a copy, a transposition or a stencil; else say why it is not a product."""

    def not_recognized(reason: str) -> Recognition:
        return Recognition(statement, None, outer_loops, reason)

    body = statement.body
    if not isinstance(body, Assign):
        return not_recognized("it is data-dependent")
    kind, failure = _prove_structure(scop, statement, outer_loops, body)
    if kind is not None:
        return Recognition(statement, kind, outer_loops)
    if not body.target.indices:
        return not_recognized("it assigns a scalar variable")
    try:
        target = read_factor(body.target, statement)
    except NoMatch:
        return not_recognized(f"the closest tactic is a map, but {failure}")
    inner = [name for _, name in statement.iterators if name not in outer_loops]
    idle = [loop for loop in inner if loop not in target.loops]
    if idle:
        return not_recognized(f"{mismatch}; the loop over {idle[0]} repeats it")
    if _depends_on_itself(scop, statement, outer_loops):
        return not_recognized(
            f"{mismatch}; it also reads elements that it writes in other iterations"
        )
    if failure := _why_no_box(statement, outer_loops):
        return not_recognized(f"the closest tactic is a map, but {failure}")
    return Recognition(statement, _map_kind(body, statement, target.loops), outer_loops)


def _prove_structure(
    scop: Scop, statement: ModelStatement, outer_loops: tuple[str, ...], body: Assign
) -> tuple[str | None, str]:
    """Return the tactic of a statement whose domain is a box, if all requirements of the patterns
    are proved; else None and the reason."""
    try:
        structure = read_structure(scop, statement, outer_loops)
    except NotLifted as reason:
        return None, str(reason)
    if not structure.reduction_loops:
        return _map_kind(body, statement, structure.target.loops), ""
    is_sum = _is_sum(structure)
    if not is_sum and not _is_min_or_max(structure):
        return (
            None,
            f"the loop over {structure.reduction_loops[0]} computes neither a sum nor an extremum",
        )
    if not any(len(axis.loops) > 1 for read in structure.reads for axis in read.axes):
        return "reduction", ""
    # A sliding window: its elements are weighted, or not.
    is_weighted = is_sum and len({read.array for read in structure.reads}) > 1
    return "convolution" if is_weighted else "pooling", ""


def _is_sum(structure: Structure) -> bool:
    """Match `target = target + e`, for any e."""
    value = structure.value
    if not isinstance(value, Binary) or value.operator != "+":
        return False
    sides = [
        side for side in (value.left, value.right)
        if any(isinstance(part, Access) and structure.is_target(part)
               for part in walk_expression(side))
    ]  # fmt: skip
    return len(sides) == 1 and isinstance(sides[0], Access)


def _map_kind(body: Assign, statement: ModelStatement, loops: tuple[str, ...]) -> str:
    value = body.value
    if isinstance(value, Literal):
        return "fill"
    names = [name for _, name in statement.iterators]
    reads = [part for part in walk_expression(value) if isinstance(part, Access) and part.indices]
    if isinstance(value, Access) and value.indices:
        try:
            source = read_factor(value, statement)
        except NoMatch:
            return "elementwise"
        if source.loops == loops:
            return "copy"
        return "transpose" if sorted(source.loops) == sorted(loops) else "elementwise"
    offsets_by_array: dict[object, set[tuple[object, ...]]] = {}
    for read in reads:
        subscript = statement.access_relations[read].indices or ()
        offsets = tuple(loop_and_offset(index, names) for index in subscript)
        offsets_by_array.setdefault(read.variable, set()).add(offsets)
    if not any(len(found) > 1 for found in offsets_by_array.values()):
        return "elementwise"
    has_constant_offsets = all(
        None not in offsets for found in offsets_by_array.values() for offsets in found
    )
    return "stencil" if has_constant_offsets else "affine map"


def _is_min_or_max(structure: Structure) -> bool:
    """Match `t = t < e ? e : t` and similar: the maximum or minimum of two."""
    match structure.value:
        case Conditional(condition=Binary(left=left, right=right), first=first, second=second):
            is_choice = {left, right} == {first, second}
        case Call(function="fmax" | "fmin" | "fmaxf" | "fminf", arguments=(first, second)):
            is_choice = True
        case _:
            return False
    targets = [each for each in (first, second) if isinstance(each, Access)
               and structure.is_target(each)]  # fmt: skip
    return is_choice and len(targets) == 1


def _depends_on_itself(scop: Scop, statement: ModelStatement, outer_loops: tuple[str, ...]) -> bool:
    has_dependence: list[bool] = []
    dims = isl().dim_type

    def check_pair(pair: Any) -> None:
        source = pair.get_tuple_name(dims.in_)
        target = pair.get_tuple_name(dims.out)
        if source == target == statement.name:
            for position in range(len(outer_loops)):
                pair = pair.equate(dims.in_, position, dims.out, position)
            has_dependence.append(not pair.is_empty())

    pairs = dependences(scop)
    assert pairs is not None
    pairs.all.foreach_map(check_pair)
    return any(has_dependence)
