"""Queries to z3: whether conditions are satisfiable together."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import reduce
from importlib import import_module
from typing import Any

from riselang.nat import Atom, FloorDiv, Max, Min, Mod, Nat, Variable
from riselang.rewrite.proving.query_simplification import Query, lower_bounds, simplify_query
from riselang.rewrite.proving.size_conditions import Condition, Relation, at_least, in_range
from riselang.rewrite.proving.symbols import Symbols
from riselang.support.errors import LimitationError

STEPS_PER_MS = 5_000
"""The approximate number of z3 steps in a millisecond."""


class Outcome(Enum):
    """Whether there are sizes and indices for which conditions hold."""

    POSSIBLE = "possible"
    IMPOSSIBLE = "impossible"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Answer:
    """An outcome, and if it is possible, sizes for which the conditions hold."""

    outcome: Outcome
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])


IMPOSSIBLE = Answer(Outcome.IMPOSSIBLE)


def load_z3() -> Any:
    """Import z3, which has no type annotations and is large, only when it is needed."""
    try:
        return import_module("z3")
    except ModuleNotFoundError:
        raise LimitationError(
            "proofs need z3; install it with pip install 'riselang[proofs]'"
        ) from None


class Solver:
    """Queries about the sizes and indices of one proof."""

    def __init__(
        self,
        symbols: Symbols,
        sizes: Sequence[str],
        assumptions: Sequence[Condition],
        timeout_ms: int,
    ):
        self._z3 = load_z3()
        self._symbols = symbols
        self._sizes = tuple(sizes)
        self._assumptions = (*assumptions, *(at_least(Nat.var(size), 0) for size in sizes))
        self._timeout_ms = timeout_ms
        self._answers: dict[tuple[Condition, ...], Answer] = {}

    def satisfy(self, path: tuple[Condition, ...]) -> Answer:
        """Ask whether all conditions of the path can hold together."""
        if path not in self._answers:
            self._answers[path] = self._ask(path)
        return self._answers[path]

    def _ask(self, path: tuple[Condition, ...]) -> Answer:
        query = simplify_query(self._query(path))
        if any(condition.constant_value is False for condition in query.conditions):
            return IMPOSSIBLE
        solver = self._z3.Solver()
        # Limited by steps, not by time: a proof must not depend on how busy the machine is.
        solver.set("rlimit", self._timeout_ms * STEPS_PER_MS)
        encoding = _Encoding(self._z3, self._symbols, query)
        solver.add(*[encoding.condition(condition) for condition in query.conditions])
        solver.add(*encoding.definitions)
        outcome = solver.check()
        if outcome == self._z3.unsat:
            return IMPOSSIBLE
        if outcome == self._z3.unknown:
            return Answer(Outcome.UNKNOWN)
        model = solver.model()
        sizes = {
            size: model.eval(
                encoding.nat(query.express(Nat.var(size))), model_completion=True
            ).as_long()
            for size in self._sizes
        }
        return Answer(Outcome.POSSIBLE, sizes)

    def _query(self, path: tuple[Condition, ...]) -> Query:
        conditions = [*self._assumptions, *path]
        unknown = self._unknown_indices(path)
        for name in unknown:
            conditions.extend(in_range(Nat.var(name), self._symbols.bounds[name]))
        bounds: dict[str, Nat | None] = dict.fromkeys(self._sizes)
        # An unknown index is not split into digits, since it is a function of other indices.
        bounds.update(
            (name, bound)
            for name, bound in self._symbols.bounds.items()
            if name not in self._symbols.unknown and _occurs(name, path)
        )
        return Query(tuple(conditions), bounds, lower_bounds(self._assumptions))

    def _unknown_indices(self, path: tuple[Condition, ...]) -> list[str]:
        """The unknown indices in a path, and those that they depend on."""
        pending = [name for condition in path for name in condition.variables]
        unknown_names: dict[str, None] = {}
        while pending:
            name = pending.pop()
            function_application = self._symbols.congruence(name)
            if function_application is not None and name not in unknown_names:
                unknown_names[name] = None
                pending.extend(
                    inner for part in function_application[1] for inner in part.variables
                )
        return list(unknown_names)


def _occurs(name: str, path: tuple[Condition, ...]) -> bool:
    return any(name in condition.variables for condition in path)


class _Encoding:
    """Naturals as z3 integers; a division by a size becomes two integers with axioms."""

    def __init__(self, z3: Any, symbols: Symbols, query: Query):
        self._z3 = z3
        self._symbols = symbols
        self._query = query
        self._divisions: dict[tuple[Nat, Nat], tuple[Any, Any]] = {}
        self._functions: dict[Hashable, Any] = {}
        self.definitions: list[Any] = []

    def condition(self, condition: Condition) -> Any:
        left, right = self.nat(condition.left), self.nat(condition.right)
        match condition.relation:
            case Relation.AT_LEAST:
                return left >= right
            case Relation.EQUAL:
                return left == right
            case Relation.DIFFERENT:
                return left != right

    def nat(self, nat: Nat) -> Any:
        total: Any = self._z3.IntVal(nat.offset)
        for coefficient, monomial in nat.symbolic:
            factors = (self._atom(atom) for atom, power in monomial for _ in range(power))
            total = total + reduce(lambda x, y: x * y, factors) * coefficient
        return total

    def _atom(self, atom: Atom) -> Any:
        match atom:
            case Variable(name):
                return self._variable(name)
            case FloorDiv(dividend, divisor):
                return self._division(dividend, divisor)[0]
            case Mod(dividend, divisor):
                return self._division(dividend, divisor)[1]
            case Min(arguments):
                return reduce(lambda x, y: self._z3.If(x < y, x, y), map(self.nat, arguments))
            case Max(arguments):
                return reduce(lambda x, y: self._z3.If(x > y, x, y), map(self.nat, arguments))

    def _variable(self, name: str) -> Any:
        function_application = self._symbols.congruence(name)
        if function_application is None:
            return self._z3.Int(name)
        head, arguments = function_application
        if not arguments:
            return self._z3.Int(name)
        if head not in self._functions:
            sorts = [self._z3.IntSort()] * (len(arguments) + 1)
            self._functions[head] = self._z3.Function(f"$f{len(self._functions)}", *sorts)
        return self._functions[head](*[self.nat(self._query.express(part)) for part in arguments])

    def _division(self, dividend: Nat, divisor: Nat) -> tuple[Any, Any]:
        z3_dividend, z3_divisor = self.nat(dividend), self.nat(divisor)
        if divisor.is_constant:
            return z3_dividend / z3_divisor, z3_dividend % z3_divisor
        if (dividend, divisor) not in self._divisions:
            number = len(self._divisions)
            quotient, remainder = self._z3.Ints(f"$q{number} $r{number}")
            self._divisions[dividend, divisor] = quotient, remainder
            self.definitions += self._division_axioms(z3_dividend, z3_divisor, quotient, remainder)
        return self._divisions[dividend, divisor]

    def _division_axioms(
        self, dividend: Any, divisor: Any, quotient: Any, remainder: Any
    ) -> list[Any]:
        """The definition of division, and consequences of it that z3 does not find easily."""
        implies, conjunction = self._z3.Implies, self._z3.And
        return [
            divisor >= 1,
            dividend == quotient * divisor + remainder,
            remainder >= 0,
            remainder < divisor,
            implies(dividend >= 0, conjunction(quotient >= 0, quotient <= dividend)),
            implies(dividend < 0, quotient < 0),
            implies(conjunction(dividend >= 0, dividend < divisor), quotient == 0),
            implies(dividend >= divisor, quotient >= 1),
        ]
