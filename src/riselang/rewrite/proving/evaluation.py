"""Symbolic evaluation of terms: the counterpart of `interpreter.evaluate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from riselang.dialects.rise.attributes import Numbers
from riselang.dialects.rise.types import ArrayType, RiseType, ScalarType, i1, index, is_float
from riselang.nat import Nat, nat_max, nat_min
from riselang.rewrite.proving.meanings import Meanings
from riselang.rewrite.proving.size_conditions import Condition, Relation, at_least, equal, less
from riselang.rewrite.proving.symbolic_values import (
    Array,
    Function,
    Number,
    Opaque,
    Typed,
    Value,
    apply,
    choose,
    distribute,
)
from riselang.rewrite.proving.symbols import Symbols
from riselang.support.errors import LimitationError
from riselang.term.nodes import (
    Apply,
    Bound,
    DepApply,
    DepLambda,
    Embed,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
)
from riselang.term.size_substitution import apply_dependent

Environment: TypeAlias = tuple[Value, ...]
"""The values of the variables, the innermost first."""


class Evaluator:
    """Evaluates terms over the symbols of one proof."""

    def __init__(self, symbols: Symbols):
        self._meanings = Meanings(symbols)

    def evaluate(self, term: Term, environment: Environment = ()) -> Value:
        match term:
            case Bound(number):
                return environment[number]
            case Lambda():
                body = term.body
                return Function(lambda argument: self.evaluate(body, (argument, *environment)))
            case Apply():
                function = self.evaluate(term.function, environment)
                return apply(function, self.evaluate(term.argument, environment))
            case DepApply(function=DepLambda() as function):
                return self.evaluate(apply_dependent(function, term.argument), environment)
            case Literal():
                return _evaluate_literal(term.number, term.type)
            case Pattern():
                return self._meanings.function_for(term)
            case Scalar():
                return _evaluate_scalar(
                    term, [self.evaluate(each, environment) for each in term.operands]
                )
            case Embed():
                operands = [self.evaluate(each, environment) for each in term.operands]
                return _opaque_result(term, ("embed", term.region.text), operands)
            case _:
                raise LimitationError(f"the prover does not support {term!r}", term.location)


def _evaluate_literal(number: Numbers, type: RiseType) -> Value:
    if isinstance(type, ArrayType):
        assert isinstance(number, tuple)
        unknown, inner = Opaque(type, ("literal", repr(number))), type.element

        def element(index: Nat) -> Value:
            if index.is_constant and 0 <= index.constant < len(number):
                return _evaluate_literal(number[index.constant], inner)
            return unknown.component(inner, index)

        return Array(element)
    assert not isinstance(number, tuple)
    if isinstance(type, ScalarType) and is_float(type):
        return Opaque(type, ("literal", repr(number)))
    return Number(Nat.const(abs(int(number)) if type == i1 else int(number)))


def _opaque_result(
    term: Scalar | Embed, head: tuple[str | None, ...], operands: list[Value]
) -> Value:
    pairs = zip(term.operands, operands, strict=True)
    return Opaque(term.type, head, tuple(Typed(operand.type, value) for operand, value in pairs))


def _evaluate_scalar(term: Scalar, operands: list[Value]) -> Value:
    if term.op == "arith.select":
        return distribute(
            operands[0], lambda condition: _evaluate_select(term, condition, operands)
        )
    if len(operands) == 2 and term.operands[0].type == index:
        left, right = operands
        return distribute(
            left,
            lambda left: distribute(right, lambda right: _evaluate_on_indices(term, left, right)),
        )
    return _opaque_result(term, (term.op, term.predicate), operands)


def _evaluate_select(term: Scalar, condition: Value, operands: list[Value]) -> Value:
    if isinstance(condition, Number) and condition.value.is_constant:
        return operands[1] if condition.value.constant else operands[2]
    return _opaque_result(term, (term.op, term.predicate), [condition, *operands[1:]])


def _evaluate_on_indices(term: Scalar, left: Value, right: Value) -> Value:
    """Evaluate integer arithmetic on sizes and indices, assuming that nothing overflows."""
    if isinstance(left, Number) and isinstance(right, Number):
        if term.op in _ARITHMETIC:
            return Number(_ARITHMETIC[term.op](left.value, right.value))
        if (compare := _COMPARISONS.get(term.predicate or "")) is not None:
            return choose(compare(left.value, right.value), TRUE, FALSE)
    return _opaque_result(term, (term.op, term.predicate), [left, right])


TRUE, FALSE = Number(Nat.const(1)), Number(Nat.const(0))

_ARITHMETIC: Mapping[str, Callable[[Nat, Nat], Nat]] = {
    "arith.addi": lambda left, right: left + right,
    "arith.subi": lambda left, right: left - right,
    "arith.muli": lambda left, right: left * right,
    "arith.maxsi": nat_max,
    "arith.minsi": nat_min,
}

_COMPARISONS: Mapping[str, Callable[[Nat, Nat], Condition]] = {
    "eq": equal,
    "ne": lambda left, right: Condition(left, Relation.DIFFERENT, right),
    "slt": less,
    "sle": lambda left, right: at_least(right, left),
    "sgt": lambda left, right: less(right, left),
    "sge": at_least,
}
