"""Laws of maps, reductions and windows, which change how values are computed."""

from __future__ import annotations

from riselang.rewrite.rule import Permission, law
from riselang.rewrite.side_conditions import distributes, neutral, regroups

# Maps


@law("f : s -> t, g : t -> u, x : n.s")
def map_fusion() -> None:
    """x |> map(f) |> map(g) ~> x |> map(fun(e, g(f(e))))"""


@law("f : s -> t, x : (n * m).s", choose="m")
def split_join() -> None:
    """x |> map(f) ~> x |> split(m) |> map(fun(block, block |> map(f))) |> join"""


join_split_maps = split_join.reversed("join_split_maps")


@law("f : s -> t -> u, x : n.s, y : m.t")
def map_interchange() -> None:
    """x |> map(fun(a, y |> map(fun(b, f(a, b)))))
    ~> y |> map(fun(b, x |> map(fun(a, f(a, b))))) |> transpose"""


@law("y : s -> m.t, f : t -> u, x : n.s")
def map_interchange_of_rows() -> None:
    """x |> map(fun(a, y(a) |> map(f)))
    ~> x |> map(y) |> transpose |> map(fun(column, column |> map(f))) |> transpose

    The same if the second loop is over parts of the elements of the first."""


@law("y : s -> m.t, f : s -> t -> u, x : n.s")
def map_interchange_with() -> None:
    """x |> map(fun(a, y(a) |> map(fun(b, f(a, b)))))
    ~> x |> map(y) |> transpose |> map(fun(column,
      zip(x, column) |> map(fun(p, f(fst(p), snd(p)))))) |> transpose

    The same if the function takes the elements of both."""


@law("f : s -> t -> u, x : n.s, y : m.t")
def collapse_maps() -> None:
    """x |> map(fun(a, y |> map(fun(b, f(a, b)))))
    ~> zip(x |> map(fun(a, generate(fun(i : idx[m], a)))) |> join,
        generate(fun(i : idx[n], y)) |> join)
      |> map(fun(p, f(fst(p), snd(p)))) |> split(m)

    One loop over all pairs, so that threads share the iterations of both loops."""


@law("f : s -> t, x : (k + n).s", choose="k")
def peel_map() -> None:
    """x |> map(f) ~> concat(x |> take(k) |> map(f), x |> drop(k) |> map(f))

    Peels off the elements that are left if a tile size does not divide the length."""


@law("f : s -> t, x : (n + 1).s", choose="m")
def pad_map() -> None:
    """x |> map(f) ~> x |> pad(0, m) |> map(f) |> take(n + 1)

    The array is padded to whole tiles, and the padding is dropped at the end."""


@law("f : s -> t, g : s -> u, x : n.s")
def map_pairing() -> None:
    """zip(x |> map(f), x |> map(g)) ~> x |> map(fun(e, (f(e), g(e))))"""


@law("x : n.t")
def zip_of_equal() -> None:
    """zip(x, x) ~> x |> map(fun(e, (e, e)))"""


@law("f : s -> t, g : s -> u, x : n.s")
def map_unpairing() -> None:
    """x |> map(fun(e, (f(e), g(e)))) ~> zip(x |> map(f), x |> map(g))"""


@law("f : s -> t, x : n.s, y : n.u")
def zip_of_map_first() -> None:
    """zip(x |> map(f), y) ~> zip(x, y) |> map(fun(p, (f(fst(p)), snd(p))))"""


@law("f : s -> t, x : n.u, y : n.s")
def zip_of_map_second() -> None:
    """zip(x, y |> map(f)) ~> zip(x, y) |> map(fun(p, (fst(p), f(snd(p)))))"""


@law("c : t, x : n.s")
def map_of_constant() -> None:
    """x |> map(fun(e, c)) ~> generate(fun(i : idx[n], c))"""


@law("f : idx[n] -> s, g : s -> t")
def generate_fusion() -> None:
    """generate(f) |> map(g) ~> generate(fun(i, g(f(i))))"""


@law("f : s -> t, x : n.s")
def map_as_generate() -> None:
    """x |> map(f) ~> generate(fun(i, f(x |> at(i))))"""


@law("f : s -> t, x : n.s, i : idx[n]")
def at_of_map() -> None:
    """x |> map(f) |> at(i) ~> f(x |> at(i))"""


