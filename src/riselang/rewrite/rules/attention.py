"""Laws that compute attention in one pass over the keys, on the tensor cores of a GPU.

A softmax needs the largest score before it can compute a weight. In one pass, the weights are
relative to the largest score so far: when a larger one comes, the sums so far are multiplied by
`exp(old - new)`, since `exp(a - new) = exp(a - old) * exp(old - new)`.
"""

from __future__ import annotations

from riselang.dialects.rise.types import ArrayType, RiseType, ScalarType, bf16, f16, f32
from riselang.rewrite.core import Setting
from riselang.rewrite.law_matching import Match, NoMatch
from riselang.rewrite.rule import Bindings, Condition, Permission, Unmet, rule
from riselang.rewrite.rules.dot_products import adds_products
from riselang.rewrite.term_parts import abstract_over, move_outside, pattern_arguments
from riselang.term.nodes import Bound, Lambda, Literal, Scalar, Term, subterms


def converts(name: str) -> Condition:
    """A condition: the function converts a scalar."""

    def check(match: Match, setting: Setting) -> None:
        function = match.term(name)
        assert isinstance(function, Lambda)
        if function != conversion_of(function.parameter):
            raise Unmet(f"{name} does not only convert")

    return Condition(f"{name} converts a scalar", check, (name,))


def conversion_of_rows(rows: RiseType) -> Lambda:
    """Return the function that converts an element of rows to f32."""
    assert isinstance(rows, ArrayType)
    assert isinstance(rows.element, ArrayType)
    return conversion_of(rows.element.element)


def conversion_of(type: RiseType) -> Lambda:
    """Return the function that converts a value to f32."""
    if not isinstance(type, ScalarType) or type not in CONVERTED:
        raise NoMatch("expected values of f32, f16 or bf16")
    value: Term = Bound(0, type)
    return Lambda("e", type, value if type == f32 else Scalar("arith.extf", [value], f32))


CONVERTED = (f32, f16, bf16)


def counts(name: str) -> Condition:
    """A condition: the function returns its index as a number."""

    def check(match: Match, setting: Setting) -> None:
        function = match.term(name)
        assert isinstance(function, Lambda)
        term = function.body
        while isinstance(term, Scalar) and _is_unchanged(term):
            term = term.operands[0]
        index = pattern_arguments(term, "fromIdx")
        if index is None or not isinstance(index[0], Bound):
            raise Unmet(f"{name} does not count")

    return Condition(f"{name}(i) is i", check, (name,))


NEUTRAL = {"arith.muli": 1, "arith.addi": 0}


def _is_unchanged(term: Scalar) -> bool:
    """Whether an operation only converts its first operand, or returns it."""
    if len(term.operands) == 1:
        return term.op in ("arith.index_cast", "arith.index_castui", "arith.extsi")
    other = term.operands[1]
    return isinstance(other, Literal) and NEUTRAL.get(term.op) == other.number


def _let(term: Term) -> tuple[Term, Term]:
    """Return the value of a let, and its body."""
    arguments = pattern_arguments(term, "let")
    if arguments is None or not isinstance(arguments[1], Lambda):
        raise NoMatch("expected a let with its body")
    return arguments[0], arguments[1].body


def arguments_of(term: Term, name: str) -> list[Term]:
    """Return the arguments of a term that applies a pattern."""
    arguments = pattern_arguments(term, name)
    if arguments is None:
        raise NoMatch(f"expected {name}")
    return arguments


def moved_outside(term: Term, count: int) -> Term:
    """Return a term outside of the innermost functions, whose variables it does not use."""
    moved = move_outside(term, count)
    if moved is None:
        raise NoMatch("it depends on an inner variable")
    return moved


def body_of(function: Term) -> Term:
    """Return the body of a function."""
    if not isinstance(function, Lambda):
        raise NoMatch("expected a function")
    return function.body


def _quotient(body: Term) -> tuple[Term, Term]:
    """Return the division in the body of an epilogue whose dividend is a sum, and the epilogue as
    the body of a function of its result."""
    for part in subterms(body):
        is_quotient = isinstance(part, Scalar) and part.op == "arith.divf"
        if is_quotient and pattern_arguments(part.children[0], "reduce"):
            return part, abstract_over(body, part)
    raise NoMatch("expected a division by the sum of the weights")


