"""Vectors as arrays: what a term says of vectors, said of arrays of scalars.

A vector lies in memory as an array does, and terms have no arithmetic on whole vectors, so nothing
is left of one but how it is cut and joined; the loops that move its scalars are vectorised later.
"""

from __future__ import annotations

from functools import cache

from riselang.dialects.rise.schemes import (
    AS_SCALAR,
    AS_VECTOR,
    GENERATE,
    JOIN,
    SPLIT,
    VECTOR_FROM_SCALAR,
)
from riselang.dialects.rise.types import (
    ArrayType,
    DepFunType,
    FunType,
    RiseType,
    TupleType,
    VectorType,
    array,
    components,
    dep_fun,
    fun,
    idx,
    pair,
)
from riselang.nat import Nat
from riselang.term.nodes import Apply, Bound, DepApply, Lambda, Pattern, Term
from riselang.term.recursion import recursive
from riselang.term.substitution import with_children

VECTOR_PATTERNS = (AS_VECTOR, AS_SCALAR, VECTOR_FROM_SCALAR)


@cache
def with_arrays(type: RiseType) -> RiseType:
    """The type with arrays in the place of vectors."""
    match type:
        case VectorType() | ArrayType():
            return array(type.length, with_arrays(type.element))
        case TupleType():
            first, second = components(type)
            return pair(with_arrays(first), with_arrays(second))
        case FunType():
            return fun(with_arrays(type.input), with_arrays(type.output))
        case DepFunType():
            return dep_fun(type.kind.data, type.binder, with_arrays(type.body))
        case _:
            return type


def without_vectors(term: Term) -> Term:
    """The term with arrays in the place of vectors."""
    return _without_vectors(term) if _has_vectors(term) else term


def _has_vectors(term: Term) -> bool:
    """Vectors come from inputs and from the patterns that make them."""
    if with_arrays(term.type) != term.type:
        return True
    stack = [term]
    while stack:
        current = stack.pop()
        if isinstance(current, Pattern) and current.spec in VECTOR_PATTERNS:
            return True
        stack.extend(current.children)
    return False


@recursive
def _without_vectors(term: Term) -> Term:
    return _visit(term)


def _visit(term: Term) -> Term:
    match term:
        case Bound(index):
            return Bound(index, with_arrays(term.type), term.location)
        case Lambda(name, parameter, body):
            return Lambda(name, with_arrays(parameter), _visit(body), term.location)
        case Pattern():
            return _pattern(term)
        case DepApply(function, RiseType() as argument):
            return DepApply(_visit(function), with_arrays(argument), term.location)
        case _:
            return with_children(term, _visit, _visit)


def _pattern(term: Pattern) -> Term:
    if term.spec is AS_VECTOR:
        # asVector(k) ~> split(k)
        return Pattern(SPLIT, term.arguments, None, term.location)
    if term.spec is AS_SCALAR:
        # asScalar ~> join
        length, count, element = term.arguments
        return Pattern(JOIN, (count, length, element), None, term.location)
    if term.spec is VECTOR_FROM_SCALAR:
        return _repeated(term)
    arguments = [with_arrays(x) if isinstance(x, RiseType) else x for x in term.arguments]
    return Pattern(term.spec, arguments, term.to, term.location)


def _repeated(term: Pattern) -> Term:
    """`vectorFromScalar(k) ~> fun(x, generate(fun(i, x)))`"""
    length, element = term.arguments
    assert isinstance(length, Nat)
    assert isinstance(element, RiseType)
    constantly = Lambda("i", idx(length), Bound(1, element))
    generate = Pattern(GENERATE, (length, element), None, term.location)
    return Lambda("x", element, Apply(generate, constantly), term.location)