@law("f : idx[n] -> t, i : idx[n]")
def at_of_generate() -> None:
    """generate(f) |> at(i) ~> f(i)"""


@law("c : idx[n] -> idx[n], x : n.s")
def reorder_as_generate() -> None:
    """x |> reorder(c) ~> generate(fun(i, x |> at(c(i))))"""


@law("x : n.s, indices : m.idx[n]")
def gather_as_map() -> None:
    """x |> gather(indices) ~> indices |> map(fun(i, x |> at(i)))"""


# Reductions


@law("g : s -> t, f : u -> t -> u, a : u, x : n.s")
def reduce_map_fusion() -> None:
    """x |> map(g) |> reduce(f, a) ~> x |> reduce(fun((acc, e), f(acc, g(e))), a)"""


@law("g : s -> t, f : u -> t -> u, a : u, x : n.s")
def scan_map_fusion() -> None:
    """x |> map(g) |> scan(f, a) ~> x |> scan(fun((acc, e), f(acc, g(e))), a)"""


@law("f : t -> s -> t, a : t, x : (n * m).s", choose="m")
def blocked_reduce() -> None:
    """x |> reduce(f, a) ~> x |> split(m) |> reduce(fun((acc, block), block |> reduce(f, acc)), a)

    Each block starts from the result of the blocks before it, so the order does not change."""


unblocked_reduce = blocked_reduce.reversed("unblocked_reduce")


@law("f : t -> s -> t, a : t, x : n.m.s")
def reduce_of_join() -> None:
    """x |> join |> reduce(f, a) ~> x |> reduce(fun((acc, row), row |> reduce(f, acc)), a)"""


@law("f : t -> s -> t, a : t, x : n.s, y : m.s")
def reduce_of_concat() -> None:
    """concat(x, y) |> reduce(f, a) ~> y |> reduce(f, x |> reduce(f, a))"""


@law("f : t -> s -> t, a : t, x : (k + n).s", choose="k")
def peel_reduce() -> None:
    """x |> reduce(f, a) ~> x |> drop(k) |> reduce(f, x |> take(k) |> reduce(f, a))"""


@law("f : t -> s -> t, a : t, x : 0.s")
def reduce_of_nothing() -> None:
    """x |> reduce(f, a) ~> a"""


@law("f : t -> s -> t, a : t, x : 1.s")
def reduce_of_one() -> None:
    """x |> reduce(f, a) ~> f(a, x |> at(clampIdx(1, 0)))"""


@law("f : t -> s -> t, a : t, x : (n + 1).s")
def reduce_as_scan() -> None:
    """x |> reduce(f, a) ~> x |> scan(f, a) |> reverse |> at(clampIdx(n + 1, 0))"""


@law("f : t -> s -> t, g : u -> s -> u, a : t, b : u, x : n.s")
def reduce_pairing() -> None:
    """(x |> reduce(f, a), x |> reduce(g, b))
    ~> x |> reduce(fun((acc, e), (f(fst(acc), e), g(snd(acc), e))), (a, b))

    Two reductions of one array in one loop."""


@law("e : u -> m.s, f : t -> s -> t, a : u -> t, x : n.u")
def lift_reduce() -> None:
    """x |> map(fun(y, e(y) |> reduce(f, a(y))))
    ~> x |> map(e) |> transpose |> reduce(fun((accs, column),
      zip(column, accs) |> map(fun(p, f(snd(p), fst(p))))), x |> map(a))

    The loop of the reduction becomes the outer one, with one accumulator for each result."""


@law("e : u -> m.s, f : u -> t -> s -> t, a : u -> t, x : n.u")
def lift_reduce_with() -> None:
    """x |> map(fun(y, e(y) |> reduce(fun((acc, v), f(y, acc, v)), a(y))))
    ~> x |> map(e) |> transpose |> reduce(fun((accs, column),
      zip(x, zip(column, accs)) |> map(fun(p, f(fst(p), snd(snd(p)), fst(snd(p)))))), x |> map(a))

    The same if the function of the reduction also takes the element of the map."""


