"""Laws that introduce vectors."""

from __future__ import annotations

from riselang.dialects.rise.pattern_registry import AS_SCALAR, MAP
from riselang.dialects.rise.types import ArrayType, ScalarType, VectorType
from riselang.nat import Nat
from riselang.rewrite.eta import eta_expand
from riselang.rewrite.law_matching import NoMatch
from riselang.rewrite.rule import law, rule
from riselang.rewrite.side_conditions import scalar
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.vectorizer import Vectorizer, vectorize_array
from riselang.term.nodes import Apply, Lambda, Pattern, Term, apply_all


@rule(
    "f : s -> t, g : vec[k, s] -> vec[k, t], x : (n * k).s", scalar("s"), scalar("t"),
    choose="k", condition="f is scalar arithmetic, and g does the same in each lane",
)  # fmt: skip
def vectorize_map(term: Term, k: Nat) -> Term:
    """x |> map(f) ~> x |> asVector(k) |> map(g) |> asScalar

    Elements may be pairs of scalars: then each component is an array of vectors."""
    return _vectorize(term, k, of_arrays=False)


@rule(
    "f : m.s -> t, g : m.vec[k, s] -> vec[k, t], x : (n * k).m.s", scalar("s"), scalar("t"),
    choose="k", condition="f only computes with scalars, and g does the same in each lane",
)  # fmt: skip
def vectorize_map_of_arrays(term: Term, k: Nat) -> Term:
    """x |> map(f)
    ~> x |> transpose |> map(fun(column, column |> asVector(k))) |> transpose |> map(g) |> asScalar

    Elements may be pairs, and arrays of arrays as well: windows of any dimension."""
    return _vectorize(term, k, of_arrays=True)


def _vectorize(term: Term, k: Nat, *, of_arrays: bool) -> Term:
    arguments = pattern_arguments(term, MAP.name)
    if arguments is None:
        raise NoMatch("expected map")
    function, xs = eta_expand(arguments[0]), arguments[1]
    assert isinstance(function, Lambda)
    if not isinstance(function.body.type, ScalarType):
        raise NoMatch("the function does not return a scalar")
    vectors = vectorize_array(xs, k, of_arrays=of_arrays)
    assert isinstance(vectors.type, ArrayType)
    vector_function = Vectorizer(k, of_arrays).vectorize_function(function)
    assert isinstance(vector_function.body.type, VectorType)
    sizes = vectors.type.length, vectors.type.element, vector_function.body.type
    result = apply_all(Pattern(MAP, sizes), [vector_function, vectors])
    return Apply(Pattern(AS_SCALAR, (k, sizes[0], function.body.type)), result)


@law("x : (n * k).t", scalar("t"), choose="k")
def through_vectors() -> None:
    """x ~> x |> asVector(k) |> asScalar"""


@law("x : (n * m * k).t", scalar("t"), choose="m")
def split_vectors() -> None:
    """x |> asVector(k) |> split(m) ~> x |> split(m * k) |> map(fun(block, block |> asVector(k)))"""


@law("x : n.(m * k).t", scalar("t"))
def vectors_of_rows() -> None:
    """x |> map(fun(row, row |> asVector(k))) |> join ~> x |> join |> asVector(k)"""


@law("x : n.m.vec[k, t]", scalar("t"))
def scalars_of_rows() -> None:
    """x |> map(fun(row, row |> asScalar)) |> join ~> x |> join |> asScalar"""


@law("x : (n * k).s, c : t", scalar("t"))
def vectors_of_one_scalar() -> None:
    """x |> map(fun(e, c)) |> asVector(k) ~> generate(fun(i : idx[n], vectorFromScalar(k, c)))"""


@law("c : t", scalar("t"))
def vectors_of_generated_scalar() -> None:
    """generate(fun(i : idx[n * k], c)) |> asVector(k)
    ~> generate(fun(i : idx[n], vectorFromScalar(k, c)))"""


@law("h : (n * k).t -> s -> (n * k).t, a : (n * k).t, x : m.s", scalar("t"), choose="k")
def reduce_in_vectors() -> None:
    """x |> reduce(h, a)
    ~> x |> reduce(fun((acc, e), h(acc |> asScalar, e) |> asVector(k)), a |> asVector(k))
      |> asScalar

    The accumulators of a reduction become vectors; a reduction with a scalar accumulator needs
    partial_sums first, which adds in another order."""


@law(
    "h : l.(n * k).t -> s -> l.(n * k).t, a : l.(n * k).t, x : m.s", scalar("t"), choose="k",
)  # fmt: skip
def reduce_in_rows_of_vectors() -> None:
    """x |> reduce(h, a)
    ~> x |> reduce(
      fun((acc, e),
        h(acc |> map(fun(row, row |> asScalar)), e) |> map(fun(row, row |> asVector(k)))),
      a |> map(fun(row, row |> asVector(k)))) |> map(fun(row, row |> asScalar))

    The same for accumulators in rows."""


@law(
    "h : (n * k).t -> s -> (n * k).t, a : n.vec[k, t], x : m.s", scalar("t"),
)  # fmt: skip
def vectors_into_reduce() -> None:
    """x |> reduce(h, a |> asScalar) |> asVector(k)
    ~> x |> reduce(fun((acc, e), h(acc |> asScalar, e) |> asVector(k)), a)"""


@law(
    "h : l.(n * k).t -> s -> l.(n * k).t, a : l.n.vec[k, t], x : m.s", scalar("t"),
)  # fmt: skip
def rows_of_vectors_into_reduce() -> None:
    """x |> reduce(h, a |> map(fun(row, row |> asScalar))) |> map(fun(row, row |> asVector(k)))
    ~> x |> reduce(
      fun((acc, e),
        h(acc |> map(fun(row, row |> asScalar)), e) |> map(fun(row, row |> asVector(k)))), a)"""


@law("x : (n * k).t, y : (m * k).t", scalar("t"))
def vectors_of_concat() -> None:
    """concat(x, y) |> asVector(k) ~> concat(x |> asVector(k), y |> asVector(k))"""


@law("x : ((m + n) * k).t", scalar("t"))
def vectors_of_take() -> None:
    """x |> take(m * k) |> asVector(k) ~> x |> asVector(k) |> take(m)"""
