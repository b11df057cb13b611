"""Laws of tensor contractions that accumulate into a matrix with an element for each pair.

    zip(x, c) |> map(fun(p, zip(y, snd(p)) |> map(fun(q, f(fst(p), fst(q), snd(q))))))

Element i of x and element j of y are combined with element (i, j) of c, which is the initial value
of a reduction, or is added to its result. The loops can be padded, tiled and interchanged as if c
did not occur.
"""

from __future__ import annotations

from riselang.dialects.rise.pattern_registry import FST, REDUCE, SND, ZIP
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.types import RiseType, TupleType, components
from riselang.rewrite.law_matching import NoMatch
from riselang.rewrite.rule import Bindings, law, rule
from riselang.rewrite.rules.storing import match_map_nest, remove_unused
from riselang.rewrite.term_parts import abstract_over, pattern_arguments
from riselang.term.nodes import Apply, Bound, Lambda, Pattern, Term
from riselang.term.substitution import shift

UNKNOWNS = "x : n.s, y : m.t, c : n.m.u, f : s -> t -> u -> v"


@rule(UNKNOWNS)
def interchange_accumulating(term: Term) -> Bindings:
    """zip(x, c) |> map(fun(p, zip(y, snd(p)) |> map(fun(q, f(fst(p), fst(q), snd(q))))))
    ~> zip(y, c |> transpose) |> map(fun(q,
      zip(x, snd(q)) |> map(fun(p, f(fst(p), fst(q), snd(p)))))) |> transpose"""
    return match_accumulating(term)


@rule("x : n.s, y : (m + 1).t, c : n.(m + 1).u, f : s -> t -> u -> v", choose="k")
def pad_accumulating(term: Term, **given: object) -> Bindings:
    """zip(x, c) |> map(fun(p, zip(y, snd(p)) |> map(fun(q, f(fst(p), fst(q), snd(q))))))
    ~> zip(x, c |> map(fun(row, row |> pad(0, k))))
      |> map(fun(p, zip(y |> pad(0, k), snd(p)) |> map(fun(q, f(fst(p), fst(q), snd(q))))))
      |> map(fun(row, row |> take(m + 1)))

    The second array is padded to full tiles, and the padding is dropped at the end."""
    return match_accumulating(term)


@rule("x : (n * k).s, y : (m * l).t, c : (n * k).(m * l).u, f : s -> t -> u -> v", choose="k l")
def tile_accumulating(term: Term, **given: object) -> Bindings:
    """zip(x, c) |> map(fun(p, zip(y, snd(p)) |> map(fun(q, f(fst(p), fst(q), snd(q))))))
    ~> zip(x |> split(k), c |> split(k) |> map(fun(rows,
        rows |> transpose |> split(l) |> map(fun(columns, columns |> transpose)))))
      |> map(fun(ps, zip(y |> split(l), snd(ps)) |> map(fun(qs,
        zip(fst(ps), snd(qs)) |> map(fun(p,
          zip(fst(qs), snd(p)) |> map(fun(q, f(fst(p), fst(q), snd(q))))))))))
      |> map(fun(tiles, tiles |> map(fun(tile, tile |> transpose)) |> join |> transpose)) |> join

    Maps over tiles, and maps inside each tile."""
    return match_accumulating(term)


# Reductions that start from the elements of a matrix.


@law("x : n.k.s, y : m.k.t, f : u -> (s x t) -> u, a : u")
def start_from_matrix() -> None:
    """x |> map(fun(row, y |> map(fun(column, zip(row, column) |> reduce(f, a)))))
    ~> zip(x, generate(fun(i : idx[n], generate(fun(j : idx[m], a))))) |> map(fun(p,
      zip(y, snd(p)) |> map(fun(q, zip(fst(p), fst(q)) |> reduce(f, snd(q))))))

    The reductions start from a matrix whose elements are all the same."""


