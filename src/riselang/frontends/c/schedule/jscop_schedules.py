"""Schedule trees of regions in JSCoP: the region must be ours, and its schedules become a band."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.schedule.jscop import (
    KINDS,
    PREFIX,
    Jscop,
    describe_arrays,
    find_jscop,
    statements_of,
)
from riselang.support.errors import UserError


def read_jscop_schedule(scop: Scop, text: str) -> Any:
    """Return the schedule tree of a region in a file; raise an error if the file changes anything
    else, or if a schedule has no time for an instance."""
    found = find_jscop(scop, text)
    reason = find_difference(scop, found)
    if reason is not None:
        raise UserError(f"JSCoP {found.name}: {reason}", scop.location)
    times = [
        _read_schedule(scop, statement, each.schedule)
        for statement, each in zip(statements_of(scop), found.statements, strict=True)
    ]
    lengths = sorted({each.dim(isl().dim_type.out) for each in times})
    if len(lengths) > 1:
        raise UserError(
            f"JSCoP {found.name}: schedules have {' and '.join(map(str, lengths))} dimensions; "
            "expected the same number for all statements: pad them with zeros",
            scop.location,
        )
    domain = scop.schedule.get_domain()
    tree = isl().Schedule.from_domain(domain)
    if not lengths[0]:
        return tree
    union = isl().UnionMap(f"{scop.prefix}{{ }}")
    for each in times:
        union = union.union(isl().UnionMap.from_map(each))
    return tree.insert_partial_schedule(isl().MultiUnionPwAff.from_union_map(union))


def find_difference(scop: Scop, found: Jscop) -> str | None:
    """Return what a file changes in a region besides its schedule; None if that is nothing."""
    statements = statements_of(scop)
    if len(found.statements) != len(statements):
        names = ", ".join(each.name for each in statements)
        return f"expected {len(statements)} statements ({names}), but found {len(found.statements)}"
    try:
        context = _with_parameters(scop, isl().Set(found.context))
        if not context.is_params():
            return f"the context is not a set of parameters: {found.context}"
        reasons = [_array_difference(scop, found)]
        for statement, each in zip(statements, found.statements, strict=True):
            domain = _like_domain(scop, statement, isl().Set(each.domain))
            reasons.append(_domain_difference(statement, domain, context))
            reasons += _access_differences(scop, statement, each.accesses, context)
    except _Mismatch as mismatch:
        return str(mismatch)
    return next((reason for reason in reasons if reason is not None), None)


class _Mismatch(Exception):
    """A set or a map that is in another space than ours."""


def _with_parameters(scop: Scop, value: Any) -> Any:
    """Return a set or a map with our parameters: by name or, if a name is unknown, by position."""
    kind = isl().dim_type.param
    ours = [each.name for each in scop.parameters]
    theirs = [value.get_dim_name(kind, position) for position in range(value.dim(kind))]
    if set(theirs) <= set(ours):
        return value
    if len(theirs) != len(ours):
        raise _Mismatch(
            f"expected the parameters {', '.join(ours) or 'none'}, but found {', '.join(theirs)}"
        )
    for position, name in enumerate(ours):
        value = value.set_dim_name(kind, position, name)
    return value


def _like_domain(scop: Scop, statement: ModelStatement, value: Any) -> Any:
    """Return a domain, or a map from instances, in the space of a statement."""
    dims = isl().dim_type
    is_map = isinstance(value, isl().Map)
    kind = dims.in_ if is_map else dims.set
    expected = len(statement.iterators)
    if value.dim(kind) != expected:
        raise _Mismatch(
            f"{statement.name} has {expected} iterators, but {value.to_str()} has {value.dim(kind)}"
        )
    value = _with_parameters(scop, value)
    return (
        value.set_tuple_name(dims.in_, statement.name)
        if is_map
        else value.set_tuple_name(statement.name)
    )


def _domain_difference(statement: ModelStatement, domain: Any, context: Any) -> str | None:
    ours = statement.domain
    if ours.intersect_params(context).is_equal(domain.intersect_params(context)):
        return None
    return (
        f"the domain of {statement.name} cannot be changed: expected {ours.to_str()}, but found "
        f"{domain.to_str()}"
    )


def _array_difference(scop: Scop, found: Jscop) -> str | None:
    known = {each["name"]: each for each in describe_arrays(scop)}
    for name, rank, type in found.arrays:
        ours = known.get(name if name in known else f"{PREFIX}{name}")
        if ours is None:
            return f"{name} is not an array of the region; expected {', '.join(known) or 'none'}"
        if (rank, type) != (len(ours["sizes"]), ours["type"]):
            return (
                f"the array {name} cannot be changed: expected {ours['type']} with "
                f"{len(ours['sizes'])} dimensions, but found {type} with {rank}"
            )
    return None


def _access_differences(
    scop: Scop, statement: ModelStatement, given: tuple[tuple[str, str], ...], context: Any
) -> Iterator[str]:
    for kind, accesses in zip(KINDS, (statement.reads, statement.writes), strict=True):
        nothing = isl().UnionMap(f"{scop.prefix}{{ }}")
        ours, theirs = nothing, nothing
        for access in accesses:
            ours = ours.union(isl().UnionMap.from_map(statement.access_relations[access].relation))
        names = {each["name"] for each in describe_arrays(scop)}
        for known, text in given:
            if known == kind:
                relation = _like_domain(scop, statement, isl().Map(text))
                theirs = theirs.union(isl().UnionMap.from_map(_without_prefix(relation, names)))
        domain = isl().UnionSet.from_set(statement.domain).intersect_params(context)
        ours, theirs = ours.intersect_domain(domain), theirs.intersect_domain(domain)
        for said, difference in (
            ("new", theirs.subtract(ours)),
            ("missing", ours.subtract(theirs)),
        ):
            if not difference.is_empty():
                yield (
                    f"the accesses of {statement.name} cannot be changed: a {kind} is {said}: "
                    f"{difference.to_str()}"
                )


def _without_prefix(relation: Any, names: set[str]) -> Any:
    """Return a relation with our name of the array."""
    out = isl().dim_type.out
    name = relation.get_tuple_name(out) or ""
    return relation.set_tuple_name(out, name.removeprefix(PREFIX) if name in names else name)


def _read_schedule(scop: Scop, statement: ModelStatement, text: str) -> Any:
    """Return the map from the instances of a statement to their times."""
    try:
        times = _like_domain(scop, statement, isl().Map(text)).intersect_domain(statement.domain)
    except _Mismatch as mismatch:
        raise UserError(
            f"the schedule of {statement.name}: {mismatch}", statement.location
        ) from None
    name = times.get_tuple_name(isl().dim_type.out)
    late = statement.domain.subtract(times.domain())
    if name is None and times.is_single_valued() and late.is_empty():
        return times
    said = (
        f"times are named {name}" if name is not None
        else f"instances without a time: {late.to_str()}" if not late.is_empty()
        else "an instance has several times"
    )  # fmt: skip
    raise UserError(
        f"the schedule of {statement.name} must give each instance one vector of numbers, but "
        f"{said}",
        statement.location,
    )
