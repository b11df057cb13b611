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
    flat = _flatten(outer, symbols)
    if isinstance(flat.init, Reduction) and not flat.init.access_path:
        return _chain(normalize_reduction(flat.init, symbols), flat)
    return flat


def peel_last_step(outer: Reduction) -> Value:
    """Unroll the last step of a reduction that has one."""
    last = outer.length - 1
    before = reduction(outer.accumulator, last, outer.init, outer.step)
    return value_at(outer.step(last, before), outer.access_path)


def _chain(before: Reduction, after: Reduction) -> Reduction:
    """Law: a reduction that starts from the result of another one continues its loop."""

    def step(i: Nat, accumulator: Value) -> Value:
        late = after.step(i - before.length, accumulator)
        return choose(less(i, before.length), before.step(i, accumulator), late)

    return replace(after, length=before.length + after.length, init=before.init, step=step)


def _flatten(outer: Reduction, symbols: Symbols) -> Reduction:
    """Law: a loop whose steps are loops over the same accumulator is one loop over all steps."""
    start, index = symbols.fresh_value(outer.accumulator), symbols.fresh_index(outer.length)
    inner = outer.step(index, start)
    if not isinstance(inner, Reduction) or inner.access_path or inner.init != start:
        return outer
    inner = _flatten(inner, symbols)
    rows, length = index.variables, inner.length
    probe = inner.step(symbols.fresh_index(length), symbols.fresh_value(outer.accumulator))
    # If a step depends on the initial value of its row, only nested loops can be compared.
    if length == 0 or rows & length.variables or _occurs_in(probe, start, symbols):
        return outer

    def step(i: Nat, accumulator: Value) -> Value:
        row = outer.step(i // length, start)
        assert isinstance(row, Reduction)
        return _flatten(row, symbols).step(i % length, accumulator)

    return replace(outer, length=outer.length * length, step=step)


def _occurs_in(value: Value, wanted: Opaque, symbols: Symbols) -> bool:
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
                    value.head == wanted.head
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
                    map(visit, (value.yes, value.no))
                )
            case Reduction():
                step = value.step(
                    symbols.fresh_index(value.length), symbols.fresh_value(value.accumulator)
                )
                return natural(value.length) or visit(value.init) or visit(step)
            case Function():
                raise TypeError("a function is visited by its type")

    return visit(value)