@rule(
    "g : f32 -> (f32 x u) -> f32, v : u -> f32, h : f32 -> t, x : n.f32, y : n.d.u",
    adds_products("g"), converts("v"), permission=Permission.RELAXED,
)  # fmt: skip
def softmax_in_one_pass(term: Term) -> Bindings:
    """let scores = x;
    let largest = scores |> reduce(max, -inf);
    let weights = scores |> map(fun(s, exp(s - largest)));
    let total = weights |> reduce(add, 0.0);
    y |> transpose |> map(fun(column, h((zip(weights, column) |> reduce(g, 0.0)) / total)))
    ~> let sums = zip(x, y) |> reduceSeq(fun((state, e),
          let new = max(fst(state), fst(e));
          let base = select(new > -inf, new, 0.0);
          let scale = exp(fst(state) - base);
          let weight = exp(fst(e) - base);
          (new, (fst(snd(state)) * scale + weight, zip(snd(snd(state)), snd(e))
            |> map(fun(p, fst(p) * scale + weight * v(snd(p))))))),
        (-inf, (0.0, generate(fun(i : idx[d], 0.0)))));
      snd(snd(sums)) |> map(fun(s,
        h(select(fst(snd(sums)) == 0.0, nan, s / fst(snd(sums))))))

    The softmax of scores, and the sums of values with its weights, in one pass."""
    scores, rest = _let(term)
    for _ in range(3):
        _, rest = _let(rest)
    function, columns = arguments_of(rest, "map")
    values = moved_outside(arguments_of(columns, "transpose")[0], 4)
    quotient, epilogue = _quotient(body_of(function))
    add = arguments_of(quotient.children[0], "reduce")[0]
    return {
        "g": moved_outside(add, 5), "v": conversion_of_rows(values.type), "x": scores, "y": values,
        "h": moved_outside(Lambda("s", quotient.type, epilogue), 5),
    }  # fmt: skip


@rule(
    "f : f32 -> (s x s) -> f32, v : s -> f32, h : f32 -> t, c : f32, r : f32, "
    "x : (m * wr * tm * 16).k.s, y : n.k.s, z : n.(tn * 8).s",
    adds_products("f"), converts("v"),
    choose="p q wr tm tn", permission=Permission.RELAXED,
)  # fmt: skip
def attend_with_tensor_cores(term: Term, **given: object) -> Bindings:
    """x |> map(fun(query,
      let sums = zip(y |> map(fun(key, (zip(query, key) |> reduce(f, 0.0)) * c)), z)
        |> reduceSeq(fun((state, e),
              let new = max(fst(state), fst(e));
              let base = select(new > -inf, new, 0.0);
              let scale = exp(fst(state) - base);
              let weight = exp(fst(e) - base);
              (new, (fst(snd(state)) * scale + weight, zip(snd(snd(state)), snd(e))
                |> map(fun(p, fst(p) * scale + weight * v(snd(p))))))),
            (-inf, (0.0, generate(fun(i : idx[tn * 8], 0.0)))));
      snd(snd(sums)) |> map(fun(s,
        h(select(fst(snd(sums)) == 0.0, r, s / fst(snd(sums))))))))
    ~> x |> split(wr * tm * 16)
      |> mapBlock(0, fun(tile,
        tensorAttention(p, q, wr, tm, tn, c, r, sizeOf(y), tile, y, z)
          |> map(fun(warp, warp |> split(4)
            |> map(fun(lanes, lanes
              |> map(fun(sums, sums |> split(2) |> split(2) |> split(tn))) |> transpose
              |> map(fun(tiles, tiles |> transpose |> map(fun(halves, halves |> transpose))
                |> transpose |> map(fun(row, row |> join |> join))))))
            |> transpose |> map(fun(tiles, tiles |> transpose |> join)) |> join)) |> join
          |> map(fun(row, row |> map(h))))) |> join

    Attention in one pass. A block of wr warps computes a tile of
    queries, p keys at a time, on tensor cores, which round the weights to the type of the
    values."""
    return _attention_parts(term, is_causal=False)