@law("c : u -> n.s, f : u -> (s x t) -> t, a : n.t, x : m.u")
def sink_reduce() -> None:
    """x |> reduce(fun((accs, e), zip(c(e), accs) |> map(fun(p, f(e, p)))), a)
    ~> zip(x |> map(c) |> transpose, a) |> map(fun(q,
      zip(x, fst(q)) |> reduce(fun((acc, r), f(fst(r), (snd(r), acc))), snd(q))))

    The loop of the reduction becomes the inner one, inside the loop over its accumulators."""


@law("h : (n * m).t -> s -> (n * m).t, a : (n * m).t, x : l.s", choose="m")
def reduce_in_blocks() -> None:
    """x |> reduce(h, a)
    ~> x |> reduce(fun((acc, e), h(acc |> join, e) |> split(m)), a |> split(m)) |> join

    The accumulators of a reduction in another shape."""


@law("h : n.m.t -> s -> n.m.t, a : n.m.t, x : l.s")
def reduce_transposed() -> None:
    """x |> reduce(h, a)
    ~> x |> reduce(fun((acc, e), h(acc |> transpose, e) |> transpose), a |> transpose) |> transpose

    The accumulators of a reduction in another order."""


@law(
    "f : t -> t -> t, a : t, x : (n * m).t", regroups("f"), neutral("a", "f"),
    choose="m", permission=Permission.RELAXED,
)  # fmt: skip
def partial_reduce() -> None:
    """x |> reduce(f, a) ~> x |> split(m) |> map(fun(block, block |> reduce(f, a))) |> reduce(f, a)

    Each block has its own reduction, so blocks can be reduced in parallel."""


@law(
    "f : t -> t -> t, a : t, x : (n * m).t", regroups("f"), neutral("a", "f"),
    choose="m", permission=Permission.RELAXED,
)  # fmt: skip
def interleaved_reduce() -> None:
    """x |> reduce(f, a)
    ~> x |> split(m) |> transpose |> map(fun(lane, lane |> reduce(f, a))) |> reduce(f, a)

    Every m-th element is in the same reduction: m accumulators, which fit a vector."""


@law("f : t -> t -> t, a : t, x : (2 * n).t", regroups("f"), permission=Permission.RELAXED)
def halve_reduce() -> None:
    """x |> reduce(f, a)
    ~> let y = x |> toMem(register);
      zip(y |> take(n), y |> drop(n)) |> map(fun(p, f(fst(p), snd(p)))) |> reduce(f, a)

    Combines the two halves of an array, which vector instructions can do."""


@law(
    "f : t -> t -> t, a : t, x : (k + n).t", regroups("f"), neutral("a", "f"),
    choose="k", permission=Permission.RELAXED,
)  # fmt: skip
def reduce_parts() -> None:
    """x |> reduce(f, a) ~> f(x |> take(k) |> reduce(f, a), x |> drop(k) |> reduce(f, a))

    Unlike those of peel_reduce, the two reductions are independent."""


@law("f : t -> t -> t, a : t, x : n.t", regroups("f"), permission=Permission.RELAXED)
def reduce_of_reverse() -> None:
    """x |> reverse |> reduce(f, a) ~> x |> reduce(f, a)"""


@law("f : t -> t -> t, a : t, x : n.m.t", regroups("f"), permission=Permission.RELAXED)
def reduce_of_transpose() -> None:
    """x |> transpose |> join |> reduce(f, a) ~> x |> join |> reduce(f, a)"""


@law(
    "times : t -> t -> t, plus : t -> t -> t, o : t, u : n.t, v : m.t, x : n.m.t",
    distributes("times", "plus"), neutral("o", "plus"), permission=Permission.RELAXED,
)  # fmt: skip
def separate_convolution() -> None:
    """zip(u |> map(fun(a, v |> map(fun(b, times(a, b))))) |> join, x |> join)
      |> map(fun(p, times(fst(p), snd(p)))) |> reduce(plus, o)
    ~> zip(u, x |> map(fun(row,
        zip(v, row) |> map(fun(p, times(fst(p), snd(p)))) |> reduce(plus, o))))
      |> map(fun(p, times(fst(p), snd(p)))) |> reduce(plus, o)

    A weighted sum over a window, each of whose weights is the product of a row weight and a
    column weight, is a weighted sum of weighted sums."""