@rule("x : n.k.s, y : m.k.t, c : n.m.w, g : w -> u, f : u -> (s x t) -> u")
def initial_values_first(term: Term) -> Bindings:
    """zip(x, c) |> map(fun(p, zip(y, snd(p)) |> map(fun(q,
        zip(fst(p), fst(q)) |> reduce(f, g(snd(q)))))))
    ~> zip(x, c |> map(fun(row, row |> map(g)))) |> map(fun(p, zip(y, snd(p)) |> map(fun(q,
      zip(fst(p), fst(q)) |> reduce(f, snd(q))))))

    The initial values of the reductions are computed first."""
    nest = match_map_nest(term)
    (x, c), (y, _) = _zip_arguments(nest.xs), _zip_arguments(nest.ys)
    reduction = pattern_arguments(nest.inner.body, REDUCE.name)
    if reduction is None:
        raise NoMatch("expected reductions")
    element = _component(SND, nest.inner.parameter, 0)
    initial_value = remove_unused(remove_unused(abstract_over(reduction[1], element), 2), 1)
    function = remove_unused(remove_unused(reduction[0], 1), 0)
    return {"x": x, "c": c, "y": remove_unused(y, 0), "g": Lambda("e", element.type, initial_value),
            "f": function}  # fmt: skip


@law("x : n.(l * k).s, y : m.(l * k).t, c : n.m.u, f : u -> (s x t) -> u", choose="k")
def reduce_in_chunks() -> None:
    """zip(x, c) |> map(fun(p, zip(y, snd(p)) |> map(fun(q,
        zip(fst(p), fst(q)) |> reduce(f, snd(q))))))
    ~> zip(x |> transpose |> split(k), y |> transpose |> split(k)) |> reduce(fun((accs, chunk),
      zip(fst(chunk) |> transpose, accs) |> map(fun(p,
        zip(snd(chunk) |> transpose, snd(p)) |> map(fun(q,
          zip(fst(p), fst(q)) |> reduce(f, snd(q))))))), c)

    All reductions process one chunk of elements before the next; between chunks, the accumulators
    are in memory."""


@law("x : n.(k + l).s, y : m.(k + l).t, c : n.m.u, f : u -> (s x t) -> u", choose="k")
def peel_reductions() -> None:
    """zip(x, c) |> map(fun(p, zip(y, snd(p)) |> map(fun(q,
        zip(fst(p), fst(q)) |> reduce(f, snd(q))))))
    ~> zip(x |> transpose |> drop(k) |> transpose,
        zip(x |> transpose |> take(k) |> transpose, c) |> map(fun(p,
          zip(y |> transpose |> take(k) |> transpose, snd(p)) |> map(fun(q,
            zip(fst(p), fst(q)) |> reduce(f, snd(q)))))))
      |> map(fun(p, zip(y |> transpose |> drop(k) |> transpose, snd(p)) |> map(fun(q,
        zip(fst(p), fst(q)) |> reduce(f, snd(q))))))

    The first elements are reduced separately, so that the chunk size divides the remaining ones."""


def has_matrix_operand(term: Term) -> bool:
    """Whether a term has the form of the left-hand sides."""
    try:
        match_accumulating(term)
    except NoMatch:
        return False
    return True


def match_accumulating(term: Term) -> Bindings:
    nest = match_map_nest(term)
    x, c = _zip_arguments(nest.xs)
    y, matrix_row = _zip_arguments(nest.ys)
    if matrix_row != _component(SND, nest.outer.parameter, 0):
        raise NoMatch("expected a zip with the second component of the outer element")
    parts = (
        _component(FST, nest.outer.parameter, 1),
        _component(FST, nest.inner.parameter, 0),
        _component(SND, nest.inner.parameter, 0),
    )
    body = nest.inner.body
    for count, part in enumerate(parts):
        body = abstract_over(body, shift(part, count))
    body = remove_unused(remove_unused(body, 4), 3)
    for part in reversed(parts):
        body = Lambda("e", part.type, body)
    return {"x": x, "c": c, "y": remove_unused(y, 0), "f": body}


def _zip_arguments(term: Term) -> list[Term]:
    arguments = pattern_arguments(term, ZIP.name)
    if arguments is None:
        raise NoMatch("expected a zip")
    return arguments


def _component(spec: PatternSpec, type: RiseType, index: int) -> Term:
    assert isinstance(type, TupleType)
    return Apply(Pattern(spec, components(type)), Bound(index, type))
