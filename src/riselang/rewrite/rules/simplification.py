"""Laws that simplify terms."""

from __future__ import annotations

from riselang.dialects.rise.pattern_registry import MAP
from riselang.rewrite.core import Failure, Setting
from riselang.rewrite.law_matching import NoMatch
from riselang.rewrite.rule import law, rule
from riselang.rewrite.rules.algorithmic import map_fusion
from riselang.rewrite.term_parts import pattern_arguments, view_source
from riselang.term.nodes import Term


@law("x : n.m.t")
def transpose_of_transpose() -> None:
    """x |> transpose |> transpose ~> x"""


@law("x : n.t")
def reverse_of_reverse() -> None:
    """x |> reverse |> reverse ~> x"""


@law("x : (n * m).t")
def join_of_split() -> None:
    """x |> split(m) |> join ~> x"""


@law("x : n.m.t")
def split_of_join() -> None:
    """x |> join |> split(m) ~> x"""


@law("x : (n * k).t")
def scalars_of_vectors() -> None:
    """x |> asVector(k) |> asScalar ~> x"""


@law("x : n.vec[k, t]")
def vectors_of_scalars() -> None:
    """x |> asScalar |> asVector(k) ~> x"""


@law("x : n.s")
def map_identity() -> None:
    """x |> map(fun(e, e)) ~> x"""


copy_elements = map_identity.reversed("copy_elements")


@law("x : n.s, y : n.t")
def map_first_of_zip() -> None:
    """zip(x, y) |> map(fun(p, fst(p))) ~> x"""


@law("x : n.s, y : n.t")
def map_second_of_zip() -> None:
    """zip(x, y) |> map(fun(p, snd(p))) ~> y"""


@law("x : n.s, y : n.t")
def unzip_of_zip() -> None:
    """unzip(zip(x, y)) ~> (x, y)"""


@law("p : n.(s x t)")
def zip_of_unzip() -> None:
    """zip(fst(unzip(p)), snd(unzip(p))) ~> p"""


@law("p : n.(s x t)")
def first_of_unzip() -> None:
    """fst(unzip(p)) ~> p |> map(fun(e, fst(e)))"""


@law("p : n.(s x t)")
def second_of_unzip() -> None:
    """snd(unzip(p)) ~> p |> map(fun(e, snd(e)))"""


@law("a : s, b : t")
def first_of_pair() -> None:
    """fst((a, b)) ~> a"""


@law("a : s, b : t")
def second_of_pair() -> None:
    """snd((a, b)) ~> b"""


@law("p : (s x t)")
def pair_of_parts() -> None:
    """(fst(p), snd(p)) ~> p"""


@law("x : n.t")
def take_all() -> None:
    """x |> take(n) ~> x"""


@law("x : n.t")
def drop_none() -> None:
    """x |> drop(0) ~> x"""


@law("x : n.t, y : m.t")
def take_of_concat() -> None:
    """concat(x, y) |> take(n) ~> x"""


@law("x : n.t, y : m.t")
def drop_of_concat() -> None:
    """concat(x, y) |> drop(n) ~> y"""


@law("x : (k + n).t")
def concat_of_parts() -> None:
    """concat(x |> take(k), x |> drop(k)) ~> x"""


@law("x : n.t")
def pad_nothing() -> None:
    """x |> pad(0, 0) ~> x"""


@law("c : t, x : n.t")
def pad_const_nothing() -> None:
    """x |> padConst(0, 0, c) ~> x"""


@law("x : n.t")
def pad_wrap_nothing() -> None:
    """x |> padWrap(0, 0) ~> x"""


@law("x : n.t")
def pad_reflect_nothing() -> None:
    """x |> padReflect(0, 0) ~> x"""


@law("x : n.t")
def slide_of_one() -> None:
    """x |> slide(1, 1) ~> x |> split(1)"""


@law("x : n.t")
def gather_identity() -> None:
    """x |> gather(generate(fun(i : idx[n], i))) ~> x"""


@law("x : n.t")
def reorder_identity() -> None:
    """x |> reorder(fun(i, i)) ~> x"""


@law("x : n.t")
def generate_of_at() -> None:
    """generate(fun(i : idx[n], x |> at(i))) ~> x"""


@law("f : s -> t, x : n.s")
def size_of_map() -> None:
    """sizeOf(x |> map(f)) ~> sizeOf(x)"""


@law("a : t")
def let_of_itself() -> None:
    """let y = a; y ~> a"""


@law("a : s, b : t")
def unused_let() -> None:
    """let y = a; b ~> b"""


@law("x : t")
def memory_of_memory() -> None:
    """x |> toMem(heap) |> toMem(heap) ~> x |> toMem(heap)"""


@rule("f : s -> m.p.t, x : n.s")
def map_of_views_fusion(term: Term, setting: Setting) -> Term:
    """x |> map(f) |> map(fun(v, v |> transpose)) ~> x |> map(fun(e, f(e) |> transpose))

    The same for every other view instead of transpose: the layout of the elements is changed where
    they are computed."""
    if pattern_arguments(term, MAP.name) is None or view_source(term) is None:
        raise NoMatch("expected a map whose function is a view")
    fused = map_fusion.run(term, setting)
    if isinstance(fused, Failure):
        raise NoMatch(fused.reason)
    return fused.term
