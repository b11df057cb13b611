"""Laws that compute tiles of a matrix multiplication with `mma`, and pack its columns for it."""

from __future__ import annotations

from riselang.dialects.rise.types import is_float
from riselang.rewrite.core import Setting
from riselang.rewrite.law_matching import Match
from riselang.rewrite.rule import Condition, Unmet, law
from riselang.rewrite.side_conditions import may_reorder, scalar
from riselang.term.multiply_add import is_multiply_add
from riselang.term.nodes import scalar_type


def any_order(function: str, init: str) -> Condition:
    """A condition: products may be added to the accumulators in any order."""

    def check(match: Match, setting: Setting) -> None:
        is_exact = not is_float(scalar_type(match.term(init)))
        if not is_exact and not may_reorder(match.term(function), setting):
            raise Unmet(
                'instructions add floats in any order, which only float="relaxed" and order="any" '
                "permit"
            )

    text = f"{init} is an integer, or {function} may be reordered"
    return Condition(text, check, decides_floats=True)


def adds_products(name: str) -> Condition:
    """A condition: the function adds a product to its first argument."""

    def check(match: Match, setting: Setting) -> None:
        if not is_multiply_add(match.term(name)):
            raise Unmet(f"{name} does not add products")

    return Condition(f"{name} adds products", check, (name,))


@law(
    "f : t -> (s x s) -> t, a : t, x : m.(k * h * g).s, y : n.(k * h * g).s",
    scalar("s"), scalar("t"), any_order("f", "a"), choose="g h",
)  # fmt: skip
def multiply_tile() -> None:
    """x |> map(fun(row, y |> map(fun(column, zip(row, column) |> reduce(f, a)))))
    ~> mma(g, h, f, a,
      x |> map(fun(row, row |> split(h * g))) |> transpose,
      y |> transpose |> split(g) |> map(fun(rows, rows |> transpose |> join)))

    The columns are read in groups of g elements, as CPU instructions for dot products expect, and
    the rows in chunks of h groups."""


@law("x : p.m.(k * c).t", choose="c")
def pack_chunks() -> None:
    """x ~> x |> map(fun(block, block |> map(fun(row, row |> split(c))) |> transpose
        |> map(fun(chunks, chunks |> mapSeq(fun(chunk, chunk |> map(fun(e, e)))))))) |> toMem(heap)
      |> map(fun(block, block |> transpose |> map(fun(chunks, chunks |> join))))

    Blocks of rows are contiguous in memory, in chunks of c elements."""


@law("x : p.n.(k * g).t", choose="g")
def pack_groups() -> None:
    """x ~> x |> map(fun(block, block |> transpose |> split(g)
        |> map(fun(rows, rows |> transpose
          |> mapSeq(fun(group, group |> mapSeqUnroll(fun(e, e)))) |> join)))) |> toMem(heap)
      |> map(fun(block, block |> map(fun(row, row |> split(g) |> transpose)) |> join |> transpose))

    Blocks of columns are contiguous in memory, in groups of g elements."""
