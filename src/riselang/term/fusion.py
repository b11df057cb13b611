"""Inlining element functions: fusing a map that is only read into the loop that reads it.

`reduce(f, init, map(g, xs))` computes the same values as `reduce(f . g, init, xs)`, and both are
lowered to the same loop. After this pass, all scalar operations on an element are in one
expression, where float contraction sees them.
"""

from __future__ import annotations

from riselang.dialects.rise.pattern_registry import FST, LET, MAP, SND, TUPLE, ZIP
from riselang.dialects.rise.types import ArrayType, FunType, RiseType, components, pair
from riselang.nat import Nat
from riselang.term.deep_recursion import recursive
from riselang.term.nodes import (
    Apply,
    Bound,
    DepApply,
    DepLambda,
    Lambda,
    Literal,
    Pattern,
    Term,
    apply_all,
    spine,
)
from riselang.term.size_substitution import apply_dependent
from riselang.term.substitution import (
    instantiate,
    is_used_often,
    map_children,
    shift,
)
from riselang.term.view_inverses import is_view

MAPS = ("map", "mapSeq", "mapPar", "mapSeqUnroll")
REDUCTIONS = ("reduce", "reduceSeq", "reduceSeqUnroll", "scan", "scanSeq")

_FUSIBLE = frozenset((*MAPS, *REDUCTIONS, FST.name, SND.name))


@recursive
def inline_element_functions(term: Term) -> Term:
    """Inline the functions of inner maps through map, zip and reduce."""
    return _inline(term)


def _inline(term: Term) -> Term:
    return _fuse(map_children(term, _inline, _inline))


def _fuse(term: Term) -> Term:
    if isinstance(term, DepApply) and isinstance(term.function, DepLambda):
        return _inline(apply_dependent(term.function, term.argument))
    if not isinstance(term, Apply) or (term.head is not None and not _is_fusible(term)):
        return term
    head, arguments = spine(term)
    if isinstance(head, Lambda) and arguments:
        body = _fuse(beta_reduce(head, arguments[0]))
        return _fuse(apply_all(body, arguments[1:])) if arguments[1:] else body
    if not isinstance(head, Pattern):
        return term
    if head.spec in (FST, SND):
        return _project(head, arguments[0], term)
    return _fuse_consumer(head, arguments, term)


def _is_fusible(term: Term) -> bool:
    """Whether the term applies a pattern that may be fused with its argument."""
    head = term.head
    return head is not None and head.name in _FUSIBLE and term.argument_count == head.arity


def _project(head: Pattern, argument: Term, term: Term) -> Term:
    """`fst(tuple(a, b))` is `a`."""
    inner, parts = spine(argument)
    if isinstance(inner, Pattern) and inner.spec is TUPLE and len(parts) == 2:
        return parts[0] if head.spec is FST else parts[1]
    return term


def _fuse_consumer(head: Pattern, arguments: list[Term], term: Term) -> Term:
    produced = _producer(arguments[-1])
    if produced is None:
        return term
    source, element = produced
    source_type = source.type
    assert isinstance(source_type, ArrayType)
    compose = _compose_reduction if head.spec.accumulates else _compose_map
    function = compose(arguments[0], element, term)
    parameters = [
        source_type.element if name == "s" else value
        for name, value in zip(head.spec.parameters, head.arguments, strict=True)
    ]
    pattern = Pattern(head.spec, parameters, head.to, head.location)
    return _fuse(apply_all(pattern, [function, *arguments[1:-1], source]))


def _compose_map(function: Term, element: Lambda, term: Term) -> Term:
    """`fun(x, f(g(x)))`"""
    body = _fuse(Apply(shift(function, 1), element.body, term.location))
    return Lambda(element.name, element.parameter, body)


