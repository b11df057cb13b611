"""Laws for the sums of values with a softmax as weights, as models compute them.

The steps of the softmax have no names: each weight is a formula of the score of its key, and of the
largest score and the sum of the powers, which are reductions over all keys.
"""

from __future__ import annotations

from riselang.dialects.rise.pattern_registry import FST
from riselang.dialects.rise.types import element_of
from riselang.rewrite.law_matching import NoMatch
from riselang.rewrite.rule import Bindings, Permission, rule
from riselang.rewrite.rules.attention import (
    arguments_of,
    body_of,
    conversion_of,
    conversion_of_rows,
    converts,
    moved_outside,
)
from riselang.rewrite.rules.functions import abstract_over_component
from riselang.rewrite.term_parts import abstract_over, pattern_arguments
from riselang.term.nodes import Lambda, Scalar, Term, subterms


@rule(
    "w : s -> f32, v : u -> f32, h : f32 -> t, x : n.s, y : n.d.u", converts("v"),
    permission=Permission.RELAXED,
)  # fmt: skip
def weighted_sums_in_one_pass(term: Term) -> Bindings:
    """y |> transpose |> map(fun(column, h(zip(x, column) |> reduce(fun((sum, p),
      fma(exp(w(fst(p)) - (x |> reduce(fun((m, e), max(m, w(e))), -inf)))
          / (x |> reduce(fun((total, e),
              total + exp(w(e) - (x |> reduce(fun((m, c), max(m, w(c))), -inf)))), 0.0)),
        v(snd(p)), sum)), 0.0))))
    ~> let sums = zip(x |> map(w), y) |> reduceSeq(fun((state, e),
          let new = max(fst(state), fst(e));
          let base = select(new > -inf, new, 0.0);
          let scale = exp(fst(state) - base);
          let weight = exp(fst(e) - base);
          (new, (fst(snd(state)) * scale + weight, zip(snd(snd(state)), snd(e))
            |> map(fun(p, fst(p) * scale + weight * v(snd(p))))))),
        (-inf, (0.0, generate(fun(i : idx[d], 0.0)))));
      snd(snd(sums)) |> map(fun(a,
        h(select(fst(snd(sums)) == 0.0, nan, a / fst(snd(sums))))))

    The weights are the softmax of the scores w(x)."""
    return _weighted_sums(term)


@rule(
    "w : s -> f32, v : u -> f32, h : f32 -> t, x : n.s, y : n.d.u", converts("v"),
    permission=Permission.RELAXED,
)  # fmt: skip
def guarded_sums_in_one_pass(term: Term) -> Bindings:
    """y |> transpose |> map(fun(column, h(zip(x, column) |> reduce(fun((sum, p),
      fma(select(x |> reduce(fun((b, e), b & (w(e) == -inf)), true), 0.0,
          exp(w(fst(p)) - (x |> reduce(fun((m, e), max(m, w(e))), -inf)))
            / (x |> reduce(fun((total, e),
                total + exp(w(e) - (x |> reduce(fun((m, c), max(m, w(c))), -inf)))), 0.0))),
        v(snd(p)), sum)), 0.0))))
    ~> let sums = zip(x |> map(w), y) |> reduceSeq(fun((state, e),
          let new = max(fst(state), fst(e));
          let base = select(new > -inf, new, 0.0);
          let scale = exp(fst(state) - base);
          let weight = exp(fst(e) - base);
          (new, (fst(snd(state)) * scale + weight, zip(snd(snd(state)), snd(e))
            |> map(fun(p, fst(p) * scale + weight * v(snd(p))))))),
        (-inf, (0.0, generate(fun(i : idx[d], 0.0)))));
      snd(snd(sums)) |> map(fun(a,
        h(select(fst(snd(sums)) == 0.0, 0.0, a / fst(snd(sums))))))

    The weights are the softmax of the scores w(x), or zero if all scores are -inf."""
    return _weighted_sums(term)


def _weighted_sums(term: Term) -> Bindings:
    """Return the unknowns of sums of values with the softmax of scores as weights."""
    function, columns = arguments_of(term, "map")
    values = arguments_of(columns, "transpose")[0]
    epilogue = body_of(function)
    sums = next((part for part in subterms(epilogue) if pattern_arguments(part, "reduce")), None)
    if sums is None:
        raise NoMatch("expected a sum")
    add, _, pairs = arguments_of(sums, "reduce")
    of_pair = body_of(add)
    weighted = body_of(of_pair)
    assert isinstance(of_pair, Lambda)
    score = Lambda("p", of_pair.parameter, _score(weighted))
    return {
        "w": moved_outside(abstract_over_component(score, FST), 2),
        "v": conversion_of_rows(values.type), "y": values,
        "x": moved_outside(arguments_of(pairs, "zip")[0], 1),
        "h": moved_outside(Lambda("a", sums.type, abstract_over(epilogue, sums)), 1),
    }  # fmt: skip


def _score(weighted: Term) -> Term:
    """Return the score of the weight in a weighted value: the first argument of the difference
    whose power is the dividend."""
    for part in subterms(weighted):
        power = part.operands[0] if isinstance(part, Scalar) and part.op == "arith.divf" else None
        if isinstance(power, Scalar) and power.op == "math.exp":
            difference = power.operands[0]
            if isinstance(difference, Scalar) and difference.op == "arith.subf":
                return difference.operands[0]
    raise NoMatch("expected a softmax")


@rule(
    "f : s -> f32, g : u -> f32, c : f32, d : f32, x : n.s, y : n.u",
    converts("f"), converts("g"), permission=Permission.RELAXED,
)  # fmt: skip
def scale_after_products(term: Term) -> Bindings:
    """zip(x, y) |> reduce(fun((sum, p), fma(f(fst(p)) * c, g(snd(p)) * d, sum)), 0.0)
    ~> (zip(x, y) |> reduce(fun((sum, p), fma(f(fst(p)), g(snd(p)), sum)), 0.0)) * (c * d)

    Multiplies a dot product instead of all factors."""
    add, _, pairs = arguments_of(term, "reduce")
    x, y = arguments_of(pairs, "zip")
    total = body_of(body_of(add))
    if not isinstance(total, Scalar) or total.op != "math.fma":
        raise NoMatch("expected products that are added")
    c, d = (_factor(each) for each in total.operands[:2])
    f, g = (conversion_of(element_of(each.type)) for each in (x, y))
    return {"f": f, "g": g, "c": c, "d": d, "x": x, "y": y}


def _factor(product: Term) -> Term:
    """Return the second factor of a product in a step of a sum."""
    if not isinstance(product, Scalar) or product.op != "arith.mulf":
        raise NoMatch("expected scaled factors")
    return moved_outside(product.operands[1], 2)
