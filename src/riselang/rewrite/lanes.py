"""Functions of scalars as functions of vectors, which do the same with each lane."""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.schemes import (
    AS_VECTOR,
    FST,
    LET,
    MAP,
    SND,
    TUPLE,
    VECTOR_FROM_SCALAR,
    ZIP,
)
from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    ScalarType,
    TupleType,
    components,
    element_of,
    pair,
    show,
    vector,
)
from riselang.nat import Nat, divides
from riselang.rewrite.eta import mentions
from riselang.rewrite.rule import Unmet
from riselang.rewrite.terms import applied
from riselang.term.nodes import Apply, Bound, Lambda, Pattern, Scalar, Term, apply_all, spine

_Scope = tuple[RiseType | None, ...]
"""What the variables of the function are in vectors, the innermost first; None where they are not.
"""


@dataclass(frozen=True)
class Lifting:
    """From scalars to vectors of a length."""

    length: Nat

    def function(self, function: Lambda) -> Lambda:
        """The function of the lanes of its parameter."""
        parameter = self.type(function.parameter)
        return Lambda(function.name, parameter, self.term(function.body, (parameter,)))

    def type(self, type: RiseType) -> RiseType:
        if isinstance(type, ScalarType):
            return vector(self.length, type)
        if isinstance(type, TupleType):
            first, second = components(type)
            return pair(self.type(first), self.type(second))
        raise Unmet(f"a vector is made of scalars, but {show(type)} is none")

    def term(self, term: Term, scope: _Scope) -> Term:
        if not _depends(term, scope):
            return self.repeated(term)
        if isinstance(term, Bound):
            type = scope[term.index]
            assert type is not None
            return Bound(term.index, type, term.location)
        if isinstance(term, Scalar):
            operands = [self.term(operand, scope) for operand in term.operands]
            type = vector(self.length, term.type)
            return Scalar(term.op, operands, type, term.predicate, term.location)
        return self.pattern(term, scope)

    def repeated(self, term: Term) -> Term:
        """What is the same for all lanes."""
        if isinstance(term.type, TupleType):
            parts = [self.repeated(part) for part in _parts(term)]
            return apply_all(Pattern(TUPLE, [part.type for part in parts]), parts)
        self.type(term.type)
        return Apply(Pattern(VECTOR_FROM_SCALAR, (self.length, term.type)), term)

    def pattern(self, term: Term, scope: _Scope) -> Term:
        if (found := applied(term, FST.name, SND.name)) is not None:
            head, _ = spine(term)
            assert isinstance(head, Pattern)
            whole = self.term(found[0], scope)
            return Apply(Pattern(head.spec, components(whole.type)), whole)
        if (found := applied(term, TUPLE.name)) is not None:
            parts = [self.term(part, scope) for part in found]
            return apply_all(Pattern(TUPLE, [part.type for part in parts]), parts)
        if (found := applied(term, LET.name)) is not None and isinstance(found[1], Lambda):
            return self.let(found[0], found[1], scope)
        raise Unmet("the function does more than to compute with scalars")

    def let(self, value: Term, function: Lambda, scope: _Scope) -> Term:
        is_vector = _depends(value, scope)
        named = self.term(value, scope) if is_vector else value
        inner = named.type if is_vector else None
        body = self.term(function.body, (inner, *scope))
        lifted = Lambda(function.name, named.type, body, function.location)
        return apply_all(Pattern(LET, (named.type, body.type)), [named, lifted])


def vectors_of(xs: Term, length: Nat) -> Term:
    """An array of scalars, or of pairs of scalars, in vectors."""
    type = xs.type
    assert isinstance(type, ArrayType)
    if not divides(length, type.length) or length == Nat.const(0):
        raise Unmet(f"{type.length} is not a multiple of {length}")
    if isinstance(type.element, ScalarType):
        return Apply(Pattern(AS_VECTOR, (length, type.length // length, type.element)), xs)
    if not isinstance(type.element, TupleType):
        raise Unmet(f"a vector is made of scalars, but {show(type.element)} is none")
    parts = [vectors_of(part, length) for part in _component_arrays(xs, type)]
    types = [element_of(part.type) for part in parts]
    return apply_all(Pattern(ZIP, (type.length // length, *types)), parts)


def _component_arrays(xs: Term, type: ArrayType) -> list[Term]:
    """The arrays of the first and of the second components of an array of pairs."""
    if (found := applied(xs, ZIP.name)) is not None:
        return found
    arrays: list[Term] = []
    for spec, part in zip((FST, SND), components(type.element), strict=True):
        project = Apply(Pattern(spec, components(type.element)), Bound(0, type.element))
        function = Lambda("p", type.element, project)
        arrays.append(apply_all(Pattern(MAP, (type.length, type.element, part)), [function, xs]))
    return arrays


def _parts(term: Term) -> list[Term]:
    types = components(term.type)
    return [Apply(Pattern(spec, types), term) for spec in (FST, SND)]


def _depends(term: Term, scope: _Scope) -> bool:
    return any(type is not None and mentions(term, i) for i, type in enumerate(scope))
