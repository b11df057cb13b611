"""Replaces vectors in a term by arrays of scalars.

A vector has the same layout in memory as an array. If MLIR vectors support all operations of a
term, it is unchanged; else each tree of vector operations becomes a map over the lanes of its
operands, which are read outside of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from riselang.dialects.rise.foreign_functions import ForeignFunction, foreign_spec
from riselang.dialects.rise.pattern_registry import (
    AS_SCALAR,
    AS_VECTOR,
    FST,
    GENERATE,
    JOIN,
    LET,
    MAP,
    SND,
    SPLIT,
    VECTOR_FROM_SCALAR,
    ZIP,
)
from riselang.dialects.rise.type_binding import dep_fun
from riselang.dialects.rise.types import (
    ArrayType,
    DepFunType,
    FunType,
    RiseType,
    TupleType,
    VectorType,
    array,
    components,
    compute_once,
    element_of,
    f32,
    f64,
    fun,
    i1,
    idx,
    pair,
)
from riselang.nat import Nat
from riselang.support.errors import LimitationError
from riselang.term.deep_recursion import recursive
from riselang.term.lane_ops import LANE_TYPES, has_vector_form
from riselang.term.mathlib import LIBRARY_FUNCTIONS
from riselang.term.nodes import (
    Apply,
    Bound,
    DepApply,
    Embed,
    Lambda,
    Pattern,
    Scalar,
    Term,
    apply_all,
    scalar_type,
    subterms,
)
from riselang.term.scalar_embedding import evaluate_tree, scalar_leaves
from riselang.term.substitution import map_children

VECTOR_PATTERNS = (AS_VECTOR, AS_SCALAR, VECTOR_FROM_SCALAR)
LIBRARY_TYPES = (f32, f64)
"""Scalar types for which the math library has functions."""


@cache
def replace_vector_types(type: RiseType) -> RiseType:
    """Replace the vectors in a type by arrays."""
    match type:
        case VectorType() | ArrayType():
            return array(type.length, replace_vector_types(type.element))
        case TupleType():
            first, second = components(type)
            return pair(replace_vector_types(first), replace_vector_types(second))
        case FunType():
            return fun(replace_vector_types(type.input), replace_vector_types(type.output))
        case DepFunType():
            return dep_fun(type.kind.data, type.binder, replace_vector_types(type.body))
        case _:
            return type


def replace_unsupported_vectors(term: Term, *, has_library: bool = True) -> Term:
    """Replace the vectors in a term by arrays, unless all its vector operations are supported.

    Where there is a math library, its functions are called for each lane of a vector.
    """
    # The parameters and the result of a program are in memory, which cannot contain masks.
    parameters = [type for type, _ in _vector_types(term.type)]
    are_stored = all(_is_supported_vector(type, masks=False) for type in parameters)
    if not _has_vectors(term) or (
        are_stored and all(_is_supported(part, has_library) for part in subterms(term))
    ):
        return term
    return replace_vectors(term)


def _is_supported(part: Term, has_library: bool) -> bool:
    """Whether the vector operations of a subterm are supported."""
    if isinstance(part, Embed):
        return not _has_vector_operands(part)
    if isinstance(part, Scalar) and isinstance(part.type, VectorType):
        is_call = part.op in LIBRARY_FUNCTIONS and part.type.element in LIBRARY_TYPES
        is_lane_op = has_vector_form(part) or (has_library and is_call)
        return is_lane_op and _is_supported_vector(part.type, masks=True)
    # A mask may be in a register, but not in memory, where each lane would take a byte.
    may_be_mask = isinstance(part, Bound | Lambda | Apply) or (
        isinstance(part, Pattern) and part.spec in (LET, VECTOR_FROM_SCALAR)
    )
    return all(
        _is_supported_vector(type, masks=may_be_mask and not is_stored)
        for type, is_stored in _vector_types(part.type)
    )


def _vector_types(type: RiseType) -> tuple[tuple[VectorType, bool], ...]:
    """Return the vector types in a type, and whether each is a part of an array or a pair."""
    return compute_once(type, "_vector_types", lambda type: tuple(_vector_types_in(type)))


def _vector_types_in(type: RiseType, is_stored: bool = False) -> Iterator[tuple[VectorType, bool]]:
    match type:
        case VectorType():
            yield type, is_stored
        case ArrayType():
            yield from _vector_types_in(type.element, True)
        case TupleType():
            for part in components(type):
                yield from _vector_types_in(part, True)
        case FunType():
            yield from _vector_types_in(type.input, is_stored)
            yield from _vector_types_in(type.output, is_stored)
        case _:
            return


def _is_supported_vector(type: VectorType, *, masks: bool) -> bool:
    is_lane_type = type.element in LANE_TYPES or (masks and type.element == i1)
    return type.length.is_constant and type.length.constant >= 1 and is_lane_type


def _has_vectors(term: Term) -> bool:
    """Whether a term has vectors: in its type, its patterns, or its embedded ops."""
    if replace_vector_types(term.type) != term.type:
        return True
    stack = [term]
    while stack:
        current = stack.pop()
        if isinstance(current, Pattern) and current.spec in VECTOR_PATTERNS:
            return True
        if isinstance(current, Embed) and isinstance(current.type, VectorType):
            return True
        stack.extend(current.children)
    return False


@recursive
def replace_vectors(term: Term) -> Term:
    """Replace all vectors in a term by arrays."""
    return _visit(term)


def _visit(term: Term) -> Term:
    match term:
        case Bound(index):
            return Bound(index, replace_vector_types(term.type), term.location)
        case Lambda(name, parameter, body):
            return Lambda(name, replace_vector_types(parameter), _visit(body), term.location)
        case Pattern():
            return _replace_pattern(term)
        case Scalar() if isinstance(term.type, VectorType):
            return _map_over_lanes(term, term.type.length)
        case Embed() if _has_vector_operands(term):
            raise LimitationError(
                "an embed with ops other than arith and math cannot be compiled on vectors yet",
                term.location,
            )
        case DepApply(function, RiseType() as argument):
            return DepApply(_visit(function), replace_vector_types(argument), term.location)
        case _:
            return map_children(term, _visit, _visit)


def _has_vector_operands(term: Embed) -> bool:
    return any(isinstance(part.type, VectorType) for part in (term, *term.operands))


def _map_over_lanes(term: Scalar, length: Nat) -> Term:
    """`v * v + w ~> zip(v, w) |> map(fun((a, b), a * a + b))`"""
    leaves = scalar_leaves(term)
    distinct = list(dict.fromkeys(leaves))
    lanes = _zip_all([_visit(leaf) for leaf in distinct], length)
    assert isinstance(lanes.type, ArrayType)
    lane = Bound(0, lanes.type.element)

    def combine(term: Term, operands: Sequence[Term]) -> Term:
        assert isinstance(term, Scalar)
        return Scalar(term.op, operands, scalar_type(term), term.predicate, term.location)

    parts = dict(zip(distinct, _unzip_element(lane, len(distinct)), strict=True))
    body = evaluate_tree(term, leaves, [parts[leaf] for leaf in leaves], combine)
    function = Lambda("lane", lane.type, body, term.location)
    map = Pattern(MAP, (length, lane.type, body.type), None, term.location)
    return apply_all(map, [function, lanes])


def _zip_all(arrays: Sequence[Term], length: Nat) -> Term:
    """Zip arrays as a balanced tree, so that the term does not become deep."""
    if len(arrays) == 1:
        return arrays[0]
    half = len(arrays) // 2
    parts = [_zip_all(arrays[:half], length), _zip_all(arrays[half:], length)]
    return apply_all(Pattern(ZIP, (length, *(element_of(part.type) for part in parts))), parts)


def _unzip_element(value: Term, count: int) -> list[Term]:
    """Return the components that `_zipped` paired."""
    if count == 1:
        return [value]
    half, types = count // 2, components(value.type)
    first, second = (Apply(Pattern(spec, types), value) for spec in (FST, SND))
    return _unzip_element(first, half) + _unzip_element(second, count - half)


def _replace_pattern(term: Pattern) -> Term:
    if term.spec is AS_VECTOR:
        # asVector(k) ~> split(k)
        return Pattern(SPLIT, term.arguments, None, term.location)
    if term.spec is AS_SCALAR:
        # asScalar ~> join
        length, count, element = term.arguments
        return Pattern(JOIN, (count, length, element), None, term.location)
    if term.spec is VECTOR_FROM_SCALAR:
        return _replace_broadcast(term)
    if term.spec.foreign is not None and term.spec.foreign.is_lanewise:
        return _replace_foreign_lanes(term, term.spec.foreign)
    arguments = [replace_vector_types(x) if isinstance(x, RiseType) else x for x in term.arguments]
    return Pattern(term.spec, arguments, term.to, term.location)


def _replace_foreign_lanes(term: Pattern, function: ForeignFunction) -> Term:
    """`foreignLanes(...) ~> fun((a, b), zip(a, b) |> map(fun(p, foreign(..., fst(p), snd(p)))))`"""
    (length,) = term.sizes.values()
    count = len(function.inputs)
    types = [array(length, each.type) for each in function.inputs]
    lanes = _zip_all([Bound(count - 1 - i, type) for i, type in enumerate(types)], length)
    assert isinstance(lanes.type, ArrayType)
    spec = foreign_spec(*function.texts)
    parts = _unzip_element(Bound(0, lanes.type.element), count)
    body = apply_all(Pattern(spec, (), None, term.location), parts)
    lane = Lambda("lane", lanes.type.element, body, term.location)
    map = Pattern(MAP, (length, lanes.type.element, body.type), None, term.location)
    result = apply_all(map, [lane, lanes])
    for parameter, type in zip(reversed(function.inputs), reversed(types), strict=True):
        result = Lambda(parameter.name, type, result, term.location)
    return result


def _replace_broadcast(term: Pattern) -> Term:
    """`vectorFromScalar(k) ~> fun(x, generate(fun(i, x)))`"""
    length, element = term.arguments
    assert isinstance(length, Nat)
    assert isinstance(element, RiseType)
    constantly = Lambda("i", idx(length), Bound(1, element))
    generate = Pattern(GENERATE, (length, element), None, term.location)
    return Lambda("x", element, Apply(generate, constantly), term.location)
