"""Laws that store an intermediate array, so that one loop becomes two.

Programs compute the values that they read element by element, so a chain of two matrix
multiplications is one map with two reductions in it. Storing the intermediate array makes each of
them a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import FST, MAP, SND, ZIP, PatternSpec
from riselang.dialects.rise.types import components
from riselang.rewrite.eta import mentions, without
from riselang.rewrite.matching import NoMatch
from riselang.rewrite.rule import Found, law, rule
from riselang.rewrite.rules.functions import folds_in, loop_parts
from riselang.rewrite.terms import applied, generalised
from riselang.term.nodes import Apply, Bound, Lambda, Pattern, Term
from riselang.term.substitution import shift, swapped


@law("x : n.s, g : s -> t, h : s -> t -> u")
def store_between() -> None:
    """x |> map(fun(e, let y = g(e); h(e, y)))
    ~> zip(x, x |> map(g) |> toMem(heap)) |> map(fun(p, h(fst(p), snd(p))))

    The first value of each element is computed for all elements first, and stored."""


@rule("x : n.s, z : m.t, f : s -> t -> u, g : s -> u -> v")
def store_folds(term: Term) -> Found:
    """x |> map(fun(e, z |> map(fun(c, g(e, f(e, c))))))
    ~> zip(x |> map(fun(e, z |> map(fun(c, f(e, c))))) |> toMem(heap), x)
      |> map(fun(p, fst(p) |> map(fun(y, g(snd(p), y)))))

    The reductions are computed and stored first; then everything that uses them and the element."""
    nest = nest_of(term)
    fold = folds_in(nest.inner.body)
    function = nest.of_column(fold, Bound(0, nest.inner.parameter))
    rest = unless_taken(generalised(nest.inner.body, fold), 1)
    made = nest.of_element(Lambda("y", fold.type, rest))
    return {"x": nest.xs, "z": unless_taken(nest.ys, 0), "f": function, "g": made}


@rule("x : n.s, z : m.w, y : s -> m.t, f : s -> w -> u, g : s -> t -> u -> v")
def store_folds_of_firsts(term: Term) -> Found:
    """x |> map(fun(e, zip(z, y(e)) |> map(fun(q, g(e, snd(q), f(e, fst(q)))))))
    ~> zip(x |> map(fun(e, z |> map(fun(c, f(e, c))))) |> toMem(heap), x)
      |> map(fun(p, zip(fst(p), y(snd(p))) |> map(fun(q, g(snd(p), snd(q), fst(q))))))

    The same if the second loop zips the operands of the reductions with other values."""
    return _of_pairs(term, FST, SND)


@rule("x : n.s, z : m.w, y : s -> m.t, f : s -> w -> u, g : s -> t -> u -> v")
def store_folds_of_seconds(term: Term) -> Found:
    """x |> map(fun(e, zip(y(e), z) |> map(fun(q, g(e, fst(q), f(e, snd(q)))))))
    ~> zip(x |> map(fun(e, z |> map(fun(c, f(e, c))))) |> toMem(heap), x)
      |> map(fun(p, zip(fst(p), y(snd(p))) |> map(fun(q, g(snd(p), snd(q), fst(q))))))"""
    return _of_pairs(term, SND, FST)


def _of_pairs(term: Term, column: PatternSpec, other: PatternSpec) -> Found:
    nest = nest_of(term)
    zipped = applied(nest.ys, ZIP.name)
    if zipped is None:
        raise NoMatch("expected a zip")
    columns, others = zipped if column is FST else reversed(zipped)
    body, parts = nest.inner.body, components(nest.inner.parameter)
    pair = Bound(0, nest.inner.parameter)
    fold = folds_in(body)
    function = nest.of_column(fold, Apply(Pattern(column, parts), pair))
    of_fold = generalised(body, fold)
    taken = Apply(Pattern(other, parts), pair)
    of_both = swapped(unless_taken(generalised(of_fold, shift(taken, 1)), 2))
    made = Lambda("t", taken.type, Lambda("y", fold.type, of_both))
    return {
        "x": nest.xs, "z": unless_taken(columns, 0), "y": nest.of_element(others),
        "f": function, "g": nest.of_element(made),
    }  # fmt: skip


@dataclass(frozen=True)
class Nest:
    """`xs |> map(fun(e, ys |> map(fun(c, body))))`; `ys` is as in the term, under `e`."""

    xs: Term
    outer: Lambda
    ys: Term
    inner: Lambda

    def of_element(self, term: Term) -> Term:
        """Wrap a term from under the outer lambda in that lambda."""
        return Lambda(self.outer.name, self.outer.parameter, term)

    def of_column(self, fold: Term, column: Term) -> Term:
        """Abstract a reduction in the body over the first element and a part of the second."""
        taken = unless_taken(generalised(fold, column), 1)
        return self.of_element(Lambda("c", column.type, taken))


def nest_of(term: Term) -> Nest:
    (outer,), xs = loop_parts(term, MAP.name)
    assert isinstance(outer, Lambda)
    (inner,), ys = loop_parts(outer.body, MAP.name)
    assert isinstance(inner, Lambda)
    return Nest(xs, outer, ys, inner)


def unless_taken(term: Term, index: int) -> Term:
    if mentions(term, index):
        raise NoMatch("an element is used by more than the reduction and the value zipped with it")
    return without(term, index)
