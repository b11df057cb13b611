"""Simplification of conditions for the solver: eliminates divisions and conditions that hold.

See Note [Divisions].
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from riselang.nat import Atom, Facts, FloorDiv, Mod, Nat, Variable, simplify
from riselang.nat.atoms import operands
from riselang.nat.division import exact_quotient
from riselang.rewrite.proving.size_conditions import Condition, Relation, at_least, in_range

MAX_DIVISIONS = 24
"""A limit above the number of divisions in any law."""


@dataclass(frozen=True)
class Query:
    """Conditions, and the known bounds of their variables, which are all at least 0."""

    conditions: tuple[Condition, ...]
    bounds: Mapping[str, Nat | None]
    """Exclusive upper bounds of variables; only these may be split into digits."""
    lower: Mapping[str, int]
    """Lower bounds of variables, where greater than 0."""
    substitutions: tuple[tuple[str, Nat], ...] = ()
    """The substitutions of variables, in order."""

    @property
    def facts(self) -> Facts:
        facts = Facts()
        for name in sorted({*self.bounds, *self.lower}):
            bound = self.bounds.get(name)
            upper = None if bound is None else bound - 1
            facts = facts.with_bounds(name, self.lower.get(name, 0), upper)
        return facts

    def express(self, nat: Nat) -> Nat:
        """Express a natural in the remaining variables."""
        for name, value in self.substitutions:
            nat = nat.substitute({name: value})
        return nat


def simplify_query(query: Query) -> Query:
    """Decide conditions where possible, and split divided indices into digits."""
    for number in range(MAX_DIVISIONS):
        query = _drop_decided(query)
        division = next(_divisions(query.conditions, query.bounds), None)
        if division is None:
            break
        query = _split_into_digits(query, division, f"$h{number}", f"$l{number}")
    return query


def _drop_decided(query: Query) -> Query:
    facts = query.facts
    simplified = [
        condition.map_sides(lambda nat: simplify(nat, facts)) for condition in query.conditions
    ]
    remaining = dict.fromkeys(
        condition for condition in simplified if condition.constant_value is not True
    )
    return replace(query, conditions=tuple(remaining))


def _split_into_digits(query: Query, division: Division, high_name: str, low_name: str) -> Query:
    name, divisor = division
    high, low = Nat.var(high_name), Nat.var(low_name)
    digits = {name: high * divisor + low}
    bound = query.bounds[name]
    high_bound = None if bound is None else exact_quotient(bound, divisor)
    bounds = {
        other: None if bound_of_other is None else bound_of_other.substitute(digits)
        for other, bound_of_other in query.bounds.items()
        if other != name
    }
    conditions = (
        *(
            condition.map_sides(lambda nat: nat.substitute(digits))
            for condition in query.conditions
        ),
        *(at_least(divisor, 1), at_least(high, 0)),
        *in_range(low, divisor),
        *(() if high_bound is None else in_range(high, high_bound)),
    )
    return Query(
        conditions,
        {**bounds, high_name: high_bound, low_name: divisor},
        query.lower,
        (*query.substitutions, (name, digits[name])),
    )


class Division(NamedTuple):
    """A variable, and a natural without that variable by which it is divided."""

    name: str
    divisor: Nat


def _atoms(nat: Nat) -> Iterator[Atom]:
    for atom in nat.atoms():
        for operand in operands(atom):
            yield from _atoms(operand)
        yield atom


def _divisions(conditions: Sequence[Condition], names: Collection[str]) -> Iterator[Division]:
    for condition in conditions:
        for atom in (*_atoms(condition.left), *_atoms(condition.right)):
            if not isinstance(atom, FloorDiv | Mod):
                continue
            variable = atom.dividend.atom
            if not isinstance(variable, Variable) or variable.name in atom.divisor.variables:
                continue
            if variable.name in names:
                yield Division(variable.name, atom.divisor)


def lower_bounds(conditions: Sequence[Condition]) -> dict[str, int]:
    """Return the variables that the conditions bound below by a positive number."""
    bounds: dict[str, int] = {}
    for condition in conditions:
        difference = condition.left - condition.right
        variable = (difference - difference.offset).atom
        if condition.relation is Relation.AT_LEAST and isinstance(variable, Variable):
            bounds[variable.name] = max(bounds.get(variable.name, 0), -difference.offset)
    return {name: bound for name, bound in bounds.items() if bound > 0}


# Note [Divisions]
#
# Solvers are weak on divisions of an index by a symbolic size. But any index i is q * m + r for
# exactly one q and one r in [0, m), so a statement for all i is one for all such q and r; after
# this substitution, i floordiv m is q and i mod m is r, and the solver sees polynomials. If i is
# below n * m, q is below n.
#
# m is at least 1 because of where divisions come from. A join divides by the length of its rows,
# and only where an element is read, so there is one; and types with a division are undefined for a
# divisor of 0. Conditions on a path and compared indices are computed only where elements are
# read, so their divisors are positive. For the same reason, an unknown index in them is in range.
