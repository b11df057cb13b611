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
from riselang.rewrite.proving.reduction_normal_form import normalize_reduction, peel_last_step
from riselang.rewrite.proving.size_conditions import Condition, at_least, equal, in_range
from riselang.rewrite.proving.solver import Outcome, Solver
from riselang.rewrite.proving.symbolic_values import (
    AccessPath,
    Choice,
    Number,
    Opaque,
    Reduction,
    Value,
    apply,
    element,
    first,
    second,
    value_at,
)
from riselang.rewrite.proving.symbols import Symbols

MAX_STEPS = 16
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
        self._steps_left = MAX_STEPS

    def check_equal(self, type: RiseType, left: Value, right: Value, path: Path) -> None:
        """Raise Unequal unless the values are equal wherever the path holds."""
        match type:
            case ArrayType() | VectorType():
                self._check_elements(type, left, right, path)
            case TupleType():
                first_type, second_type = components(type)
                self.check_equal(first_type, first(left), first(right), path)
                self.check_equal(second_type, second(left), second(right), path)
            case FunType():
                argument = self._symbols.fresh_value(type.input)
                self.check_equal(type.output, apply(left, argument), apply(right, argument), path)
            case _:
                self._check_leaves(self._normalize(left), self._normalize(right), path)

    def _check_elements(
        self, type: ArrayType | VectorType, left: Value, right: Value, path: Path
    ) -> None:
        index = self._symbols.fresh_index(type.length)
        element_path = (*path, *in_range(index, type.length))
        if self._holds_nowhere(element_path):
            return
        self.check_equal(type.element, element(left, index), element(right, index), element_path)

    def _normalize(self, value: Value) -> Value:
        """Convert an unknown index to a natural, and normalize a reduction."""
        if isinstance(value, Opaque) and isinstance(value.type, IdxType):
            return self._symbols.number_for(value)
        return normalize_reduction(value, self._symbols) if isinstance(value, Reduction) else value

    def _check_leaves(self, left: Value, right: Value, path: Path) -> None:
        match left, right:
            case Choice(), _:
                for condition, value in _branches(left):
                    self._check_branch(condition, value, right, path)
            case _, Choice():
                for condition, value in _branches(right):
                    self._check_branch(condition, left, value, path)
            case Number(), Number():
                self._check_numbers("a number", left.value, right.value, path)
            case Opaque(), Opaque() if _have_same_head(left, right):
                self._check_opaque(left, right, path)
            case Reduction(), Reduction() if left.accumulator == right.accumulator:
                self._check_reductions(left, right, path)
            case Reduction(), _:
                self._check_leaves(self._last_step(left, path), right, path)
            case _, Reduction():
                self._check_leaves(left, self._last_step(right, path), path)
            case _:
                self._check_unreachable(path, "the two sides compute different values")

    def _check_branch(self, condition: Condition, left: Value, right: Value, path: Path) -> None:
        branch_path = (*path, condition)
        if not self._holds_nowhere(branch_path):
            self._check_leaves(self._normalize(left), self._normalize(right), branch_path)

    def _holds_nowhere(self, path: Path) -> bool:
        return self._solver.satisfy(path).outcome is Outcome.IMPOSSIBLE

    def _holds(self, condition: Condition, path: Path) -> bool:
        return self._holds_nowhere((*path, condition.negation))

    def _check_unreachable(self, path: Path, reason: str) -> None:
        """Succeed if the path cannot hold, since there is nothing to prove; else raise Unequal."""
        answer = self._solver.satisfy(path)
        if answer.outcome is Outcome.UNKNOWN:
            reason = "z3 cannot decide whether a case can occur"
        if answer.outcome is not Outcome.IMPOSSIBLE:
            raise Unequal(reason, answer.sizes)

    def _check_numbers(self, description: str, left: Nat, right: Nat, path: Path) -> None:
        if left == right:
            return
        answer = self._solver.satisfy((*path, equal(left, right).negation))
        if answer.outcome is Outcome.IMPOSSIBLE:
            return
        reason = f"{description} is {_shorten(left)} on the left and {_shorten(right)} on the right"
        if answer.outcome is Outcome.UNKNOWN:
            reason = f"{reason}, and z3 cannot decide whether they are equal"
        raise Unequal(reason, answer.sizes)

    def _check_paths(self, left: AccessPath, right: AccessPath, path: Path) -> None:
        for left_step, right_step in zip(left, right, strict=True):
            if isinstance(left_step, Nat) and isinstance(right_step, Nat):
                self._check_numbers("an index", left_step, right_step, path)

    def _check_opaque(self, left: Opaque, right: Opaque, path: Path) -> None:
        self._check_paths(left.access_path, right.access_path, path)
        for left_argument, right_argument in zip(left.arguments, right.arguments, strict=True):
            self.check_equal(left_argument.type, left_argument.value, right_argument.value, path)

    def _check_reductions(self, left: Reduction, right: Reduction, path: Path) -> None:
        """Compare two reductions step by step, or unroll those with few steps."""
        try:
            self._check_step_by_step(left, right, path)
        except Unequal:
            if not left.length.is_constant or not right.length.is_constant:
                raise
            steps = self._last_step(left, path), self._last_step(right, path)
            self._check_leaves(*steps, path)

    def _check_step_by_step(self, left: Reduction, right: Reduction, path: Path) -> None:
        if _path_shape(left.access_path) != _path_shape(right.access_path):
            self._check_unreachable(path, "the two sides read different parts of a reduction")
            return
        self._check_paths(left.access_path, right.access_path, path)
        self._check_numbers("the length of a reduction", left.length, right.length, path)
        self.check_equal(left.accumulator, left.init, right.init, path)
        index = self._symbols.fresh_index(left.length)
        step_path = (*path, *in_range(index, left.length))
        if self._holds_nowhere(step_path):
            return
        accumulator = self._symbols.fresh_value(left.accumulator)
        steps = left.step(index, accumulator), right.step(index, accumulator)
        self.check_equal(left.accumulator, *steps, step_path)

    def _last_step(self, reduction: Reduction, path: Path) -> Value:
        """Unroll the last step of a reduction, or return the initial value if it has no step."""
        self._steps_left -= 1
        if self._steps_left < 0:
            raise Unequal("one side is a reduction and the other is not", {})
        if self._holds(at_least(reduction.length, 1), path):
            return self._normalize(peel_last_step(reduction))
        if self._holds(equal(reduction.length, 0), path):
            return self._normalize(value_at(reduction.init, reduction.access_path))
        raise Unequal("one side is a reduction and the other is not", {})


def _branches(choice: Choice) -> tuple[tuple[Condition, Value], ...]:
    return (choice.condition, choice.if_true), (choice.condition.negation, choice.if_false)


def _have_same_head(left: Opaque, right: Opaque) -> bool:
    """Whether the values differ in indices and arguments only."""
    types = [[argument.type for argument in side.arguments] for side in (left, right)]
    have_equal_heads = left.head == right.head and types[0] == types[1]
    return have_equal_heads and _path_shape(left.access_path) == _path_shape(right.access_path)


def _shorten(nat: Nat) -> str:
    return shorten(str(nat), width=60, placeholder=" ...")


def _path_shape(access_path: AccessPath) -> tuple[str, ...]:
    return tuple(step if isinstance(step, str) else "" for step in access_path)
