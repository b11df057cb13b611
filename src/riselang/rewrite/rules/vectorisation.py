"""Laws that compute with whole vectors."""

from __future__ import annotations

from riselang.rewrite.conditions import scalar
from riselang.rewrite.rule import law


@law("x : (n * k).t", scalar("t"), choose="k")
def through_vectors() -> None:
    """x ~> x |> asVector(k) |> asScalar"""


@law("x : (n * m * k).t", scalar("t"), choose="m")
def split_vectors() -> None:
    """x |> asVector(k) |> split(m) ~> x |> split(m * k) |> map(fun(block, block |> asVector(k)))"""


@law("x : n.(m * k).t", scalar("t"))
def vectors_of_rows() -> None:
    """x |> map(fun(row, row |> asVector(k))) |> join ~> x |> join |> asVector(k)"""


@law("x : n.m.vec[k, t]", scalar("t"))
def scalars_of_rows() -> None:
    """x |> map(fun(row, row |> asScalar)) |> join ~> x |> join |> asScalar"""


@law("x : (n * k).s, c : t", scalar("t"))
def vectors_of_one_scalar() -> None:
    """x |> map(fun(e, c)) |> asVector(k) ~> generate(fun(i : idx[n], vectorFromScalar(k, c)))"""


@law("c : t", scalar("t"))
def vectors_of_generated_scalar() -> None:
    """generate(fun(i : idx[n * k], c)) |> asVector(k)
    ~> generate(fun(i : idx[n], vectorFromScalar(k, c)))"""


@law("h : s -> (n * k).t -> (n * k).t, a : (n * k).t, x : m.s", scalar("t"), choose="k")
def reduce_in_vectors() -> None:
    """x |> reduce(h, a)
    ~> x |> reduce(fun((e, acc), h(e, acc |> asScalar) |> asVector(k)), a |> asVector(k))
      |> asScalar

    The accumulators of a fold as vectors."""


@law("x : (n * k).t, y : (m * k).t", scalar("t"))
def vectors_of_concat() -> None:
    """concat(x, y) |> asVector(k) ~> concat(x |> asVector(k), y |> asVector(k))"""


@law("x : ((m + n) * k).t", scalar("t"))
def vectors_of_take() -> None:
    """x |> take(m * k) |> asVector(k) ~> x |> asVector(k) |> take(m)"""
