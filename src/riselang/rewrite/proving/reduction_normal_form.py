"""A normal form of reductions: one loop, whose initial value is not a reduction."""

from __future__ import annotations

from dataclasses import replace

from riselang.dialects.rise.types import FunType, RiseType
from riselang.nat import Nat
from riselang.rewrite.proving.size_conditions import less
from riselang.rewrite.proving.symbolic_values import (
    Array,
    Choice,
    Function,
    Number,
    Opaque,
    Pair,
    Reduction,
    Value,
    apply,
    choose,
    element,
    reduction,
    value_at,
)
from riselang.rewrite.proving.symbols import Symbols


def normalize_reduction(outer: Reduction, symbols: Symbols) -> Reduction:
    """Convert a reduction to a single loop, if possible."""
    flattened = _flatten(outer, symbols)
    if isinstance(flattened.init, Reduction) and not flattened.init.access_path:
        return _chain(normalize_reduction(flattened.init, symbols), flattened)
    return flattened


def peel_last_step(outer: Reduction) -> Value:
    """Unroll the last step of a reduction that has one."""
    last = outer.length - 1
    previous_value = reduction(outer.accumulator, last, outer.init, outer.step)
    return value_at(outer.step(last, previous_value), outer.access_path)


def _chain(earlier: Reduction, later: Reduction) -> Reduction:
    """Apply the law that a reduction that starts from the result of another continues its loop."""

    def step(i: Nat, accumulator: Value) -> Value:
        later_step = later.step(i - earlier.length, accumulator)
        return choose(less(i, earlier.length), earlier.step(i, accumulator), later_step)

    return replace(later, length=earlier.length + later.length, init=earlier.init, step=step)


def _flatten(outer: Reduction, symbols: Symbols) -> Reduction:
    """Apply the law that nested loops over the same accumulator are one loop over all steps."""
    initial_value, index = symbols.fresh_value(outer.accumulator), symbols.fresh_index(outer.length)
    inner = outer.step(index, initial_value)
    if not isinstance(inner, Reduction) or inner.access_path or inner.init != initial_value:
        return outer
    inner = _flatten(inner, symbols)
    rows, length = index.variables, inner.length
    probe = inner.step(symbols.fresh_index(length), symbols.fresh_value(outer.accumulator))
    # If a step depends on the initial value of its row, only nested loops can be compared.
    if length == 0 or rows & length.variables or _occurs_in(probe, initial_value, symbols):
        return outer

    def step(i: Nat, accumulator: Value) -> Value:
        row = outer.step(i // length, initial_value)
        assert isinstance(row, Reduction)
        return _flatten(row, symbols).step(i % length, accumulator)

    return replace(outer, length=outer.length * length, step=step)


def _occurs_in(value: Value, unknown: Opaque, symbols: Symbols) -> bool:
    """Whether an unknown value occurs in another value."""

    def typed(type: RiseType, value: Value) -> bool:
        if isinstance(type, FunType):
            return typed(type.output, apply(value, symbols.fresh_value(type.input)))
        return visit(value)

    def natural(nat: Nat) -> bool:
        return any(
            name in symbols.unknown and visit(symbols.unknown[name]) for name in nat.variables
        )

    def visit(value: Value) -> bool:
        match value:
            case Opaque():
                return (
                    value.head == unknown.head
                    or (isinstance(value.head, Reduction) and visit(value.head))
                    or any(natural(step) for step in value.access_path if isinstance(step, Nat))
                    or any(typed(argument.type, argument.value) for argument in value.arguments)
                )
            case Number():
                return natural(value.value)
            case Array():
                return visit(element(value, symbols.fresh_index(Nat.var("$any"))))
            case Pair():
                return visit(value.first) or visit(value.second)
            case Choice():
                condition = value.condition
                return any(map(natural, (condition.left, condition.right))) or any(
                    map(visit, (value.if_true, value.if_false))
                )
            case Reduction():
                step = value.step(
                    symbols.fresh_index(value.length), symbols.fresh_value(value.accumulator)
                )
                return natural(value.length) or visit(value.init) or visit(step)
            case Function():
                raise TypeError("a function is visited by its type")

    return visit(value)
