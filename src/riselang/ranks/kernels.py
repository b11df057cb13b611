"""Kernels of plans: parts of a program as closed functions of arrays and scalars."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from riselang.dialects.rise.pattern_registry import FST, MAP, SND, TUPLE, ZIP
from riselang.dialects.rise.types import (
    ArrayType,
    FunType,
    RiseType,
    TupleType,
    array,
    components,
    leaves,
)
from riselang.ranks.layout import RANK_LOOPS, RANK_PATTERNS
from riselang.ranks.plan import Value, leaf_views
from riselang.ranks.views import View
from riselang.support.errors import LimitationError
from riselang.term.nodes import Apply, Bound, Free, Lambda, Pattern, Term, apply_all, has_pattern
from riselang.term.substitution import map_children


def close_kernel(
    term: Term, variable: Callable[[int], Value], evaluate: Callable[[Term], Value]
) -> tuple[Term, list[View]]:
    """Return a part of a program as a closed function, and the views of its operands.

    The operands are the variables of the part, and the values in it that ranks compute. An operand
    that has pairs becomes several parameters.
    """
    operands: dict[Term, list[Free]] = {}
    views: list[View] = []

    def operand(part: Term, value: Value) -> Term:
        if part not in operands:
            operands[part] = [
                Free(f"operand{len(views) + number}", type)
                for number, type in enumerate(_leaf_types(part.type))
            ]
            views.extend(leaf_views(value))
        return _rebuild(part.type, operands[part])

    def visit(part: Term, depth: int) -> Term:
        if isinstance(part, Bound) and part.index >= depth:
            outer = Bound(part.index - depth, part.type)
            if isinstance(part.type, FunType):
                raise LimitationError("a function that is bound outside of mapRank", part.location)
            return operand(outer, variable(outer.index))
        if has_pattern(part, *RANK_PATTERNS) and part is not term:
            if depth and has_pattern(part, *RANK_LOOPS):
                raise LimitationError(
                    "mapRank and reduceRank may be inside of map, reduce and iterate, but "
                    "not inside of this pattern",
                    part.location,
                )
            if not depth and not isinstance(part.type, FunType):
                return operand(part, evaluate(part))
        return map_children(part, lambda t: visit(t, depth), lambda t: visit(t, depth + 1))

    body = visit(term, 0)
    parameters = [each for group in operands.values() for each in group]
    return _abstract(body, parameters), views


def _abstract(body: Term, parameters: Sequence[Free]) -> Term:
    """Return the function of the free variables."""
    numbers = {each: number for number, each in enumerate(parameters)}

    def bind(part: Term, depth: int) -> Term:
        if isinstance(part, Free) and part in numbers:
            return Bound(depth + len(parameters) - 1 - numbers[part], part.type)
        return map_children(part, lambda t: bind(t, depth), lambda t: bind(t, depth + 1))

    term = bind(body, 0)
    for each in reversed(parameters):
        term = Lambda(each.name, each.type, term)
    return term


def _rebuild(type: RiseType, parts: Sequence[Term]) -> Term:
    """Return the value of a type from its leaves, which are arrays or scalars."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(type, TupleType):
        first, second = components(type)
        count = len(list(leaves(first)))
        values = [_rebuild(first, parts[:count]), _rebuild(second, parts[count:])]
        return apply_all(Pattern(TUPLE, (first, second)), values)
    assert isinstance(type, ArrayType)
    pairs = parts[-1]
    for part in reversed(parts[:-1]):
        pairs = _zip(part, pairs)
    element = pairs.type
    assert isinstance(element, ArrayType)
    bound = Bound(0, element.element)
    components_: list[Term] = []
    for _ in parts[:-1]:
        assert isinstance(bound.type, TupleType)
        one, other = components(bound.type)
        components_.append(Apply(Pattern(FST, (one, other)), bound))
        bound = Apply(Pattern(SND, (one, other)), bound)
    components_.append(bound)
    function = Lambda("p", element.element, _rebuild(type.element, components_))
    return apply_all(Pattern(MAP, (type.length, element.element, type.element)), [function, pairs])


def _leaf_types(type: RiseType) -> list[RiseType]:
    """Return the types of the arrays and scalars of a value; indices keep their bounds."""
    if isinstance(type, TupleType):
        return [each for part in components(type) for each in _leaf_types(part)]
    if isinstance(type, ArrayType):
        return [array(type.length, each) for each in _leaf_types(type.element)]
    return [type]


def _zip(first: Term, second: Term) -> Term:
    assert isinstance(first.type, ArrayType)
    assert isinstance(second.type, ArrayType)
    one, other = first.type.element, second.type.element
    return apply_all(Pattern(ZIP, (first.type.length, one, other)), [first, second])
