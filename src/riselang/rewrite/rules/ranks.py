"""Laws that distribute computations and arrays to the ranks of a mesh."""

from __future__ import annotations

from riselang.rewrite.rule import Permission, law
from riselang.rewrite.side_conditions import neutral, regroups


@law("x : n.t", choose="d")
def shard_array() -> None:
    """x ~> x |> shard(d)"""


@law("f : s -> t, x : n.s", choose="d")
def map_over_ranks() -> None:
    """x |> map(f) ~> x |> mapRank(d, f)"""


@law("f : t -> s -> t, a : t, x : n.s", choose="d")
def reduce_over_ranks() -> None:
    """x |> reduce(f, a) ~> x |> reduceRank(d, f, a)

    The ranks run one after the other, so the order does not change."""


@law("f : s -> t, x : (n * m).s", choose="d m")
def split_over_ranks() -> None:
    """x |> map(f) ~> x |> split(m) |> mapRank(d, fun(block, block |> map(f))) |> join

    Each rank computes a block of m elements."""


@law("f : s -> t -> u, x : (n * m).s, y : (p * k).t", choose="m k")
def tile_over_ranks() -> None:
    """x |> map(fun(a, y |> map(fun(b, f(a, b)))))
    ~> x |> split(m) |> mapRank(0, fun(rows, y |> split(k) |> mapRank(1, fun(columns,
        rows |> map(fun(a, columns |> map(fun(b, f(a, b)))))))
      |> transpose |> map(fun(row, row |> join)))) |> join

    Each rank of a two-dimensional mesh computes a tile of m x k elements."""


@law("f : sz.s -> t, x : (sp * n * m + sz - sp).s", choose="d m")
def windows_over_ranks() -> None:
    """x |> slide(sz, sp) |> map(f)
    ~> x |> slide(sp * m + sz - sp, sp * m)
      |> mapRank(d, fun(tile, tile |> slide(sz, sp) |> map(f))) |> join

    Each rank computes m windows. Neighboring ranks share elements: their halo."""


@law("f : sz.sz.s -> t, x : (p * m + sz - 1).(q * k + sz - 1).s", choose="m k")
def windows_over_ranks_2d() -> None:
    """x |> map(fun(row, row |> slide(sz, 1))) |> slide(sz, 1)
      |> map(fun(rows, rows |> transpose |> map(f)))
    ~> x |> slide(m + sz - 1, m) |> mapRank(0, fun(rows,
        rows |> map(fun(row, row |> slide(k + sz - 1, k))) |> transpose
        |> mapRank(1, fun(tile, tile |> map(fun(row, row |> slide(sz, 1))) |> slide(sz, 1)
          |> map(fun(window, window |> transpose |> map(f)))))
        |> transpose |> map(fun(line, line |> join)))) |> join

    Each rank of a two-dimensional mesh computes a tile of m x k windows."""


@law("f : sz.s -> t, x : (n + sz).s", choose="m")
def pad_windows() -> None:
    """x |> slide(sz, 1) |> map(f)
    ~> x |> pad(0, m) |> slide(sz, 1) |> map(f) |> take(n + 1)

    The array is padded so that its windows fill all blocks, and the results for the padding are
    dropped."""


@law("f : sz.sz.s -> t, x : (n + sz).(l + sz).s", choose="m k")
def pad_windows_2d() -> None:
    """x |> map(fun(row, row |> slide(sz, 1))) |> slide(sz, 1)
      |> map(fun(rows, rows |> transpose |> map(f)))
    ~> x |> pad(0, m) |> map(fun(row, row |> pad(0, k)))
      |> map(fun(row, row |> slide(sz, 1))) |> slide(sz, 1)
      |> map(fun(rows, rows |> transpose |> map(f)))
      |> take(n + 1) |> map(fun(row, row |> take(l + 1)))"""


@law(
    "f : t -> t -> t, a : t, x : (n * m).t", regroups("f"), neutral("a", "f"),
    choose="d m", permission=Permission.RELAXED,
)  # fmt: skip
def partial_reduce_over_ranks() -> None:
    """x |> reduce(f, a)
    ~> x |> split(m) |> mapRank(d, fun(block, block |> reduce(f, a))) |> reduce(f, a)

    The result of each rank is sent to all ranks, which reduce them in the order of the ranks."""


@law("f : t -> s -> t, a : t, x : (n * m).s", choose="d m")
def blocked_reduce_over_ranks() -> None:
    """x |> reduce(f, a)
    ~> x |> split(m) |> reduceRank(d, fun((acc, block), block |> reduce(f, acc)), a)

    Each rank reduces its block, starting from the result of the rank before: the order does not
    change, and only the result of a rank is sent."""


@law(
    "g : (s x u) -> t, f : t -> t -> t, a : t, x : o.(n * m).s, y : p.(n * m).u",
    regroups("f"), neutral("a", "f"), choose="d m", permission=Permission.RELAXED,
)  # fmt: skip
def product_of_parts_over_ranks() -> None:
    """x |> map(fun(row, y |> map(fun(column,
      zip(row, column) |> map(g) |> reduce(f, a)))))
    ~> zip(x |> transpose |> split(m), y |> transpose |> split(m))
      |> mapRank(d, fun(part, fst(part) |> transpose |> map(fun(row,
        snd(part) |> transpose |> map(fun(column,
          zip(row, column) |> map(g) |> reduce(f, a)))))))
      |> map(fun(product, product |> join)) |> transpose
      |> map(fun(parts, parts |> reduce(f, a))) |> split(p)

    Each rank multiplies some columns of the first matrix with rows of the second one. The products
    are added in the order of the ranks."""


@law(
    "f : t -> (s x u) -> t, a : t, x : (n * m).(q * k).s, y : (p * l).(q * k).u",
    choose="m l k",
)  # fmt: skip
def product_of_panels_over_ranks() -> None:
    """x |> map(fun(row, y |> map(fun(column, zip(row, column) |> reduce(f, a)))))
    ~> zip(x |> transpose |> split(k), y |> transpose |> split(k))
      |> reduce(fun((sums, panels),
        zip(fst(panels) |> transpose |> split(m), sums) |> mapRank(0, fun(of_row,
          zip(snd(panels) |> transpose |> split(l), snd(of_row)) |> mapRank(1, fun(tile,
            zip(fst(of_row), snd(tile)) |> map(fun(row,
              zip(fst(tile), snd(row)) |> map(fun(cell,
                zip(fst(row), fst(cell)) |> reduce(f, snd(cell))))))))))),
        generate(fun(i : idx[n], generate(fun(j : idx[p], generate(fun(g : idx[m],
          generate(fun(h : idx[l], a)))))))))
      |> map(fun(tiles, tiles |> transpose |> map(fun(row, row |> join)))) |> join

    SUMMA: in each step, all ranks of a row of the mesh get a panel of k columns of the first
    matrix, all ranks of a column get a panel of k rows of the second one, and each rank adds their
    product to its tile. The sums add in the order of the source."""


@law("g : s -> t, f : t -> u, x : n.s")
def map_into_ranks() -> None:
    """x |> map(g) |> mapRank(d, f) ~> x |> mapRank(d, fun(e, f(g(e))))

    Each rank computes the elements that it needs."""
