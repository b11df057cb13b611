"""Laws that store an intermediate array, so that one loop becomes two.

Programs compute intermediate values element by element where they are read, so a chain of two
matrix multiplications is one map that contains two reductions. Storing the intermediate array makes
each multiplication a separate kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import FST, MAP, SND, ZIP
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.types import components
from riselang.rewrite.eta import drop_lambda, mentions
from riselang.rewrite.law_matching import NoMatch
from riselang.rewrite.rule import Bindings, law, rule
from riselang.rewrite.rules.functions import find_reductions, loop_parts
from riselang.rewrite.term_parts import abstract_over, pattern_arguments
from riselang.term.nodes import Apply, Bound, Lambda, Pattern, Term
from riselang.term.substitution import shift, swap_variables


@law("x : n.s, g : s -> t, h : s -> t -> u")
def store_between() -> None:
    """x |> map(fun(e, let y = g(e); h(e, y)))
    ~> zip(x, x |> map(g) |> toMem(heap)) |> map(fun(p, h(fst(p), snd(p))))

    The named value is computed and stored for all elements before the loop that uses it."""


@law("f : s -> t, g : t -> u, x : n.s")
def fuse_stored_rows() -> None:
    """x |> map(f) |> toMem(heap) |> map(g)
    ~> x |> map(fun(e, let y = f(e) |> toMem(heap); g(y)))

    Each row is stored just before it is used, and stays in a cache meanwhile."""


@law("f : s -> t, g : t -> u, x : n.s")
def fuse_stored_rows_in_sequence() -> None:
    """x |> mapSeq(f) |> toMem(heap) |> map(g)
    ~> x |> mapSeq(fun(e, let y = f(e) |> toMem(heap); g(y)))"""


@law("f : s -> t, g : t -> u, x : n.s")
def fuse_stored_rows_in_parallel() -> None:
    """x |> mapPar(f) |> toMem(heap) |> map(g)
    ~> x |> mapPar(fun(e, let y = f(e) |> toMem(heap); g(y)))"""


# Elementwise operations on a stored array and an operand of its shape, such as a residual, move
# into the views and loops that compute the array.


@law("x : n.m.s, y : n.u, g : u -> m.t, f : (s x t) -> v")
def name_operand_of_rows() -> None:
    """zip(x, y) |> map(fun(p, zip(fst(p), g(snd(p))) |> map(f)))
    ~> zip(x, y |> map(g)) |> map(fun(p, zip(fst(p), snd(p)) |> map(f)))"""


@law("a : w, b : w -> n.s, y : n.t, f : (s x t) -> v")
def let_before_zip() -> None:
    """zip(let z = a; b(z), y) |> map(f) ~> let z = a; zip(b(z), y) |> map(f)"""


@law("x : n.m.s, y : (n * m).t, f : (s x t) -> v")
def fuse_operand_in_blocks() -> None:
    """zip(x |> join |> toMem(heap), y) |> map(f)
    ~> zip(x |> toMem(heap), y |> split(m))
      |> map(fun(p, zip(fst(p), snd(p)) |> map(f))) |> join"""


@law("x : n.m.l.s, y : n.(m * l).t, f : (s x t) -> v")
def fuse_operand_in_blocks_of_rows() -> None:
    """zip(x |> map(join) |> toMem(heap), y) |> map(fun(p, zip(fst(p), snd(p)) |> map(f)))
    ~> zip(x |> toMem(heap), y |> map(split(l)))
      |> map(fun(p, zip(fst(p), snd(p)) |> map(fun(q, zip(fst(q), snd(q)) |> map(f)))))
      |> map(join)"""


@law("x : n.m.l.k.s, y : n.m.(l * k).t, f : (s x t) -> v")
def fuse_operand_in_blocks_of_columns() -> None:
    """zip(x |> map(map(join)) |> toMem(heap), y)
      |> map(fun(p, zip(fst(p), snd(p)) |> map(fun(q, zip(fst(q), snd(q)) |> map(f)))))
    ~> zip(x |> toMem(heap), y |> map(map(split(k))))
      |> map(fun(p, zip(fst(p), snd(p)) |> map(fun(q,
        zip(fst(q), snd(q)) |> map(fun(r, zip(fst(r), snd(r)) |> map(f))))))) |> map(map(join))"""


@law("x : m.n.s, y : n.m.t, f : (s x t) -> v")
def fuse_operand_transposed() -> None:
    """zip(x |> transpose |> toMem(heap), y) |> map(fun(p, zip(fst(p), snd(p)) |> map(f)))
    ~> zip(x |> toMem(heap), y |> transpose)
      |> map(fun(p, zip(fst(p), snd(p)) |> map(f))) |> transpose"""


@law("x : k.m.n.s, y : k.n.m.t, f : (s x t) -> v")
def fuse_operand_in_transposed_rows() -> None:
    """zip(x |> map(transpose) |> toMem(heap), y)
      |> map(fun(p, zip(fst(p), snd(p)) |> map(fun(q, zip(fst(q), snd(q)) |> map(f)))))
    ~> zip(x |> toMem(heap), y |> map(transpose))
      |> map(fun(p, zip(fst(p), snd(p)) |> map(fun(q, zip(fst(q), snd(q)) |> map(f)))))
      |> map(transpose)"""


@law("x : n.w, g : w -> m.s, y : n.m.t, f : (s x t) -> v")
def fuse_operand_in_loop() -> None:
    """zip(x |> map(g) |> toMem(heap), y) |> map(fun(p, zip(fst(p), snd(p)) |> map(f)))
    ~> zip(x, y) |> map(fun(p, zip(g(fst(p)) |> toMem(heap), snd(p)) |> map(f)))

    Only what one iteration computes is stored, and stays in a cache."""


@law("x : n.w, g : w -> m.s, y : n.m.t, f : (s x t) -> v")
def fuse_operand_in_parallel() -> None:
    """zip(x |> mapPar(g) |> toMem(heap), y) |> map(fun(p, zip(fst(p), snd(p)) |> map(f)))
    ~> zip(x, y) |> mapPar(fun(p, zip(g(fst(p)) |> toMem(heap), snd(p)) |> map(f)))"""


@law("x : n.w, g : w -> m.s, y : n.m.t, f : (s x t) -> v")
def fuse_operand_in_sequence() -> None:
    """zip(x |> mapSeq(g) |> toMem(heap), y) |> map(fun(p, zip(fst(p), snd(p)) |> map(f)))
    ~> zip(x, y) |> mapSeq(fun(p, zip(g(fst(p)) |> toMem(heap), snd(p)) |> map(f)))"""


@law("c : t, x : n.t")
def pad_const_as_parts() -> None:
    """x |> padConst(l, r, c)
    ~> concat(generate(fun(i : idx[l], c)), concat(x, generate(fun(i : idx[r], c))))

    Parts are stored one after another, so that a computed array is stored inside of its padding."""


@law("c : t, x : n.m.t")
def pad_rows_as_columns() -> None:
    """x |> map(fun(row, row |> padConst(l, r, c)))
    ~> x |> transpose |> padConst(l, r, generate(fun(i : idx[n], c))) |> transpose"""


@rule("x : n.s, z : m.t, f : s -> t -> u, g : s -> u -> v")
def store_inner_reductions(term: Term) -> Bindings:
    """x |> map(fun(e, z |> map(fun(c, g(e, f(e, c))))))
    ~> zip(x |> map(fun(e, z |> map(fun(c, f(e, c))))) |> toMem(heap), x)
      |> map(fun(p, fst(p) |> map(fun(y, g(snd(p), y)))))

    The reductions are computed and stored first; a second loop computes what uses them."""
    nest = match_map_nest(term)
    reduction = find_reductions(nest.inner.body)
    function = nest.abstract_column(reduction, Bound(0, nest.inner.parameter))
    remainder = remove_unused(abstract_over(nest.inner.body, reduction), 1)
    consumer = nest.abstract_element(Lambda("y", reduction.type, remainder))
    return {"x": nest.xs, "z": remove_unused(nest.ys, 0), "f": function, "g": consumer}


@rule("x : n.s, z : m.w, y : s -> m.t, f : s -> w -> u, g : s -> t -> u -> v")
def store_inner_reductions_of_firsts(term: Term) -> Bindings:
    """x |> map(fun(e, zip(z, y(e)) |> map(fun(q, g(e, snd(q), f(e, fst(q)))))))
    ~> zip(x |> map(fun(e, z |> map(fun(c, f(e, c))))) |> toMem(heap), x)
      |> map(fun(p, zip(fst(p), y(snd(p))) |> map(fun(q, g(snd(p), snd(q), fst(q))))))

    The same if the second loop zips the operands of the reductions with other values."""
    return _match_pairs(term, FST, SND)


@rule("x : n.s, z : m.w, y : s -> m.t, f : s -> w -> u, g : s -> t -> u -> v")
def store_inner_reductions_of_seconds(term: Term) -> Bindings:
    """x |> map(fun(e, zip(y(e), z) |> map(fun(q, g(e, fst(q), f(e, snd(q)))))))
    ~> zip(x |> map(fun(e, z |> map(fun(c, f(e, c))))) |> toMem(heap), x)
      |> map(fun(p, zip(fst(p), y(snd(p))) |> map(fun(q, g(snd(p), snd(q), fst(q))))))"""
    return _match_pairs(term, SND, FST)


@rule("x : n.s, z : s -> m.w, f : s -> w -> u, g : s -> w -> u -> v")
def store_inner_reductions_beside(term: Term) -> Bindings:
    """x |> map(fun(e, z(e) |> map(fun(c, g(e, c, f(e, c))))))
    ~> zip(x |> map(fun(e, z(e) |> map(fun(c, f(e, c))))) |> toMem(heap), x)
      |> map(fun(p, zip(fst(p), z(snd(p))) |> map(fun(q, g(snd(p), snd(q), fst(q))))))

    The same if both loops use the element of the inner array, as in a sum of two reductions."""
    nest = match_map_nest(term)
    reduction = find_reductions(nest.inner.body)
    function = nest.abstract_element(Lambda("c", nest.inner.parameter, reduction))
    consumer = Lambda(
        "c",
        nest.inner.parameter,
        Lambda("y", reduction.type, abstract_over(nest.inner.body, reduction)),
    )
    return {
        "x": nest.xs, "z": nest.abstract_element(nest.ys),
        "f": function, "g": nest.abstract_element(consumer),
    }  # fmt: skip


def _match_pairs(term: Term, column_spec: PatternSpec, operand_spec: PatternSpec) -> Bindings:
    nest = match_map_nest(term)
    arguments = pattern_arguments(nest.ys, ZIP.name)
    if arguments is None:
        raise NoMatch("expected a zip")
    columns, operands = arguments if column_spec is FST else reversed(arguments)
    body, parts = nest.inner.body, components(nest.inner.parameter)
    pair = Bound(0, nest.inner.parameter)
    reduction = find_reductions(body)
    function = nest.abstract_column(reduction, Apply(Pattern(column_spec, parts), pair))
    body_of_reduction = abstract_over(body, reduction)
    operand = Apply(Pattern(operand_spec, parts), pair)
    body_of_both = swap_variables(
        remove_unused(abstract_over(body_of_reduction, shift(operand, 1)), 2)
    )
    consumer = Lambda("t", operand.type, Lambda("y", reduction.type, body_of_both))
    return {
        "x": nest.xs, "z": remove_unused(columns, 0), "y": nest.abstract_element(operands),
        "f": function, "g": nest.abstract_element(consumer),
    }  # fmt: skip


@dataclass(frozen=True)
class MapNest:
    """`xs |> map(fun(e, ys |> map(fun(c, body))))`; `ys` is as in the term, under `e`."""

    xs: Term
    outer: Lambda
    ys: Term
    inner: Lambda

    def abstract_element(self, term: Term) -> Term:
        """Wrap a term from under the outer lambda in that lambda."""
        return Lambda(self.outer.name, self.outer.parameter, term)

    def abstract_column(self, reduction: Term, column: Term) -> Term:
        """Abstract a reduction in the body over the first element and a part of the second."""
        column_body = remove_unused(abstract_over(reduction, column), 1)
        return self.abstract_element(Lambda("c", column.type, column_body))


def match_map_nest(term: Term) -> MapNest:
    (outer,), xs = loop_parts(term, MAP.name)
    assert isinstance(outer, Lambda)
    (inner,), ys = loop_parts(outer.body, MAP.name)
    assert isinstance(inner, Lambda)
    return MapNest(xs, outer, ys, inner)


def remove_unused(term: Term, index: int) -> Term:
    if mentions(term, index):
        raise NoMatch("an element is used by more than the reduction and the value zipped with it")
    return drop_lambda(term, index)