def _compose_reduction(function: Term, element: Lambda, term: Term) -> Term:
    """`fun((acc, x), f(acc, g(x)))`"""
    type = function.type
    assert isinstance(type, FunType)
    accumulator, x = _step_names(function, element)
    partial = Apply(shift(function, 2), Bound(1, type.input))
    body = _fuse(Apply(partial, shift(element.body, 1, 1), term.location))
    return Lambda(accumulator, type.input, Lambda(x, element.parameter, body))


def _step_names(function: Term, element: Lambda) -> tuple[str, str]:
    """The names of the parameters; the element has its name in the map, if the two differ."""
    if not isinstance(function, Lambda):
        return "acc", element.name
    if element.name == function.name and isinstance(function.body, Lambda):
        return function.name, function.body.name
    return function.name, element.name


def _producer(xs: Term) -> tuple[Term, Lambda] | None:
    """The array and the element function of a map, if `xs` is one."""
    if xs.head not in (MAP, ZIP) or xs.argument_count != 2:
        return None
    first, second = spine(xs)[1]
    if xs.head is MAP:
        return second, _as_lambda(first)
    return _zip_producer(first, second)


def _as_lambda(function: Term) -> Lambda:
    if isinstance(function, Lambda):
        return function
    assert isinstance(function.type, FunType)
    parameter = function.type.input
    return Lambda("x", parameter, Apply(shift(function, 1), Bound(0, parameter)))


def _zip_producer(first: Term, second: Term) -> tuple[Term, Lambda] | None:
    """`zip(map(f, xs), ys)` as a map of a function on pairs over `zip(xs, ys)`."""
    producers = _producer(first), _producer(second)
    if producers == (None, None):
        return None
    sources = [
        producer[0] if producer else xs
        for producer, xs in zip(producers, (first, second), strict=True)
    ]
    types = [_element_type(source) for source in sources]
    pair_type = pair(types[0], types[1])
    variable = Bound(0, pair_type)
    parts: list[Term] = []
    for spec, producer in zip((FST, SND), producers, strict=True):
        part = Apply(Pattern(spec, components(pair_type)), variable)
        parts.append(
            part if producer is None else _fuse(beta_reduce(_shift_function(producer[1]), part))
        )
    results = [part.type for part in parts]
    body = apply_all(Pattern(TUPLE, results), parts)
    zip_term = apply_all(Pattern(ZIP, (_length(sources[0]), types[0], types[1])), sources)
    return zip_term, Lambda("p", pair_type, body)


def _shift_function(function: Lambda) -> Lambda:
    shifted = shift(function, 1)
    assert isinstance(shifted, Lambda)
    return shifted


def _element_type(xs: Term) -> RiseType:
    assert isinstance(xs.type, ArrayType)
    return xs.type.element


def _length(xs: Term) -> Nat:
    assert isinstance(xs.type, ArrayType)
    return xs.type.length


def beta_reduce(function: Lambda, argument: Term) -> Term:
    """Beta-reduce; a computed argument that is used often gets a let instead of being copied."""
    head, parts = spine(argument)
    if isinstance(head, Pattern) and head.spec is TUPLE and len(parts) == 2:
        return _beta_reduce_pair(function, parts[0], parts[1])
    is_free = is_view(argument) or isinstance(argument, Literal | Lambda | Pattern)
    if is_free or not is_used_often(function.body):
        return instantiate(function.body, argument)
    let = Pattern(LET, (argument.type, function.body.type))
    return apply_all(let, [argument, function])


def _beta_reduce_pair(function: Lambda, first: Term, second: Term) -> Term:
    """Beta-reduce a function of a pair; each component is inlined or gets a let on its own."""
    types = (first.type, second.type)
    pair_term = apply_all(Pattern(TUPLE, types), [Bound(1, first.type), Bound(0, second.type)])
    body = _inline(instantiate(shift(function.body, 2, 1), pair_term))
    remainder = beta_reduce(Lambda(function.name, second.type, body), shift(second, 1))
    return beta_reduce(Lambda(function.name, first.type, remainder), first)
