"""Minimum and maximum in normal form, and rebuilding any atom from new operands."""

from __future__ import annotations

from collections.abc import Callable

from riselang.nat.atoms import Atom, FloorDiv, Max, Min, Mod, Term, Variable
from riselang.nat.errors import NatError
from riselang.nat.natural import Nat, NatLike, as_nat


def nat_min(*arguments: NatLike) -> Nat:
    """The smallest argument."""
    return _extremum(Min, min, arguments)


def nat_max(*arguments: NatLike) -> Nat:
    """The largest argument."""
    return _extremum(Max, max, arguments)


def rebuild(atom: Atom, function: Callable[[Nat], Nat]) -> Nat:
    """Apply the atom's operation to its operands mapped by `function`."""
    match atom:
        case Variable():
            return Nat.from_atom(atom)
        case FloorDiv(dividend, divisor):
            return function(dividend) // function(divisor)
        case Mod(dividend, divisor):
            return function(dividend) % function(divisor)
        case Min(arguments):
            return nat_min(*map(function, arguments))
        case Max(arguments):
            return nat_max(*map(function, arguments))


def _extremum(
    kind: type[Min] | type[Max],
    choose: Callable[[int, int], int],
    arguments: tuple[NatLike, ...],
) -> Nat:
    # Of arguments with the same symbolic part, the constants decide which is the extremum.
    offsets: dict[tuple[Term, ...], int] = {}
    for argument in _flatten_arguments(kind, arguments):
        known = offsets.setdefault(argument.symbolic, argument.offset)
        offsets[argument.symbolic] = choose(known, argument.offset)
    candidates = [Nat(symbolic, offset) for symbolic, offset in offsets.items()]
    if not candidates:
        raise NatError("minimum or maximum of nothing")
    if len(candidates) == 1:
        return candidates[0]
    candidates.sort(key=lambda nat: (nat.is_constant, nat.sort_key))
    return Nat.from_atom(kind(tuple(candidates)))


def _flatten_arguments(kind: type[Min] | type[Max], arguments: tuple[NatLike, ...]) -> list[Nat]:
    flattened: list[Nat] = []
    for argument in map(as_nat, arguments):
        atom = argument.atom
        flattened.extend(atom.arguments if isinstance(atom, kind) else (argument,))
    return flattened
