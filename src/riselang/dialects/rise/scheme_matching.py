"""One-way matching of a type scheme against types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from riselang.dialects.rise.type_binding import nat_variables, substitute
from riselang.dialects.rise.types import (
    ArrayType,
    FunType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    TypeVariable,
    VectorType,
    uncurry,
)
from riselang.nat import Nat, Solved, solve

Binding = dict[str, Nat | RiseType]
Equation = tuple[Nat, Nat]


def match_scheme(
    scheme: FunType, types: Sequence[RiseType], known: Mapping[str, Nat] | None = None
) -> Binding | None:
    """The values of the variables of `scheme` for which its arguments and result are `types`."""
    inputs, result = uncurry(_rename_sizes(scheme))
    given = {f"?{name}": size for name, size in (known or {}).items()}
    pairs = list(zip((*inputs, result), types, strict=True))
    found: dict[str, RiseType] = {}
    equations: list[Equation] = []
    if not all(_match_types(left, right, found, equations) for left, right in pairs):
        return None
    sizes = _solve_sizes(equations, given)
    if sizes is None or any(substitute(left, sizes, found) != right for left, right in pairs):
        return None
    return {**{name[1:]: size for name, size in sizes.items()}, **found}


@cache
def _rename_sizes(scheme: FunType) -> RiseType:
    """Rename the sizes of a scheme to `?n`, so that they cannot clash with the user's names."""
    unknowns = {name: Nat.var(f"?{name}") for name in nat_variables(scheme)}
    return substitute(scheme, unknowns, {})


def _match_types(
    left: RiseType, right: RiseType, types: dict[str, RiseType], equations: list[Equation]
) -> bool:
    match left, right:
        case TypeVariable(), _:
            return types.setdefault(left.label.data, right) == right
        case ArrayType(), ArrayType():
            equations.append((left.length, right.length))
            return _match_types(left.element, right.element, types, equations)
        case VectorType(), VectorType():
            equations.append((left.length, right.length))
            return _match_types(left.element, right.element, types, equations)
        case IdxType(), IdxType():
            equations.append((left.bound, right.bound))
            return True
        case TupleType(), TupleType():
            return _match_types(left.first, right.first, types, equations) and _match_types(
                left.second, right.second, types, equations
            )
        case FunType(), FunType():
            return _match_types(left.input, right.input, types, equations) and _match_types(
                left.output, right.output, types, equations
            )
        case ScalarType(), ScalarType():
            return left == right
        case _:
            return False


def _solve_sizes(
    equations: list[Equation], known_sizes: Mapping[str, Nat]
) -> dict[str, Nat] | None:
    """Solve by substitution; an equation with several unknowns is deferred."""
    solution = dict(known_sizes)
    waiting = equations
    while waiting:
        deferred: list[Equation] = []
        for left, right in waiting:
            left = left.substitute(solution)
            unknowns = [name for name in left.variables if name.startswith("?")]
            # An equation with several unknowns, such as 0 = n * m, may have several solutions.
            answer = solve(left, right, unknowns) if len(unknowns) < 2 else None
            if isinstance(answer, Solved):
                solution.update(answer.substitution)
            else:
                deferred.append((left, right))
        if len(deferred) == len(waiting):
            return None
        waiting = deferred
    return solution
