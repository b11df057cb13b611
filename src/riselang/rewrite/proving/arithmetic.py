"""Conditions made easy for a solver: divisions become digits, and what bounds decide is decided.

See Note [Divisions].
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from riselang.nat import Atom, Facts, FloorDiv, Mod, Nat, Variable, simplify
from riselang.nat.atoms import operands
from riselang.nat.division import exact_quotient
from riselang.rewrite.proving.conditions import Condition, Relation, at_least, in_range

ROUNDS = 24
"""More divisions than laws have."""


@dataclass(frozen=True)
class Query:
    """Conditions, and what is known of their variables, which all are at least 0."""

    conditions: tuple[Condition, ...]
    bounds: Mapping[str, Nat | None]
    """What variables are below; only these may be written as digits."""
    lower: Mapping[str, int]
    """Where a variable is known to be at least more than 0."""
    replaced: tuple[tuple[str, Nat], ...] = ()
    """What was put in the place of variables, in turn."""

    @property
    def facts(self) -> Facts:
        facts = Facts()
        for name in sorted({*self.bounds, *self.lower}):
            above = self.bounds.get(name)
            upper = None if above is None else above - 1
            facts = facts.with_bounds(name, self.lower.get(name, 0), upper)
        return facts

    def at(self, nat: Nat) -> Nat:
        """A natural in the variables that are left."""
        for name, value in self.replaced:
            nat = nat.substitute({name: value})
        return nat


def simplified(query: Query) -> Query:
    """Decides what can be decided, and writes indices that are divided as digits."""
    for number in range(ROUNDS):
        query = _decided(query)
        division = next(_divisions(query.conditions, query.bounds), None)
        if division is None:
            break
        query = _with_digits(query, division, f"$h{number}", f"$l{number}")
    return query


def _decided(query: Query) -> Query:
    facts = query.facts
    simple = [condition.mapped(lambda nat: simplify(nat, facts)) for condition in query.conditions]
    left = dict.fromkeys(condition for condition in simple if condition.decided is not True)
    return replace(query, conditions=tuple(left))


def _with_digits(query: Query, division: Division, high_name: str, low_name: str) -> Query:
    name, divisor = division
    high, low = Nat.var(high_name), Nat.var(low_name)
    digits = {name: high * divisor + low}
    bound = query.bounds[name]
    rows = None if bound is None else exact_quotient(bound, divisor)
    bounds = {
        other: None if above is None else above.substitute(digits)
        for other, above in query.bounds.items()
        if other != name
    }
    conditions = (
        *(condition.mapped(lambda nat: nat.substitute(digits)) for condition in query.conditions),
        *(at_least(divisor, 1), at_least(high, 0)),
        *in_range(low, divisor),
        *(() if rows is None else in_range(high, rows)),
    )
    return Query(
        conditions,
        {**bounds, high_name: rows, low_name: divisor},
        query.lower,
        (*query.replaced, (name, digits[name])),
    )


class Division(NamedTuple):
    """A variable, and a natural without it by which it is divided."""

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


def least(conditions: Sequence[Condition]) -> dict[str, int]:
    """The variables that conditions say to be at least a positive number."""
    found: dict[str, int] = {}
    for condition in conditions:
        difference = condition.left - condition.right
        variable = (difference - difference.offset).atom
        if condition.relation is Relation.AT_LEAST and isinstance(variable, Variable):
            found[variable.name] = max(found.get(variable.name, 0), -difference.offset)
    return {name: bound for name, bound in found.items() if bound > 0}


# Note [Divisions]
#
# Solvers are weak where an index is divided by a symbolic size. But any index i is q * m + r for
# exactly one q and one r in [0, m), so a statement for all i is one for all such q and r; written
# with them, i floordiv m is q and i mod m is r, and the solver sees polynomials. If i is below
# n * m, q is below n.
#
# That m is at least 1 follows from where divisions come from. Joins divide by the length of their
# rows, and only where an element is read, so that there is one; and types with a division mean
# nothing for a divisor of 0. A condition on a path and an index that is compared are both
# computed only where elements are read, so what they divide by is positive. For the same reason
# an unknown index that they mention is in its range.
