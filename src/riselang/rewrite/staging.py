"""Two-stage programs: the first stage computes the values that depend only on some arguments.

    fun((w, x), let y = w |> pack |> toMem(heap); f(y, x))
    ~>  fun((w), w |> pack)  and  fun((w, x, y), f(y, x))

For arguments that never change, such as the weights of a model, the first stage runs once. Arrays
of vectors are passed between the stages as arrays of scalars.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import reduce

from riselang.dialects.rise.pattern_registry import AS_SCALAR, AS_VECTOR, LET, MAP, TO_MEM, TUPLE
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.types import ArrayType, RiseType, ScalarType, VectorType, array, uncurry
from riselang.rewrite.term_parts import (
    is_free_to_read,
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
    """A function of the arguments that are known first, which returns stored values."""
    values: int
    """The number of values that the first stage returns."""
    second: Term
    """A function of all arguments, followed by the values of the first stage."""


@recursive
def split_by_known_parameters(term: Term, parameters: int, known: Set[int]) -> Stages | None:
    """Split a program into two stages; `known` are the parameters of the first one.

    Returns None if no stored value depends only on these parameters.
    """
    layers, body = split_lambdas(term, parameters)
    body = _stage_calls(body, 0, parameters, known)
    values = _first_stage_values(body, parameters, known)
    if not values:
        return None
    return Stages(
        _first_stage(layers, values, known), len(values), _second_stage(layers, body, values)
    )


@recursive
def drop_unread_parameters(
    term: Term, parameters: int, known: Set[int]
) -> tuple[Term, tuple[int, ...]]:
    """Drop the known parameters that a program does not read.

    Returns the program, and the positions of the others among the first `parameters`.
    """
    layers, body = split_lambdas(term, parameters)
    kept: list[int] = []
    # From the inside out, so that the indices of outer variables stay valid.
    for position in reversed(range(parameters)):
        if position in known and not mentions(body, len(kept)):
            body = drop_lambda(body, len(kept))
        else:
            kept.insert(0, position)
    return wrap_in_lambdas([layers[position] for position in kept], body), tuple(kept)


@recursive
def store_named_arrays(term: Term, parameters: int) -> Term:
    """Store the arrays that a program computes and names, as the lowering does anyway."""
    layers, body = split_lambdas(term, parameters)
    named: list[tuple[Term, Lambda]] = []
    while (match := pattern_arguments(body, "let")) is not None:
        value, function = match
        if not isinstance(function, Lambda):
            break
        is_array = isinstance(value.type, ArrayType)
        if is_array and pattern_arguments(value, "toMem") is None and not is_free_to_read(value):
            value = apply_all(Pattern(TO_MEM, ("heap", value.type)), [value])
        named.append((value, function))
        body = function.body
    for value, function in reversed(named):
        body = bind_value(value, body, function.name)
    return wrap_in_lambdas(layers, body)


def _stage_calls(body: Term, outer: int, parameters: int, known: Set[int]) -> Term:
    """Split calls to named functions into two stages: the values that depend only on known
    arguments, and the call.

    `outer` is the number of enclosing named functions, which are bound first.
    """
    match = _function_of_let(body)
    if match is None:
        return body
    function, continuation = match
    inputs, _ = uncurry(function.type)
    calls = list(_calls(continuation.body))
    known_positions = frozenset(
        position
        for position in range(len(inputs))
        if all(
            _is_known(arguments[position], level + 1 + outer, parameters, known)
            for arguments, level in calls
        )
    )
    stages = split_by_known_parameters(function, len(inputs), known_positions) if calls else None
    inner = continuation.body
    if stages is not None:
        function, kept = drop_unread_parameters(stages.second, len(inputs), known_positions)
        inner = _pass_values(inner, stages, known_positions, function.type, kept)
    inner = _stage_calls(inner, outer + 1, parameters, known)
    return bind_value(function, inner, continuation.name)


def _function_of_let(body: Term) -> tuple[Term, Lambda] | None:
    """Return a function that a `let` names, and the lambda that binds the name."""
    value, continuation = pattern_arguments(body, "let") or (body, body)
    if not isinstance(value, Lambda) or not isinstance(continuation, Lambda) or value.open:
        return None
    return value, continuation


def bind_value(value: Term, body: Term, name: str) -> Term:
    """Return `let name = value; body`, where the body refers to it by the innermost variable."""
    function = Lambda(name, value.type, body)
    return apply_all(Pattern(LET, (value.type, body.type)), [value, function])


def _calls(body: Term) -> Iterator[tuple[list[Term], int]]:
    """Yield the arguments of each call to the innermost variable, and the number of lambdas that
    enclose the call."""
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


def _pass_values(
    body: Term, stages: Stages, known_positions: Set[int], type: RiseType, kept: Sequence[int]
) -> Term:
    """Bind the values of the first stage, and pass them to each call to the function.

    The function has a new type, and takes only the `kept` of its arguments, and the values.
    """
    count = stages.values

    def visit(term: Term, level: int) -> Term:
        head, arguments = spine(term)
        if not (isinstance(head, Bound) and head.index == level and arguments):
            return map_children(term, lambda t: visit(t, level), lambda t: visit(t, level + 1))
        arguments = [visit(each, level) for each in arguments]
        first_stage: Term = stages.first
        for position in sorted(known_positions):
            assert isinstance(first_stage, Lambda)
            first_stage = instantiate(first_stage.body, arguments[position])
        values = _tuple_parts(first_stage, count)
        call_arguments = [shift(arguments[each], count) for each in kept]
        call_arguments += [Bound(count - 1 - i, value.type) for i, value in enumerate(values)]
        call = apply_all(Bound(level + count, type), call_arguments)
        for number in reversed(range(count)):
            stored_value = apply_all(
                Pattern(TO_MEM, ("heap", values[number].type)), [values[number]]
            )
            call = bind_value(shift(stored_value, number), call, f"value{number}")
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
    """Return the stored `let` values that depend only on known parameters."""
    unknown = [variable for variable in range(parameters) if parameters - 1 - variable not in known]
    values: dict[Term, None] = {}
    stack = [(body, 0)]
    while stack:
        term, level = stack.pop()
        value = _stored_value(term, level)
        if value is not None and not any(mentions(value, index) for index in unknown):
            values[value] = None
            stack.append((let_arguments(term)[1].body, level + 1))
            continue
        inner = level + 1 if isinstance(term, Lambda) else level
        stack += [(child, inner) for child in reversed(term.children)]
    return list(values)


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
    stored_arguments = pattern_arguments(arguments[0], "toMem")
    if stored_arguments is None or _flattened_type(stored_arguments[0].type) is None:
        return None
    return move_outside(stored_arguments[0], level)


def _first_stage(layers: list[Lambda], values: list[Term], known: Set[int]) -> Term:
    scalars = [_convert_vectors(AS_SCALAR, value) for value in values]
    body = reduce(
        lambda tail, value: apply_all(Pattern(TUPLE, (value.type, tail.type)), [value, tail]),
        reversed(scalars[:-1]),
        scalars[-1],
    )
    # Lambdas are dropped from the inside out, so that the indices of outer variables stay valid.
    for position in reversed(range(len(layers))):
        if position not in known:
            body = drop_lambda(
                body, sum(index in known for index in range(position + 1, len(layers)))
            )
    return wrap_in_lambdas([layer for index, layer in enumerate(layers) if index in known], body)


def _second_stage(layers: list[Lambda], body: Term, values: list[Term]) -> Term:
    count = len(values)
    numbers = {shift(value, count): number for number, value in enumerate(values)}

    def visit(term: Term, level: int) -> Term:
        stored_value = _stored_value(term, level)
        if stored_value is not None and stored_value in numbers:
            inner = visit(let_arguments(term)[1].body, level + 1)
            index = count - 1 - numbers[stored_value] + level
            flat_type = _flattened_type(stored_value.type)
            assert flat_type is not None
            return instantiate(
                inner, _convert_vectors(AS_VECTOR, Bound(index, flat_type), stored_value.type)
            )
        return map_children(term, lambda t: visit(t, level), lambda t: visit(t, level + 1))

    body_of_values = visit(shift(body, count), 0)
    for number in reversed(range(count)):
        flat_type = _flattened_type(values[number].type)
        assert flat_type is not None
        body_of_values = Lambda(f"value{number}", flat_type, body_of_values)
    return wrap_in_lambdas(layers, body_of_values)


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


def _convert_vectors(spec: PatternSpec, term: Term, target_type: RiseType | None = None) -> Term:
    """Convert vectors to scalars, or scalars to vectors of the wanted type."""
    type = term.type
    vectors = target_type or type
    if not isinstance(type, ArrayType) or not isinstance(vectors, ArrayType):
        return term
    if isinstance(vectors.element, VectorType):
        vector = vectors.element
        return apply_all(Pattern(spec, (vector.length, vectors.length, vector.element)), [term])
    target_element = None if target_type is None else vectors.element
    body = _convert_vectors(spec, Bound(0, type.element), target_element)
    if isinstance(body, Bound):
        return term
    function = Lambda("x", type.element, body)
    return apply_all(Pattern(MAP, (type.length, type.element, body.type)), [function, term])