@law(
    "times : t -> t -> t, plus : t -> t -> t, o : t, u : n.t, v : m.t, x : n.m.t",
    distributes("times", "plus"), neutral("o", "plus"), permission=Permission.RELAXED,
)  # fmt: skip
def separate_convolution_by_columns() -> None:
    """zip(u |> map(fun(a, v |> map(fun(b, times(a, b))))) |> join, x |> join)
      |> map(fun(p, times(fst(p), snd(p)))) |> reduce(plus, o)
    ~> zip(v, x |> transpose |> map(fun(column,
        zip(u, column) |> map(fun(p, times(fst(p), snd(p)))) |> reduce(plus, o))))
      |> map(fun(p, times(fst(p), snd(p)))) |> reduce(plus, o)

    The same with the sums over the columns first."""


@law("f : t -> t, a : t", choose="k")
def split_iterate() -> None:
    """a |> iterate(k + n, f) ~> a |> iterate(k, f) |> iterate(n, f)"""


@law("f : t -> t, a : t")
def unroll_iterate() -> None:
    """a |> iterate(n + 1, f) ~> f(a |> iterate(n, f))"""


@law("f : t -> t, a : t")
def iterate_zero() -> None:
    """a |> iterate(0, f) ~> a"""


# Windows


@law("x : (sp * p * m + sz - sp).t", choose="m")
def slide_tiling() -> None:
    """x |> slide(sz, sp)
    ~> x |> slide(sp * m + sz - sp, sp * m) |> map(fun(tile, tile |> slide(sz, sp))) |> join

    Tiles overlap by the elements that windows at their borders share."""


@law("f : sz.s -> t, x : (sp * p * m + sz - sp).s", choose="m")
def overlapped_tiling() -> None:
    """x |> slide(sz, sp) |> map(f)
    ~> x |> slide(sp * m + sz - sp, sp * m)
      |> map(fun(tile, tile |> slide(sz, sp) |> map(f))) |> join"""


@law("f : sz.sz.s -> t, x : (p * m + sz - 1).(q * k + sz - 1).s", choose="m k")
def overlapped_tiling_2d() -> None:
    """x |> map(fun(row, row |> slide(sz, 1))) |> slide(sz, 1)
      |> map(fun(rows, rows |> transpose |> map(f)))
    ~> x |> slide(m + sz - 1, m) |> map(fun(rows,
      rows |> map(fun(row, row |> slide(k + sz - 1, k))) |> transpose
        |> map(fun(tile, tile |> map(fun(row, row |> slide(sz, 1))) |> slide(sz, 1)
          |> map(fun(window, window |> transpose |> map(f)))))
        |> transpose |> map(fun(line, line |> join)))) |> join

    Tiles of a grid, with a border that the windows of neighboring tiles share."""


@law("x : (n * m).t")
def split_as_slide() -> None:
    """x |> split(m) ~> x |> slide(m, m)"""


slide_as_split = split_as_slide.reversed("slide_as_split")


@law("x : (n + sz - 1).t")
def slide_as_generate() -> None:
    """x |> slide(sz, 1) ~> generate(fun(i : idx[n], generate(fun(j : idx[sz],
    x |> at(clampIdx(n + sz - 1, fromIdx(i) + fromIdx(j)))))))"""


@law("x : (n * m).(p * k).t", choose="m k")
def transpose_in_tiles() -> None:
    """x |> transpose
    ~> x |> transpose |> split(k) |> map(fun(columns,
      columns |> transpose |> split(m) |> map(fun(tile, tile |> transpose))
        |> transpose |> map(fun(row, row |> join)))) |> join

    Tiles are read and written while both are in a cache."""


@law("x : (n * m).p.t", choose="m")
def transpose_by_rows() -> None:
    """x |> transpose
    ~> x |> split(m) |> map(fun(rows, rows |> transpose)) |> transpose |> map(fun(row, row |> join))

    A few complete rows are read at a time."""


@law("x : n.(k + m).t", choose="k")
def peel_transpose() -> None:
    """x |> transpose
    ~> concat(x |> map(fun(row, row |> take(k))) |> transpose,
      x |> map(fun(row, row |> drop(k))) |> transpose)

    Peels off the columns that are left if a tile size does not divide their number."""


@law("x : n.m.t")
def transpose_as_generate() -> None:
    """x |> transpose
    ~> generate(fun(j : idx[m], generate(fun(i : idx[n], x |> at(i) |> at(j)))))"""
