"""Unsound rules of the kind that people write: each is a law with one error.

A name consists of the name of the sound rule, two underscores, and the error. If there is no
built-in sound rule, it is defined here as well.
"""

from __future__ import annotations

from riselang.dialects.rise.attributes import literal
from riselang.dialects.rise.types import i32
from riselang.rewrite.law_matching import NoMatch
from riselang.rewrite.rule import Permission, law, rule
from riselang.rewrite.side_conditions import neutral, regroups
from riselang.rewrite.term_parts import pattern_arguments
from riselang.term.nodes import Apply, Bound, Lambda, Literal, Term, apply_all
from riselang.term.substitution import instantiate, shift
from support.generation.place import use
from support.random_types import length_of
from support.unregistered_rules import unregistered_rules

with unregistered_rules() as UNSOUND_RULES:
    # Conditions that are missing

    @law("f : t -> t -> t, a : t, x : (n * m).t", choose="m")
    def partial_reduce__any_function() -> None:
        """x |> reduce(f, a)
        ~> x |> split(m) |> map(fun(block, block |> reduce(f, a))) |> reduce(f, a)"""

    @law(
        "f : t -> t -> t, a : t, x : (n * m).t", regroups("f"),
        choose="m", permission=Permission.RELAXED,
    )  # fmt: skip
    def partial_reduce__any_start() -> None:
        """x |> reduce(f, a)
        ~> x |> split(m) |> map(fun(block, block |> reduce(f, a))) |> reduce(f, a)"""

    @law("f : f32 -> f32 -> f32, a : f32, x : (n * m).f32", neutral("a", "f"), choose="m")
    def interleaved_reduce__floats_without_permission() -> None:
        """x |> reduce(f, a)
        ~> x |> split(m) |> transpose |> map(fun(lane, lane |> reduce(f, a))) |> reduce(f, a)"""

    @law("f : t -> t -> t, a : t, x : n.t")
    def reduce_of_reverse__any_function() -> None:
        """x |> reverse |> reduce(f, a) ~> x |> reduce(f, a)"""

    @law("f : t -> t -> t, a : t, x : n.m.t")
    def reduce_of_transpose__any_function() -> None:
        """x |> transpose |> join |> reduce(f, a) ~> x |> join |> reduce(f, a)"""

    @law("f : s -> s, x : n.s")
    def map_identity__any_function() -> None:
        """x |> map(f) ~> x"""

    # What is only right for integers

    @law("a : i32, b : i32, c : i32")
    def sum_right() -> None:
        """(a + b) + c ~> a + (b + c)"""

    @law("a : f32, b : f32, c : f32")
    def sum_right__of_floats() -> None:
        """(a + b) + c ~> a + (b + c)"""

    @law("x : n.i32")
    def nothing_left() -> None:
        """x |> map(fun(e, e - e)) ~> x |> map(fun(e, 0))"""

    @law("x : n.f32")
    def nothing_left__of_floats() -> None:
        """x |> map(fun(e, e - e)) ~> x |> map(fun(e, 0.0))"""

    # Folds

    @law("f : t -> s -> t, a : t, x : (n * m).s", choose="m")
    def blocked_reduce__each_block_anew() -> None:
        """x |> reduce(f, a)
        ~> x |> split(m) |> reduce(fun((acc, block), block |> reduce(f, a)), a)"""

    @law("f : t -> s -> t, a : t, x : n.s")
    def reduce_as_loop__from_the_end() -> None:
        """x |> reduce(f, a) ~> x |> reverse |> reduceSeq(f, a)"""

    @law("f : t -> t -> t, a : t, x : n.t")
    def reduce_as_loop__arguments_swapped() -> None:
        """x |> reduce(f, a) ~> x |> reduceSeq(fun((acc, e), f(e, acc)), a)"""

    @law("a : i32, x : n.i32")
    def reduce_as_loop__largest_from_zero() -> None:
        """x |> reduce(max, a) ~> x |> reduceSeq(max, 0)"""

    @law("f : t -> s -> t, a : t, x : n.s, y : m.s")
    def reduce_of_concat__second_part_first() -> None:
        """concat(x, y) |> reduce(f, a) ~> x |> reduce(f, y |> reduce(f, a))"""

    @law("f : t -> s -> t, a : t, x : (k + n).s", choose="k")
    def peel_reduce__rest_dropped() -> None:
        """x |> reduce(f, a) ~> x |> take(k) |> reduce(f, a)"""

    @law("g : t -> t, f : t -> t -> t, a : t, x : n.t")
    def reduce_map_fusion__accumulator_mapped() -> None:
        """x |> map(g) |> reduce(f, a) ~> x |> reduce(fun((acc, e), f(g(acc), e)), a)"""

    @law("g : t -> t, f : u -> t -> u, a : u, x : n.t")
    def scan_map_fusion__map_dropped() -> None:
        """x |> map(g) |> scan(f, a) ~> x |> scan(f, a)"""

    @law("f : t -> t, a : t")
    def unroll_iterate__once_too_few() -> None:
        """a |> iterate(n + 1, f) ~> a |> iterate(n, f)"""

    # Maps

    @law("f : s -> s, g : s -> s, x : n.s")
    def map_fusion__second_function_first() -> None:
        """x |> map(f) |> map(g) ~> x |> map(fun(e, f(g(e))))"""

    @law("f : s -> t -> u, x : n.s, y : n.t")
    def map_interchange__not_transposed() -> None:
        """x |> map(fun(a, y |> map(fun(b, f(a, b)))))
        ~> y |> map(fun(b, x |> map(fun(a, f(a, b)))))"""

    @law("f : s -> t, g : s -> t, x : n.s")
    def map_pairing__parts_swapped() -> None:
        """zip(x |> map(f), x |> map(g)) ~> x |> map(fun(e, (g(e), f(e))))"""

    @law("f : s -> s, x : n.s, y : n.s")
    def zip_of_map_first__second_mapped() -> None:
        """zip(x |> map(f), y) ~> zip(x, y) |> map(fun(p, (fst(p), f(snd(p)))))"""

    @law("f : s -> t, x : n.s, i : idx[n]")
    def at_of_map__first_element() -> None:
        """x |> map(f) |> at(i) ~> f(x |> at(clampIdx(n, 0)))"""

    # Views

    @law("f : s -> t, x : (k + n).s")
    def take_before_map__drop() -> None:
        """x |> map(f) |> take(k) ~> x |> drop(n) |> map(f)"""

    @law("f : s -> t, x : n.s")
    def reverse_before_map__forgotten() -> None:
        """x |> map(f) |> reverse ~> x |> map(f)"""

    @law("x : n.m.t")
    def reverse_before_join__rows_not_reversed() -> None:
        """x |> join |> reverse ~> x |> reverse |> join"""

    @law("x : (k + n).t")
    def concat_of_parts__swapped() -> None:
        """concat(x |> take(k), x |> drop(k)) ~> concat(x |> drop(k), x |> take(k))"""

    @law("x : n.t, y : m.t")
    def reverse_of_concat__parts_in_order() -> None:
        """concat(x, y) |> reverse ~> concat(x |> reverse, y |> reverse)"""

    @law("f : s -> t, x : n.s")
    def map_before_pad__sides_swapped() -> None:
        """x |> pad(l, r) |> map(f) ~> x |> map(f) |> pad(r, l)"""

    @law("x : n.t")
    def reverse_before_pad__sides_kept() -> None:
        """x |> pad(l, r) |> reverse ~> x |> reverse |> pad(l, r)"""

    @law("f : s -> t, x : n.s")
    def map_before_pad_wrap__edges_repeated() -> None:
        """x |> padWrap(l, r) |> map(f) ~> x |> map(f) |> pad(l, r)"""

    @law("f : s -> s, c : s, x : n.s")
    def map_before_pad_const__constant_not_mapped() -> None:
        """x |> padConst(l, r, c) |> map(f) ~> x |> map(f) |> padConst(l, r, c)"""

    @law("x : (n * m).t")
    def split_transposed() -> None:
        """x |> split(m) |> transpose |> transpose ~> x |> split(m)"""

    @law("x : (n * m).t")
    def split_transposed__sizes_swapped() -> None:
        """x |> split(m) |> transpose ~> x |> split(n)"""

    @law("f : s -> t, x : n.s, indices : m.idx[n]")
    def gather_before_map__indices_reversed() -> None:
        """x |> map(f) |> gather(indices) ~> x |> gather(indices |> reverse) |> map(f)"""

    # Windows

    @law("x : (n + sz - 1).t")
    def slide_as_generate__one_too_far() -> None:
        """x |> slide(sz, 1) ~> generate(fun(i : idx[n], generate(fun(j : idx[sz],
        x |> at(clampIdx(n + sz - 1, fromIdx(i) + fromIdx(j) + 1_index))))))"""

    @law("x : (n + sz - 1).t")
    def slide_as_generate__wrong_step() -> None:
        """x |> slide(sz, 1) ~> generate(fun(i : idx[n], generate(fun(j : idx[sz],
        x |> at(clampIdx(n + sz - 1, 2_index * fromIdx(i) + fromIdx(j)))))))"""

    @law("x : (k + n + sz - 1).t")
    def drop_before_slide__last_windows_dropped() -> None:
        """x |> slide(sz, 1) |> drop(k) ~> x |> take(n + sz - 1) |> slide(sz, 1)"""

    @law("x : (sp * n + sz - sp).t")
    def slide_before_reverse__windows_not_reversed() -> None:
        """x |> reverse |> slide(sz, sp) ~> x |> slide(sz, sp) |> reverse"""

    # Pairs and names

    @law("x : n.s, y : n.s")
    def map_first_of_zip__second() -> None:
        """zip(x, y) |> map(fun(p, fst(p))) ~> y"""

    @law("x : n.m.s, y : n.m.s")
    def transpose_before_zip__parts_swapped() -> None:
        """zip(x, y) |> map(zip) |> transpose ~> zip(y |> transpose, x |> transpose) |> map(zip)"""

    @law("a : s, b : s -> s, f : s -> t")
    def let_of_let__inner_body_dropped() -> None:
        """let y = (let z = a; b(z)); f(y) ~> let z = a; f(z)"""

    @rule("h : t -> u, x : n.t")
    def hoist_from_map__depends_on_the_element(term: Term) -> Term:
        """x |> map(fun(e, h(e))) ~> let y = h(x |> at(clampIdx(n, 0))); x |> map(fun(e, y))"""
        function, array = _map(term)
        length = length_of(array.type)
        if length == 0:
            raise NoMatch("there is no element")
        first = Apply(use("clampIdx", length, i32), Literal(literal(0, i32)))
        element = apply_all(use("at", length, function.parameter), [first, array])
        value = instantiate(function.body, element)
        constant = Lambda("e", function.parameter, Bound(1, value.type))
        loop = use("map", length, function.parameter, value.type)
        return _let(value, apply_all(loop, [constant, shift(array, 1)]))

    @rule("h : t -> u, x : n.t")
    def hoist_from_map__captures_a_variable(term: Term) -> Term:
        """x |> map(fun(e, h(e))) ~> let y = x; y |> map(fun(e, h(e)))"""
        function, array = _map(term)
        loop = use("map", length_of(array.type), function.parameter, function.body.type)
        return _let(array, apply_all(loop, [function, Bound(0, array.type)]))


def _map(term: Term) -> tuple[Lambda, Term]:
    found = pattern_arguments(term, "map")
    if found is None or not isinstance(found[0], Lambda):
        raise NoMatch("expected map")
    return found[0], found[1]


def _let(value: Term, body: Term) -> Term:
    return apply_all(use("let", value.type, body.type), [value, Lambda("y", value.type, body)])
