"""The meaning of `tensorAttention` in other patterns, which a CPU computes."""

from __future__ import annotations

from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import RiseType
from riselang.term.nodes import Lambda, Pattern

DEFINITION = """
fun((c : f32, e : f32, o : index,
   x : ({w} * {tm} * 16).{k}.{s}, y : {n}.{k}.{s}, z : {n}.({tn} * 8).{s}),
  zip(x, generate(fun((i : idx[{w} * {tm} * 16]), i))) |> map(fun(query,
    let scores = zip(y, generate(fun((i : idx[{n}]), i))) |> map(fun(key,
      select(fromIdx(snd(key)) <= o + fromIdx(snd(query)),
        (zip(fst(query), fst(key))
          |> reduce(fun((a, p), a + cast[f32](fst(p)) * cast[f32](snd(p))), 0.0)) * c, -inf)));
    let largest = scores |> reduce(max, -inf);
    let weights = scores |> map(fun(s, exp(s - largest)));
    let total = weights |> reduce(add, 0.0);
    z |> transpose |> map(fun(column,
      select(largest == -inf, e, (zip(weights, column)
        |> reduce(fun((a, p), a + fst(p) * cast[f32](snd(p))), 0.0)) / total)))))
  |> toMem(heap) |> split({tm} * 16)
  |> map(fun(tile, tile |> split(8) |> split(2) |> map(fun(halves, halves |> transpose))
    |> transpose |> map(fun(lanes, lanes
      |> map(fun(halves, halves |> map(fun(row, row |> split(2) |> split(4))) |> transpose
        |> map(fun(tiles, tiles |> transpose)) |> transpose)) |> transpose
      |> map(fun(sums, sums |> join |> join |> join)))) |> join)))
"""


def attention_definition(pattern: Pattern) -> Lambda:
    """Return the meaning of a pattern `tensorAttention`: a function of its arguments."""
    from riselang.notation.program import parse_term

    type = pattern.argument("s")
    assert isinstance(type, RiseType)
    sizes = {name: str(pattern.argument(name)) for name in ("w", "tm", "tn", "n", "k")}
    term = parse_term(DEFINITION.format(**sizes, s=format_type(type)))
    assert isinstance(term, Lambda)
    return term
