"""Laws for lengths that are known only at run time: padding with zeros, and versions by size.

A symbolic length may be 0, so an array is padded with zeros rather than with its last element.
"""

from __future__ import annotations

from riselang.dialects.rise.attributes import literal
from riselang.dialects.rise.pattern_registry import GENERATE, PATTERNS, TUPLE, VECTOR_FROM_SCALAR
from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    ScalarType,
    TupleType,
    VectorType,
    components,
    element_of,
    idx,
)
from riselang.rewrite.law_matching import NoMatch
from riselang.rewrite.rule import Bindings, Unmet, law, rule
from riselang.rewrite.rules.accumulate_into import match_accumulating
from riselang.rewrite.rules.functions import loop_parts
from riselang.rewrite.rules.storing import match_map_nest, remove_unused
from riselang.term.nodes import Apply, Lambda, Literal, Pattern, Term, apply_all, has_pattern

MAY_FAIL = tuple(name for name in ("while", "checkIdx") if name in PATTERNS)
"""Patterns that may raise an error or not terminate for values that the program does not use."""


@rule("f : s -> t, c : s, x : n.s", choose="m", condition="f has no while and no checkIdx")
def pad_map_with_zeros(term: Term, **given: object) -> Bindings:
    """x |> map(f) ~> x |> padConst(0, m, c) |> map(f) |> take(n)

    The array, which may be empty, is padded to whole tiles; the padding is dropped at the end."""
    (function,), xs = loop_parts(term, "map")
    _require_total(function)
    return {"f": function, "c": zero_of(element_of(xs.type)), "x": xs}


@rule(
    "x : n.s, y : m.t, c : n.m.u, f : s -> t -> u -> v, d : t, e : u",
    choose="k",
    condition="f has no while and no checkIdx",
)
def pad_accumulating_with_zeros(term: Term, **given: object) -> Bindings:
    """zip(x, c) |> map(fun(p, zip(y, snd(p)) |> map(fun(q, f(fst(p), fst(q), snd(q))))))
    ~> zip(x, c |> map(fun(row, row |> padConst(0, k, e))))
      |> map(fun(p, zip(y |> padConst(0, k, d), snd(p)) |> map(fun(q, f(fst(p), fst(q), snd(q))))))
      |> map(fun(row, row |> take(m)))

    The second array, which may be empty, is padded to full tiles."""
    bindings = match_accumulating(term)
    _require_total(bindings["f"])
    row = element_of(bindings["c"].type)
    return {
        **bindings,
        "d": zero_of(element_of(bindings["y"].type)),
        "e": zero_of(element_of(row)),
    }


@law("x : t", choose="n k")
def version_by_size() -> None:
    """x ~> ifAtLeast(n, k, fun(size, x), fun(size, x))

    Two versions of a computation, for large and for small sizes, can be scheduled differently."""


@rule(
    "f : s -> t -> u, c : s, d : t, x : n.s, y : m.t", choose="p q",
    condition="f has no while and no checkIdx",
)  # fmt: skip
def pad_both_with_zeros(term: Term, **given: object) -> Bindings:
    """x |> map(fun(a, y |> map(fun(b, f(a, b)))))
    ~> x |> padConst(0, p, c) |> map(fun(a, y |> padConst(0, q, d) |> map(fun(b, f(a, b)))))
      |> take(n) |> map(fun(row, row |> take(m)))

    Both arrays are padded to full tiles; the padding is dropped at the end."""
    nest = match_map_nest(term)
    _require_total(nest.inner)
    xs, ys = nest.xs, remove_unused(nest.ys, 0)
    c, d = (zero_of(element_of(each.type)) for each in (xs, ys))
    function = Lambda(nest.outer.name, nest.outer.parameter, nest.inner)
    return {"f": function, "c": c, "d": d, "x": xs, "y": ys}


def _require_total(function: Term) -> None:
    if has_pattern(function, *MAY_FAIL):
        raise Unmet("the function may fail or not terminate for zeros")


def zero_of(type: RiseType) -> Term:
    """Return a value of a type whose scalars are all 0; raises NoMatch if there is none."""
    match type:
        case ScalarType():
            return Literal(literal(0, type))
        case VectorType():
            scalar = zero_of(type.element)
            return Apply(Pattern(VECTOR_FROM_SCALAR, (type.length, type.element)), scalar)
        case ArrayType():
            element = Lambda("i", idx(type.length), zero_of(type.element))
            return Apply(Pattern(GENERATE, (type.length, type.element)), element)
        case TupleType():
            parts = components(type)
            return apply_all(Pattern(TUPLE, parts), [zero_of(part) for part in parts])
        case _:
            raise NoMatch("expected an array of scalars, arrays or tuples")
