"""Two-stage programs: first the values that depend only on some arguments, then the rest.

    fun((w, x), let y = w |> pack |> toMem(heap); f(y, x))
    ~>  fun((w), w |> pack)  and  fun((w, x, y), f(y, x))

For arguments that never change, such as the weights of a model, the first stage runs once. Arrays
of vectors are passed between the stages as arrays of scalars.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import reduce

from riselang.dialects.rise.pattern_registry import AS_SCALAR, AS_VECTOR, LET, MAP, TO_MEM, TUPLE
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.types import ArrayType, RiseType, ScalarType, VectorType, array, uncurry
from riselang.rewrite.term_parts import (
    move_outside,
    pattern_arguments,
    split_lambdas,
    wrap_in_lambdas,
)
from riselang.term.deep_recursion import recursive
from riselang.term.nodes import Bound, Lambda, Pattern, Term, apply_all, spine
from riselang.term.substitution import drop_lambda, instantiate, map_children, mentions, shift


@dataclass(frozen=True)
class Stages:
    """The two stages of a program."""

    first: Term
    """A function of the arguments that are known first, which returns the values."""
    values: int
    rest: Term
    """A function of all arguments, followed by the values."""


@recursive
def split_by_known_parameters(term: Term, parameters: int, known: Set[int]) -> Stages | None:
    """Split a program into two stages; `known` are the parameters of the first one.

    Returns None if no stored value depends on these alone.
    """
    layers, body = split_lambdas(term, parameters)
    body = _stage_calls(body, 0, parameters, known)
    values = _first_stage_values(body, parameters, known)
    if not values:
        return None
    return Stages(
        _first_stage(layers, values, known), len(values), _second_stage(layers, body, values)
    )


def _stage_calls(body: Term, outer: int, parameters: int, known: Set[int]) -> Term:
    """Split calls of named functions into two stages: the values that depend on known arguments
    alone, and the call.

    `outer` is the number of named functions around the body, which are bound first.
    """
    found = _function_of_let(body)
    if found is None:
        return body
    function, rest = found
    inputs, _ = uncurry(function.type)
    calls = list(_calls(rest.body))
    given = frozenset(
        position
        for position in range(len(inputs))
        if all(
            _is_known(arguments[position], level + 1 + outer, parameters, known)
            for arguments, level in calls
        )
    )
    stages = split_by_known_parameters(function, len(inputs), given) if calls else None
    inner = rest.body
    if stages is not None:
        inner = _pass_values(inner, stages, given)
        function = stages.rest
    inner = _stage_calls(inner, outer + 1, parameters, known)
    return bind_value(function, inner, rest.name)


def _function_of_let(body: Term) -> tuple[Term, Lambda] | None:
    """Return a function that a `let` names, and the lambda that binds the name."""
    value, rest = pattern_arguments(body, "let") or (body, body)
    if not isinstance(value, Lambda) or not isinstance(rest, Lambda) or value.open:
        return None
    return value, rest


def bind_value(value: Term, body: Term, name: str) -> Term:
    """Return `let name = value; body`, where the body refers to it by the innermost variable."""
    function = Lambda(name, value.type, body)
    return apply_all(Pattern(LET, (value.type, body.type)), [value, function])


def _calls(body: Term) -> Iterator[tuple[list[Term], int]]:
    """Yield the arguments of each call of the innermost variable, and the number of lambdas around
    it."""
    stack = [(body, 0)]
    while stack:
        term, level = stack.pop()
        head, arguments = spine(term)
        if isinstance(head, Bound) and head.index == level and arguments:
            yield arguments, level
        inner = level + 1 if isinstance(term, Lambda) else level
        children = arguments if arguments else term.children
        stack += [(child, inner) for child in children]
        if arguments and not isinstance(head, Bound):
            stack.append((head, inner))


def _is_known(term: Term, level: int, parameters: int, known: Set[int]) -> bool:
    """Whether a term under `level` lambdas of the body is a known parameter."""
    return isinstance(term, Bound) and parameters - 1 - (term.index - level) in known


def _pass_values(body: Term, stages: Stages, given: Set[int]) -> Term:
    """Name the values of the first stage, and pass them at each call of the function."""
    count = stages.values

    def visit(term: Term, level: int) -> Term:
        head, arguments = spine(term)
        if not (isinstance(head, Bound) and head.index == level and arguments):
            return map_children(term, lambda t: visit(t, level), lambda t: visit(t, level + 1))
        arguments = [visit(each, level) for each in arguments]
        first: Term = stages.first
        for position in sorted(given):
            assert isinstance(first, Lambda)
            first = instantiate(first.body, arguments[position])
        values = _tuple_parts(first, count)
        passed = [shift(each, count) for each in arguments]
        passed += [Bound(count - 1 - at, value.type) for at, value in enumerate(values)]
        call = apply_all(Bound(level + count, stages.rest.type), passed)
        for number in reversed(range(count)):
            stored = apply_all(Pattern(TO_MEM, ("heap", values[number].type)), [values[number]])
            call = bind_value(shift(stored, number), call, f"value{number}")
        return call

    return visit(body, 0)


def _tuple_parts(term: Term, count: int) -> list[Term]:
    """Return the components of a nested tuple of `count` values."""
    parts: list[Term] = []
    for _ in range(count - 1):
        arguments = pattern_arguments(term, "tuple")
        assert arguments is not None
        parts.append(arguments[0])
        term = arguments[1]
    return [*parts, term]


def _first_stage_values(body: Term, parameters: int, known: Set[int]) -> list[Term]:
    """Return the stored `let` values that depend on known parameters alone."""
    unknown = [at for at in range(parameters) if parameters - 1 - at not in known]
    found: dict[Term, None] = {}
    stack = [(body, 0)]
    while stack:
        term, level = stack.pop()
        value = _stored_value(term, level)
        if value is not None and not any(mentions(value, index) for index in unknown):
            found[value] = None
            stack.append((let_arguments(term)[1].body, level + 1))
            continue
        inner = level + 1 if isinstance(term, Lambda) else level
        stack += [(child, inner) for child in reversed(term.children)]
    return list(found)


def let_arguments(term: Term) -> tuple[Term, Lambda]:
    """Return the value and the function of a `let`."""
    arguments = pattern_arguments(term, "let")
    assert arguments is not None
    value, function = arguments
    assert isinstance(function, Lambda)
    return value, function


def _stored_value(term: Term, level: int) -> Term | None:
    """Return the value of a `let` that is stored on the heap and uses no lambda of the body."""
    arguments = pattern_arguments(term, "let")
    if arguments is None or not isinstance(arguments[1], Lambda):
        return None
    stored = pattern_arguments(arguments[0], "toMem")
    if stored is None or _flattened_type(stored[0].type) is None:
        return None
    return move_outside(stored[0], level)


def _first_stage(layers: list[Lambda], values: list[Term], known: Set[int]) -> Term:
    scalars = [_convert_vectors(AS_SCALAR, value) for value in values]
    body = reduce(
        lambda rest, value: apply_all(Pattern(TUPLE, (value.type, rest.type)), [value, rest]),
        reversed(scalars[:-1]),
        scalars[-1],
    )
    # From the innermost on, so that the indices of outer variables stay valid.
    for position in reversed(range(len(layers))):
        if position not in known:
            body = drop_lambda(body, sum(at in known for at in range(position + 1, len(layers))))
    return wrap_in_lambdas([layer for at, layer in enumerate(layers) if at in known], body)


def _second_stage(layers: list[Lambda], body: Term, values: list[Term]) -> Term:
    count = len(values)
    numbers = {shift(value, count): number for number, value in enumerate(values)}

    def visit(term: Term, level: int) -> Term:
        stored = _stored_value(term, level)
        if stored is not None and stored in numbers:
            inner = visit(let_arguments(term)[1].body, level + 1)
            index = count - 1 - numbers[stored] + level
            plain = _flattened_type(stored.type)
            assert plain is not None
            return instantiate(inner, _convert_vectors(AS_VECTOR, Bound(index, plain), stored.type))
        return map_children(term, lambda t: visit(t, level), lambda t: visit(t, level + 1))

    changed = visit(shift(body, count), 0)
    for number in reversed(range(count)):
        plain = _flattened_type(values[number].type)
        assert plain is not None
        changed = Lambda(f"value{number}", plain, changed)
    return wrap_in_lambdas(layers, changed)


def _flattened_type(type: RiseType) -> RiseType | None:
    """The type with vectors flattened to scalars; None for types other than arrays."""
    if isinstance(type, ScalarType):
        return type
    if not isinstance(type, ArrayType):
        return None
    if isinstance(type.element, VectorType):
        return array(type.length * type.element.length, type.element.element)
    inner = _flattened_type(type.element)
    return None if inner is None else array(type.length, inner)


def _convert_vectors(spec: PatternSpec, term: Term, wanted: RiseType | None = None) -> Term:
    """Convert vectors to scalars, or scalars to vectors of the wanted type."""
    type = term.type
    vectors = wanted or type
    if not isinstance(type, ArrayType) or not isinstance(vectors, ArrayType):
        return term
    if isinstance(vectors.element, VectorType):
        vector = vectors.element
        return apply_all(Pattern(spec, (vector.length, vectors.length, vector.element)), [term])
    wanted_element = None if wanted is None else vectors.element
    body = _convert_vectors(spec, Bound(0, type.element), wanted_element)
    if isinstance(body, Bound):
        return term
    function = Lambda("x", type.element, body)
    return apply_all(Pattern(MAP, (type.length, type.element, body.type)), [function, term])
