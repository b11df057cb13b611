"""A program in two stages: what depends on some of its arguments alone, then all the rest.

    fun((w, x), let y = w |> pack |> toMem(heap); f(y, x))
    ~>  fun((w), w |> pack)  and  fun((w, x, y), f(y, x))

Who gives some arguments for good, such as the weights of a model, runs the first stage once. Arrays
of vectors go from one to the other as arrays of their scalars.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import reduce

from riselang.dialects.rise.schemes import AS_SCALAR, AS_VECTOR, MAP, TUPLE, PatternSpec
from riselang.dialects.rise.types import ArrayType, RiseType, ScalarType, VectorType, array
from riselang.rewrite.terms import applied, outside, rewrapped, under
from riselang.term.nodes import Bound, Lambda, Pattern, Term, apply_all
from riselang.term.recursion import recursive
from riselang.term.substitution import instantiate, mentions, shift, with_children, without


@dataclass(frozen=True)
class Staged:
    """The two stages of a program."""

    first: Term
    """A function of the arguments that are known first, to as many values."""
    values: int
    rest: Term
    """A function of all arguments, then of the values."""


@recursive
def staged(term: Term, parameters: int, known: Set[int]) -> Staged | None:
    """A program of so many parameters in two stages; `known` are those of the first one.

    None where nothing that is stored depends on these alone.
    """
    layers, body = under(term, parameters)
    values = _values(body, parameters, known)
    if not values:
        return None
    return Staged(_first(layers, values, known), len(values), _rest(layers, body, values))


def _values(body: Term, parameters: int, known: Set[int]) -> list[Term]:
    """What is stored under a name and depends on known parameters alone, as the body says it."""
    unknown = [at for at in range(parameters) if parameters - 1 - at not in known]
    found: dict[Term, None] = {}
    stack = [(body, 0)]
    while stack:
        term, level = stack.pop()
        value = _stored(term, level)
        if value is not None and not any(mentions(value, index) for index in unknown):
            found[value] = None
            stack.append((applied_let(term)[1].body, level + 1))
            continue
        inner = level + 1 if isinstance(term, Lambda) else level
        stack += [(child, inner) for child in reversed(term.children)]
    return list(found)


def applied_let(term: Term) -> tuple[Term, Lambda]:
    """The value and the function of a `let`."""
    arguments = applied(term, "let")
    assert arguments is not None
    value, function = arguments
    assert isinstance(function, Lambda)
    return value, function


def _stored(term: Term, level: int) -> Term | None:
    """The value of a `let` that is put on the heap and that no lambda of the body takes part in."""
    arguments = applied(term, "let")
    if arguments is None or not isinstance(arguments[1], Lambda):
        return None
    stored = applied(arguments[0], "toMem")
    if stored is None or _plain(stored[0].type) is None:
        return None
    return outside(stored[0], level)


def _first(layers: list[Lambda], values: list[Term], known: Set[int]) -> Term:
    scalars = [_through(AS_SCALAR, value) for value in values]
    body = reduce(
        lambda rest, value: apply_all(Pattern(TUPLE, (value.type, rest.type)), [value, rest]),
        reversed(scalars[:-1]),
        scalars[-1],
    )
    # From the innermost on, so that the variables further out still have their numbers.
    for position in reversed(range(len(layers))):
        if position not in known:
            body = without(body, sum(at in known for at in range(position + 1, len(layers))))
    return rewrapped([layer for at, layer in enumerate(layers) if at in known], body)


def _rest(layers: list[Lambda], body: Term, values: list[Term]) -> Term:
    count = len(values)
    numbers = {shift(value, count): number for number, value in enumerate(values)}

    def visit(term: Term, level: int) -> Term:
        stored = _stored(term, level)
        if stored is not None and stored in numbers:
            inner = visit(applied_let(term)[1].body, level + 1)
            index = count - 1 - numbers[stored] + level
            plain = _plain(stored.type)
            assert plain is not None
            return instantiate(inner, _through(AS_VECTOR, Bound(index, plain), stored.type))
        return with_children(term, lambda t: visit(t, level), lambda t: visit(t, level + 1))

    changed = visit(shift(body, count), 0)
    for number in reversed(range(count)):
        plain = _plain(values[number].type)
        assert plain is not None
        changed = Lambda(f"value{number}", plain, changed)
    return rewrapped(layers, changed)


def _plain(type: RiseType) -> RiseType | None:
    """The type with scalars in the place of vectors; None for what is more than an array."""
    if isinstance(type, ScalarType):
        return type
    if not isinstance(type, ArrayType):
        return None
    if isinstance(type.element, VectorType):
        return array(type.length * type.element.length, type.element.element)
    inner = _plain(type.element)
    return None if inner is None else array(type.length, inner)


def _through(spec: PatternSpec, term: Term, wanted: RiseType | None = None) -> Term:
    """Vectors as their scalars, or scalars as the vectors of the type that is wanted."""
    type = term.type
    vectors = wanted or type
    if not isinstance(type, ArrayType) or not isinstance(vectors, ArrayType):
        return term
    if isinstance(vectors.element, VectorType):
        vector = vectors.element
        return apply_all(Pattern(spec, (vector.length, vectors.length, vector.element)), [term])
    wanted_element = None if wanted is None else vectors.element
    body = _through(spec, Bound(0, type.element), wanted_element)
    if isinstance(body, Bound):
        return term
    function = Lambda("x", type.element, body)
    return apply_all(Pattern(MAP, (type.length, type.element, body.type)), [function, term])
