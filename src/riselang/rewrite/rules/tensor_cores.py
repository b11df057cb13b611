"""Laws that multiply matrices with the tensor cores of a GPU.

A *fragment* is a tile of a matrix as the registers of a block hold it: an array of warps, lanes and
registers. In each tile of 16 x 8 elements, lane l holds two elements of row l / 4, and two of row
8 + l / 4, at columns 2 (l % 4) and 2 (l % 4) + 1.
"""

from __future__ import annotations

from riselang.dialects.rise.pattern_registry import FST, MAP
from riselang.rewrite.rule import Bindings, Permission, law, rule
from riselang.rewrite.rules.dot_products import adds_products, any_order
from riselang.rewrite.rules.functions import abstract_over_component, loop_parts
from riselang.rewrite.side_conditions import scalar
from riselang.term.nodes import Term


@law(
    "f : t -> (s x s) -> t, a : t, x : (wr * tm * 16).k.s, y : (wc * tn * 8).k.s",
    scalar("s"), scalar("t"), any_order("f", "a"), choose="p q wr wc tm tn",
)  # fmt: skip
def multiply_with_tensor_cores() -> None:
    """x |> map(fun(row, y |> map(fun(column, zip(row, column) |> reduce(f, a)))))
    ~> tensorMMA(p, q, wr, wc, tm, tn, f, a, x, y) |> split(wc)
      |> map(fun(warps, warps |> map(fun(warp, warp |> split(4)
          |> map(fun(lanes, lanes
            |> map(fun(sums, sums |> split(2) |> split(2) |> split(tn))) |> transpose
            |> map(fun(tiles, tiles |> transpose |> map(fun(halves, halves |> transpose))
              |> transpose |> map(fun(row, row |> join |> join))))))
          |> transpose |> map(fun(tiles, tiles |> transpose |> join)) |> join))
        |> transpose |> map(fun(row, row |> join)))) |> join

    The sums of a tile are a fragment: wr x wc warps have tm x tn tiles of 16 x 8 sums each."""


@law(
    "f : f32 -> (s x u) -> f32, x : m.(k * c).s, y : n.(k * c).u",
    scalar("s"), scalar("u"), adds_products("f"), choose="c", permission=Permission.RELAXED,
)  # fmt: skip
def split_depth() -> None:
    """x |> map(fun(row, y |> map(fun(column, zip(row, column) |> reduce(f, 0.0)))))
    ~> zip(x |> transpose |> split(c) |> map(fun(part, part |> transpose)),
        y |> transpose |> split(c) |> map(fun(part, part |> transpose)))
      |> map(fun(p, fst(p) |> map(fun(row, snd(p)
        |> map(fun(column, zip(row, column) |> reduce(f, 0.0))))))) |> toMem(heap)
      |> transpose |> map(fun(parts, parts |> transpose
        |> map(fun(sums, sums |> reduce(add, 0.0)))))

    Other blocks multiply other parts of the rows and columns, c elements each."""


@law(
    "g : t -> u, x : (wr * tm * 16).(wc * tn * 8).t", scalar("u"), choose="wr wc tm tn",
)  # fmt: skip
def map_fragment() -> None:
    """x |> map(fun(row, row |> map(g)))
    ~> x |> split(tm * 16)
      |> map(fun(rows, rows |> map(fun(row, row |> split(tn * 8))) |> transpose)) |> join
      |> map(fun(tile, tile |> split(8) |> split(2) |> map(fun(halves, halves |> transpose))
        |> transpose |> map(fun(lanes, lanes
          |> map(fun(halves, halves |> map(fun(row, row |> split(2) |> split(4))) |> transpose
            |> map(fun(tiles, tiles |> transpose)) |> transpose)) |> transpose
          |> map(fun(sums, sums |> join)))) |> join))
      |> mapWarp(fun(warp, warp |> mapLane(fun(lane, lane
        |> mapSeq(fun(tile, tile |> mapSeqUnroll(fun(half, half |> mapSeqUnroll(g)))))))))
      |> split(wc)
      |> map(fun(warps, warps |> map(fun(warp, warp |> split(4)
          |> map(fun(lanes, lanes
            |> map(fun(sums, sums |> split(tn))) |> transpose
            |> map(fun(tiles, tiles |> transpose |> map(fun(halves, halves |> transpose))
              |> transpose |> map(fun(row, row |> join |> join))))))
          |> transpose |> map(fun(tiles, tiles |> transpose |> join)) |> join))
        |> transpose |> map(fun(row, row |> join)))) |> join

    Each lane computes the elements of a fragment that it holds."""


@law(
    "g : t -> u, x : (wr * tm * 16).(wc * tv * 32).t", scalar("u"), choose="wr wc tm tv",
)  # fmt: skip
def map_fragment_in_vectors() -> None:
    """x |> map(fun(row, row |> map(g)))
    ~> x |> split(tm * 16)
      |> map(fun(rows, rows |> map(fun(row, row |> split(tv * 32))) |> transpose)) |> join
      |> map(fun(tile, tile |> split(8) |> split(2) |> map(fun(halves, halves |> transpose))
        |> transpose |> map(fun(lanes, lanes
          |> map(fun(halves, halves
            |> map(fun(row, row |> split(2) |> split(4) |> split(4)
              |> map(fun(group, group |> transpose)) |> transpose))
            |> transpose |> map(fun(sums, sums |> join)))) |> transpose
          |> map(fun(sums, sums |> join)))) |> join))
      |> mapWarp(fun(warp, warp |> mapLaneExchange(4, fun(lane, lane
        |> map(fun(group, group |> map(fun(tile, tile |> map(g)))))))))
      |> split(wc)
      |> map(fun(warps, warps |> map(fun(warp, warp |> split(4)
          |> map(fun(lanes, lanes
            |> map(fun(sums, sums |> map(fun(group, group |> join)) |> split(tv) |> split(2)))
            |> transpose
            |> map(fun(halves, halves |> transpose
              |> map(fun(row, row |> transpose |> join |> join))))))
          |> transpose |> map(fun(tiles, tiles |> transpose |> join)) |> join))
        |> transpose |> map(fun(row, row |> join)))) |> join

    Each lane computes the elements of a fragment that it holds. Groups of four lanes then exchange
    elements, so that each lane stores eight consecutive ones."""


@law("x : n.((m + 1) * k).s", scalar("s"), choose="p k")
def store_rows_aligned() -> None:
    """x ~> x |> mapBlock(0, fun(row, row |> asVector(k) |> pad(0, p)
        |> mapThread(0, fun(e, e)) |> asScalar)) |> toMem(heap)
      |> map(fun(row, row |> take((m + 1) * k)))

    Rows with p more vectors start at multiples of more bytes. The padding is never read."""


@law("x : n.m.t", scalar("t"))
def copy_matrix() -> None:
    """x ~> x |> map(fun(row, row |> map(fun(e, e))))"""


@law("g : (t x u) -> v, x : n.m.t, y : m.u")
def zip_rows_first() -> None:
    """x |> map(fun(row, zip(row, y) |> map(g)))
    ~> x |> map(fun(row, zip(row, y))) |> map(fun(row, row |> map(g)))

    An epilogue becomes a map over the elements of one matrix."""


@rule("f : s -> u, x : n.(s x t)")
def firsts_before_map(term: Term) -> Bindings:
    """x |> map(fun(p, f(fst(p)))) ~> x |> map(fun(p, fst(p))) |> map(f)"""
    (function,), xs = loop_parts(term, MAP.name)
    return {"f": abstract_over_component(function, FST), "x": xs}