@rule(
    "f : f32 -> (s x s) -> f32, v : s -> f32, h : f32 -> t, c : f32, r : f32, "
    "j : idx[m * wr * tm * 16] -> i64, l : idx[n] -> i64, "
    "x : (m * wr * tm * 16).k.s, y : n.k.s, z : n.(tn * 8).s",
    adds_products("f"), converts("v"), counts("j"), counts("l"),
    choose="p q wr tm tn", permission=Permission.RELAXED,
)  # fmt: skip
def attend_causally_with_tensor_cores(term: Term, **given: object) -> Bindings:
    """zip(x, generate(j)) |> map(fun(query,
      let sums = zip(
          zip(y, generate(l)) |> map(fun(key, select(snd(key) <= snd(query),
            (zip(fst(query), fst(key)) |> reduce(f, 0.0)) * c, -inf))),
          z)
        |> reduceSeq(fun((state, e),
              let new = max(fst(state), fst(e));
              let base = select(new > -inf, new, 0.0);
              let scale = exp(fst(state) - base);
              let weight = exp(fst(e) - base);
              (new, (fst(snd(state)) * scale + weight, zip(snd(snd(state)), snd(e))
                |> map(fun(p, fst(p) * scale + weight * v(snd(p))))))),
            (-inf, (0.0, generate(fun(i : idx[tn * 8], 0.0)))));
      snd(snd(sums)) |> map(fun(s,
        h(select(fst(snd(sums)) == 0.0, r, s / fst(snd(sums))))))))
    ~> zip(x |> split(wr * tm * 16), generate(fun(b : idx[m], b)))
      |> mapBlock(0, fun(tile,
        tensorAttention(p, q, wr, tm, tn, c, r, fromIdx(snd(tile)) * sizeOf(fst(tile)),
          fst(tile), y, z)
          |> map(fun(warp, warp |> split(4)
            |> map(fun(lanes, lanes
              |> map(fun(sums, sums |> split(2) |> split(2) |> split(tn))) |> transpose
              |> map(fun(tiles, tiles |> transpose |> map(fun(halves, halves |> transpose))
                |> transpose |> map(fun(row, row |> join |> join))))))
            |> transpose |> map(fun(tiles, tiles |> transpose |> join)) |> join)) |> join
          |> map(fun(row, row |> map(h))))) |> join

    Each query attends to the keys up to its own position. A block of wr warps computes a tile of
    queries, p keys at a time, on tensor cores, which round the weights to the type of the
    values."""
    return _attention_parts(term, is_causal=True)


def _selected_quotient(body: Term) -> tuple[Scalar, Term]:
    """Return the division of the variable in the body of an epilogue, with the selection of another
    result for a sum of zero, and the epilogue as the body of a function of its result."""
    for part in subterms(body):
        if isinstance(part, Scalar) and part.op == "arith.select":
            quotient = part.operands[2]
            if isinstance(quotient, Scalar) and quotient.op == "arith.divf":
                return part, abstract_over(body, part)
    raise NoMatch("expected a division by the sum of the weights")


def _attention_parts(term: Term, *, is_causal: bool) -> Bindings:
    """Return the unknowns of attention in one pass."""
    function, queries = arguments_of(term, "map")
    sums, rest = _let(body_of(function))
    pairs = arguments_of(sums, "reduceSeq")[2]
    scores, values = arguments_of(pairs, "zip")
    of_key, keys = arguments_of(scores, "map")
    score = body_of(of_key)
    if is_causal:
        if not isinstance(score, Scalar) or score.op != "arith.select":
            raise NoMatch("expected scores that depend on positions")
        score = score.operands[1]
    if not isinstance(score, Scalar) or score.op != "arith.mulf":
        raise NoMatch("expected scaled scores")
    product, scale = score.operands
    selected, epilogue = _selected_quotient(body_of(arguments_of(rest, "map")[0]))
    parts: dict[str, Term] = {
        "f": moved_outside(arguments_of(product, "reduce")[0], 2), "c": moved_outside(scale, 2),
        "v": conversion_of_rows(values.type), "z": moved_outside(values, 1),
        "h": moved_outside(Lambda("s", selected.type, epilogue), 3),
        "r": moved_outside(selected.operands[1], 3),
    }  # fmt: skip
    if not is_causal:
        return {**parts, "x": queries, "y": moved_outside(keys, 1)}
    (x, i), (y, j) = arguments_of(queries, "zip"), arguments_of(moved_outside(keys, 1), "zip")
    counted = {"j": arguments_of(i, "generate")[0], "l": arguments_of(j, "generate")[0]}
    return {**parts, **counted, "x": x, "y": y}
