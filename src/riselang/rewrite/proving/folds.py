"""A normal form of reductions: one loop, whose initial value is not a reduction."""

from __future__ import annotations

from dataclasses import replace

from riselang.dialects.rise.types import FunType, RiseType
from riselang.nat import Nat
from riselang.rewrite.proving.conditions import less
from riselang.rewrite.proving.symbols import Symbols
from riselang.rewrite.proving.values import (
    Array,
    Choice,
    Fold,
    Function,
    Number,
    Opaque,
    Pair,
    Value,
    apply,
    at_place,
    choose,
    element,
    fold,
)


def normal(outer: Fold, symbols: Symbols) -> Fold:
    """Convert a reduction to a single loop, if possible."""
    flat = _flattened(outer, symbols)
    if isinstance(flat.init, Fold) and not flat.init.place:
        return _chained(normal(flat.init, symbols), flat)
    return flat


def peeled(outer: Fold) -> Value:
    """Unroll the last step of a reduction that has one."""
    last = outer.length - 1
    before = fold(outer.accumulator, last, outer.init, outer.step)
    return at_place(outer.step(last, before), outer.place)


def _chained(before: Fold, after: Fold) -> Fold:
    """Law: a reduction that starts from the result of another one continues its loop."""

    def step(i: Nat, accumulator: Value) -> Value:
        late = after.step(i - before.length, accumulator)
        return choose(less(i, before.length), before.step(i, accumulator), late)

    return replace(after, length=before.length + after.length, init=before.init, step=step)


def _flattened(outer: Fold, symbols: Symbols) -> Fold:
    """Law: a loop whose steps are loops over the same accumulator is one loop over all steps."""
    start, index = symbols.value(outer.accumulator), symbols.index(outer.length)
    inner = outer.step(index, start)
    if not isinstance(inner, Fold) or inner.place or inner.init != start:
        return outer
    inner = _flattened(inner, symbols)
    rows, length = index.variables, inner.length
    probe = inner.step(symbols.index(length), symbols.value(outer.accumulator))
    # If a step depends on the initial value of its row, only nested loops can be compared.
    if length == 0 or rows & length.variables or _mentions(probe, start, symbols):
        return outer

    def step(i: Nat, accumulator: Value) -> Value:
        row = outer.step(i // length, start)
        assert isinstance(row, Fold)
        return _flattened(row, symbols).step(i % length, accumulator)

    return replace(outer, length=outer.length * length, step=step)


def _mentions(value: Value, wanted: Opaque, symbols: Symbols) -> bool:
    """Whether an unknown value occurs in another value."""

    def typed(type: RiseType, value: Value) -> bool:
        if isinstance(type, FunType):
            return typed(type.output, apply(value, symbols.value(type.input)))
        return visit(value)

    def natural(nat: Nat) -> bool:
        return any(
            name in symbols.unknown and visit(symbols.unknown[name]) for name in nat.variables
        )

    def visit(value: Value) -> bool:
        match value:
            case Opaque():
                return (
                    value.head == wanted.head
                    or (isinstance(value.head, Fold) and visit(value.head))
                    or any(natural(step) for step in value.place if isinstance(step, Nat))
                    or any(typed(argument.type, argument.value) for argument in value.arguments)
                )
            case Number():
                return natural(value.value)
            case Array():
                return visit(element(value, symbols.index(Nat.var("$any"))))
            case Pair():
                return visit(value.first) or visit(value.second)
            case Choice():
                condition = value.condition
                return any(map(natural, (condition.left, condition.right))) or any(
                    map(visit, (value.yes, value.no))
                )
            case Fold():
                step = value.step(symbols.index(value.length), symbols.value(value.accumulator))
                return natural(value.length) or visit(value.init) or visit(step)
            case Function():
                raise TypeError("a function is visited by its type")

    return visit(value)
