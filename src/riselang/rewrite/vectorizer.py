"""Vectorization of scalar functions: a function on vectors that does the same in each lane.

Patterns do not inspect the elements of arrays, so they work on arrays of vectors as on arrays of
scalars. Values that are the same in all lanes become splats where they are combined with vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.foreign_functions import ForeignFunction, foreign_spec
from riselang.dialects.rise.pattern_registry import (
    AS_SCALAR,
    AS_VECTOR,
    FST,
    LET,
    MAP,
    SND,
    TRANSPOSE,
    TUPLE,
    VECTOR_FROM_SCALAR,
    ZIP,
)
from riselang.dialects.rise.pattern_spec import Role
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import (
    ArrayType,
    FunType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    array,
    components,
    element_of,
    pair,
    vector,
)
from riselang.nat import Nat, divides
from riselang.rewrite.eta import eta_expand, mentions
from riselang.rewrite.rule import Unmet
from riselang.rewrite.term_parts import pattern_arguments
from riselang.term.nodes import Apply, Bound, Lambda, Pattern, Scalar, Term, apply_all, spine

LOOPS = (
    "map", "mapSeq", "mapSeqUnroll", "reduce", "reduceSeq", "reduceSeqUnroll", "scan", "scanSeq",
    "generate", "iterate", "iterateSeq", "toMem",
)  # fmt: skip
"""Patterns that are not views, and that work on vectors as on scalars."""

_Scope = tuple[RiseType | None, ...]
"""The vector types of the function's variables, the innermost first; None for scalars."""


@dataclass(frozen=True)
class Vectorizer:
    """Replaces scalars with vectors of a length."""

    length: Nat
    of_arrays: bool = False
    """Whether elements may be arrays."""

    def vectorize_function(self, function: Lambda) -> Lambda:
        """Vectorize a function, whose parameter becomes a vector."""
        parameter = self.vector_type(function.parameter)
        return Lambda(function.name, parameter, self.vectorize_term(function.body, (parameter,)))

    def vector_type(self, type: RiseType) -> RiseType:
        if isinstance(type, ScalarType):
            return vector(self.length, type)
        if isinstance(type, TupleType):
            first, second = components(type)
            return pair(self.vector_type(first), self.vector_type(second))
        if self.of_arrays and isinstance(type, ArrayType):
            return array(type.length, self.vector_type(type.element))
        if self.of_arrays and isinstance(type, IdxType):
            return type
        raise Unmet(f"vector elements must be scalars, but {format_type(type)} is not one")

    def vectorize_term(self, term: Term, scope: _Scope) -> Term:
        if not _depends_on_scope(term, scope):
            return self.splat(term)
        if isinstance(term, Bound):
            type = scope[term.index]
            assert type is not None
            return Bound(term.index, type, term.location)
        if isinstance(term, Scalar):
            operands = [self.vectorize_term(operand, scope) for operand in term.operands]
            type = vector(self.length, term.type)
            return Scalar(term.op, operands, type, term.predicate, term.location)
        return self.vectorize_application(term, scope)

    def splat(self, term: Term) -> Term:
        """Splat a value that is the same in all lanes."""
        if isinstance(term.type, TupleType):
            parts = [self.splat(part) for part in _pair_components(term)]
            return apply_all(Pattern(TUPLE, [part.type for part in parts]), parts)
        if self.vector_type(term.type) == term.type:
            return term
        if isinstance(term.type, ArrayType):
            return self.splat_elements(term, term.type)
        return Apply(Pattern(VECTOR_FROM_SCALAR, (self.length, term.type)), term)

    def splat_elements(self, term: Term, type: ArrayType) -> Term:
        element = self.splat(Bound(0, type.element))
        function = Lambda("e", type.element, element)
        map = Pattern(MAP, (type.length, type.element, element.type))
        return apply_all(map, [function, term])

    def vectorize_application(self, term: Term, scope: _Scope) -> Term:
        if (operands := pattern_arguments(term, FST.name, SND.name)) is not None:
            head, _ = spine(term)
            assert isinstance(head, Pattern)
            vectorized_pair = self.vectorize_term(operands[0], scope)
            return Apply(Pattern(head.spec, components(vectorized_pair.type)), vectorized_pair)
        if (operands := pattern_arguments(term, TUPLE.name)) is not None:
            parts = [self.vectorize_term(part, scope) for part in operands]
            return apply_all(Pattern(TUPLE, [part.type for part in parts]), parts)
        if (operands := pattern_arguments(term, LET.name)) is not None and isinstance(
            operands[1], Lambda
        ):
            return self.vectorize_let(operands[0], operands[1], scope)
        head, arguments = spine(term)
        if isinstance(head, Pattern) and head.spec.foreign is not None:
            return self.vectorize_foreign(head, head.spec.foreign, arguments, scope)
        if self.of_arrays and isinstance(head, Pattern) and len(arguments) == head.spec.arity:
            return self.apply_pattern_to_vectors(head, arguments, scope)
        raise Unmet("the function does more than scalar arithmetic")

    def vectorize_foreign(
        self, head: Pattern, function: ForeignFunction, arguments: list[Term], scope: _Scope
    ) -> Term:
        """Apply a C function of scalars to each lane."""
        if function.is_lanewise or not function.is_scalar or len(arguments) != head.spec.arity:
            raise Unmet(f"{function.name} takes arrays or vectors")
        spec = foreign_spec(*function.texts, is_lanewise=True)
        vectors = [self.vectorize_term(argument, scope) for argument in arguments]
        return apply_all(Pattern(spec, (self.length,), None, head.location), vectors)

    def apply_pattern_to_vectors(self, head: Pattern, arguments: list[Term], scope: _Scope) -> Term:
        """Apply a pattern that does not inspect its elements to vectors."""
        is_view = head.spec.role is Role.VIEW and head.spec not in (AS_VECTOR, AS_SCALAR)
        if not is_view and head.spec.name not in LOOPS:
            raise Unmet(f"{head.spec.name} inspects scalars")
        vector_arguments = [self.vectorize_argument(argument, scope) for argument in arguments]
        types = [self.vector_type(x) if isinstance(x, RiseType) else x for x in head.arguments]
        return apply_all(Pattern(head.spec, types, head.to, head.location), vector_arguments)

    def vectorize_argument(self, term: Term, scope: _Scope) -> Term:
        """Vectorize an argument of a pattern: data, or a function of data."""
        if not isinstance(term.type, FunType):
            return self.vectorize_term(term, scope)
        function = eta_expand(term)
        assert isinstance(function, Lambda)
        parameter = self.vector_type(function.parameter)
        vector_type = None if parameter == function.parameter else parameter
        body = self.vectorize_argument(function.body, (vector_type, *scope))
        return Lambda(function.name, parameter, body, function.location)

    def vectorize_let(self, value: Term, function: Lambda, scope: _Scope) -> Term:
        is_vector = _depends_on_scope(value, scope)
        vector_value = self.vectorize_term(value, scope) if is_vector else value
        inner = vector_value.type if is_vector else None
        body = self.vectorize_term(function.body, (inner, *scope))
        vector_function = Lambda(function.name, vector_value.type, body, function.location)
        return apply_all(
            Pattern(LET, (vector_value.type, body.type)), [vector_value, vector_function]
        )


