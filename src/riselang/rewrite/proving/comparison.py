"""Equality of two symbolic values for all sizes, indices and inputs."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import shorten

from riselang.dialects.rise.types import (
    ArrayType,
    FunType,
    IdxType,
    RiseType,
    TupleType,
    VectorType,
    components,
)
from riselang.nat import Nat
from riselang.rewrite.proving.conditions import Condition, at_least, equal, in_range
from riselang.rewrite.proving.folds import normal, peeled
from riselang.rewrite.proving.solver import Outcome, Solver
from riselang.rewrite.proving.symbols import Symbols
from riselang.rewrite.proving.values import (
    Choice,
    Fold,
    Number,
    Opaque,
    Place,
    Value,
    apply,
    at_place,
    element,
    first,
    second,
)

STEPS = 16
"""The most steps of a reduction that a proof unrolls: symbolic lengths would never end."""

Path = tuple[Condition, ...]
"""The conditions under which two values are compared."""


class Unequal(Exception):
    """The values could not be proved equal; they may differ at these sizes."""

    def __init__(self, reason: str, sizes: Mapping[str, int]):
        super().__init__(reason)
        self.reason = reason
        self.sizes = sizes


class Comparison:
    """Equality of values, type by type."""

    def __init__(self, symbols: Symbols, solver: Solver):
        self._symbols = symbols
        self._solver = solver
        self._steps_left = STEPS

    def equal(self, type: RiseType, left: Value, right: Value, path: Path) -> None:
        """Raise Unequal unless the values are equal wherever the path holds."""
        match type:
            case ArrayType() | VectorType():
                self._elements(type, left, right, path)
            case TupleType():
                one, other = components(type)
                self.equal(one, first(left), first(right), path)
                self.equal(other, second(left), second(right), path)
            case FunType():
                argument = self._symbols.value(type.input)
                self.equal(type.output, apply(left, argument), apply(right, argument), path)
            case _:
                self._leaves(self._settled(left), self._settled(right), path)

    def _elements(
        self, type: ArrayType | VectorType, left: Value, right: Value, path: Path
    ) -> None:
        index = self._symbols.index(type.length)
        inside = (*path, *in_range(index, type.length))
        if self._holds_nowhere(inside):
            return
        self.equal(type.element, element(left, index), element(right, index), inside)

    def _settled(self, value: Value) -> Value:
        """Convert an unknown index to a natural, and normalize a reduction."""
        if isinstance(value, Opaque) and isinstance(value.type, IdxType):
            return self._symbols.number(value)
        return normal(value, self._symbols) if isinstance(value, Fold) else value

    def _leaves(self, left: Value, right: Value, path: Path) -> None:
        match left, right:
            case Choice(), _:
                for condition, value in _branches(left):
                    self._branch(condition, value, right, path)
            case _, Choice():
                for condition, value in _branches(right):
                    self._branch(condition, left, value, path)
            case Number(), Number():
                self._numbers("a number", left.value, right.value, path)
            case Opaque(), Opaque() if _alike(left, right):
                self._opaque(left, right, path)
            case Fold(), Fold() if left.accumulator == right.accumulator:
                self._loops(left, right, path)
            case Fold(), _:
                self._leaves(self._last_step(left, path), right, path)
            case _, Fold():
                self._leaves(left, self._last_step(right, path), path)
            case _:
                self._dead(path, "the two sides compute different values")

    def _branch(self, condition: Condition, left: Value, right: Value, path: Path) -> None:
        inside = (*path, condition)
        if not self._holds_nowhere(inside):
            self._leaves(self._settled(left), self._settled(right), inside)

    def _holds_nowhere(self, path: Path) -> bool:
        return self._solver.possible(path).outcome is Outcome.IMPOSSIBLE

    def _holds(self, condition: Condition, path: Path) -> bool:
        return self._holds_nowhere((*path, condition.negated))

    def _dead(self, path: Path, reason: str) -> None:
        """Succeed if the path cannot hold, since there is nothing to prove; else raise Unequal."""
        answer = self._solver.possible(path)
        if answer.outcome is Outcome.UNKNOWN:
            reason = "z3 cannot decide whether a case can occur"
        if answer.outcome is not Outcome.IMPOSSIBLE:
            raise Unequal(reason, answer.sizes)

    def _numbers(self, what: str, left: Nat, right: Nat, path: Path) -> None:
        if left == right:
            return
        answer = self._solver.possible((*path, equal(left, right).negated))
        if answer.outcome is Outcome.IMPOSSIBLE:
            return
        reason = f"{what} is {_short(left)} on the left and {_short(right)} on the right"
        if answer.outcome is Outcome.UNKNOWN:
            reason = f"{reason}, and z3 cannot decide whether they are equal"
        raise Unequal(reason, answer.sizes)

    def _places(self, left: Place, right: Place, path: Path) -> None:
        for one, other in zip(left, right, strict=True):
            if isinstance(one, Nat) and isinstance(other, Nat):
                self._numbers("an index", one, other, path)

    def _opaque(self, left: Opaque, right: Opaque, path: Path) -> None:
        self._places(left.place, right.place, path)
        for one, other in zip(left.arguments, right.arguments, strict=True):
            self.equal(one.type, one.value, other.value, path)

    def _loops(self, left: Fold, right: Fold, path: Path) -> None:
        """Compare two reductions step by step, or unroll those with few steps."""
        try:
            self._folds(left, right, path)
        except Unequal:
            if not left.length.is_constant or not right.length.is_constant:
                raise
            steps = self._last_step(left, path), self._last_step(right, path)
            self._leaves(*steps, path)

    def _folds(self, left: Fold, right: Fold, path: Path) -> None:
        if _shape(left.place) != _shape(right.place):
            self._dead(path, "the two sides read different parts of a reduction")
            return
        self._places(left.place, right.place, path)
        self._numbers("the length of a reduction", left.length, right.length, path)
        self.equal(left.accumulator, left.init, right.init, path)
        index = self._symbols.index(left.length)
        inside = (*path, *in_range(index, left.length))
        if self._holds_nowhere(inside):
            return
        accumulator = self._symbols.value(left.accumulator)
        steps = left.step(index, accumulator), right.step(index, accumulator)
        self.equal(left.accumulator, *steps, inside)

    def _last_step(self, fold: Fold, path: Path) -> Value:
        """Unroll the last step of a reduction, or return the initial value if it has no step."""
        self._steps_left -= 1
        if self._steps_left < 0:
            raise Unequal("one side is a reduction and the other is not", {})
        if self._holds(at_least(fold.length, 1), path):
            return self._settled(peeled(fold))
        if self._holds(equal(fold.length, 0), path):
            return self._settled(at_place(fold.init, fold.place))
        raise Unequal("one side is a reduction and the other is not", {})


def _branches(choice: Choice) -> tuple[tuple[Condition, Value], ...]:
    return (choice.condition, choice.yes), (choice.condition.negated, choice.no)


def _alike(left: Opaque, right: Opaque) -> bool:
    """Whether the values differ in indices and arguments only."""
    types = [[argument.type for argument in side.arguments] for side in (left, right)]
    same = left.head == right.head and types[0] == types[1]
    return same and _shape(left.place) == _shape(right.place)


def _short(nat: Nat) -> str:
    return shorten(str(nat), width=60, placeholder=" ...")


def _shape(place: Place) -> tuple[str, ...]:
    return tuple(step if isinstance(step, str) else "" for step in place)