def vectorize_array(xs: Term, length: Nat, *, of_arrays: bool = False) -> Term:
    """Convert an array of scalars, of pairs, or of arrays of these, to vectors."""
    type = xs.type
    assert isinstance(type, ArrayType)
    if not divides(length, type.length) or length == Nat.const(0):
        raise Unmet(f"{type.length} is not a multiple of {length}")
    if isinstance(type.element, ScalarType):
        return Apply(Pattern(AS_VECTOR, (length, type.length // length, type.element)), xs)
    if of_arrays and isinstance(type.element, ArrayType):
        return _vectorize_columns(xs, type, type.element, length)
    if not isinstance(type.element, TupleType):
        raise Unmet(f"vector elements must be scalars, but {format_type(type.element)} is not one")
    parts = [
        vectorize_array(part, length, of_arrays=of_arrays) for part in _component_arrays(xs, type)
    ]
    types = [element_of(part.type) for part in parts]
    return apply_all(Pattern(ZIP, (type.length // length, *types)), parts)


def _vectorize_columns(xs: Term, type: ArrayType, row: ArrayType, length: Nat) -> Term:
    """Return `xs |> transpose |> map(fun(column, the vectors of column)) |> transpose`."""
    columns = Apply(Pattern(TRANSPOSE, (type.length, row.length, row.element)), xs)
    column = Bound(0, array(type.length, row.element))
    vectors = vectorize_array(column, length, of_arrays=True)
    function = Lambda("column", column.type, vectors)
    sizes = row.length, column.type, vectors.type
    vectorized = apply_all(Pattern(MAP, sizes), [function, columns])
    lanes = (row.length, type.length // length, element_of(vectors.type))
    return Apply(Pattern(TRANSPOSE, lanes), vectorized)


def _component_arrays(xs: Term, type: ArrayType) -> list[Term]:
    """The arrays of the first and of the second components of an array of pairs."""
    if (arguments := pattern_arguments(xs, ZIP.name)) is not None:
        return arguments
    arrays: list[Term] = []
    for spec, part in zip((FST, SND), components(type.element), strict=True):
        project = Apply(Pattern(spec, components(type.element)), Bound(0, type.element))
        function = Lambda("p", type.element, project)
        arrays.append(apply_all(Pattern(MAP, (type.length, type.element, part)), [function, xs]))
    return arrays


def _pair_components(term: Term) -> list[Term]:
    types = components(term.type)
    return [Apply(Pattern(spec, types), term) for spec in (FST, SND)]


def _depends_on_scope(term: Term, scope: _Scope) -> bool:
    return any(type is not None and mentions(term, i) for i, type in enumerate(scope))
