"""Laws that move views across maps and across each other.

The name states the order after the step: `split_before_map` moves a split from after a map to
before it.
"""

from __future__ import annotations

from riselang.rewrite.rule import law

# Views across maps


@law("f : s -> t, x : (n * m).s")
def split_before_map() -> None:
    """x |> map(f) |> split(m) ~> x |> split(m) |> map(fun(block, block |> map(f)))"""


map_before_split = split_before_map.reversed("map_before_split")


@law("f : s -> t, x : n.m.s")
def map_before_join() -> None:
    """x |> join |> map(f) ~> x |> map(fun(row, row |> map(f))) |> join"""


join_before_map = map_before_join.reversed("join_before_map")


@law("f : s -> t, x : n.m.s")
def transpose_before_map() -> None:
    """x |> map(fun(row, row |> map(f))) |> transpose
    ~> x |> transpose |> map(fun(column, column |> map(f)))"""


map_before_transpose = transpose_before_map.reversed("map_before_transpose")


@law("f : s -> t, x : (sp * n + sz - sp).s")
def slide_before_map() -> None:
    """x |> map(f) |> slide(sz, sp) ~> x |> slide(sz, sp) |> map(fun(window, window |> map(f)))"""


map_before_slide = slide_before_map.reversed("map_before_slide")


@law("f : s -> t, x : (k + n).s")
def take_before_map() -> None:
    """x |> map(f) |> take(k) ~> x |> take(k) |> map(f)"""


map_before_take = take_before_map.reversed("map_before_take")


@law("f : s -> t, x : (k + n).s")
def drop_before_map() -> None:
    """x |> map(f) |> drop(k) ~> x |> drop(k) |> map(f)"""


map_before_drop = drop_before_map.reversed("map_before_drop")


@law("f : s -> t, x : n.s, y : m.s")
def map_before_concat() -> None:
    """concat(x, y) |> map(f) ~> concat(x |> map(f), y |> map(f))"""


concat_before_map = map_before_concat.reversed("concat_before_map")


@law("f : s -> t, x : n.s")
def reverse_before_map() -> None:
    """x |> map(f) |> reverse ~> x |> reverse |> map(f)"""


map_before_reverse = reverse_before_map.reversed("map_before_reverse")


@law("f : s -> t, x : n.s")
def map_before_pad() -> None:
    """x |> pad(l, r) |> map(f) ~> x |> map(f) |> pad(l, r)"""


pad_before_map = map_before_pad.reversed("pad_before_map")


@law("f : s -> t, c : s, x : n.s")
def map_before_pad_const() -> None:
    """x |> padConst(l, r, c) |> map(f) ~> x |> map(f) |> padConst(l, r, f(c))"""


@law("f : s -> t, x : n.s")
def map_before_pad_wrap() -> None:
    """x |> padWrap(l, r) |> map(f) ~> x |> map(f) |> padWrap(l, r)"""


pad_wrap_before_map = map_before_pad_wrap.reversed("pad_wrap_before_map")


@law("f : s -> t, x : n.s")
def map_before_pad_reflect() -> None:
    """x |> padReflect(l, r) |> map(f) ~> x |> map(f) |> padReflect(l, r)"""


pad_reflect_before_map = map_before_pad_reflect.reversed("pad_reflect_before_map")


@law("f : s -> t, x : n.s, indices : m.idx[n]")
def gather_before_map() -> None:
    """x |> map(f) |> gather(indices) ~> x |> gather(indices) |> map(f)"""


map_before_gather = gather_before_map.reversed("map_before_gather")


@law("f : s -> t, c : idx[n] -> idx[n], x : n.s")
def reorder_before_map() -> None:
    """x |> map(f) |> reorder(c) ~> x |> reorder(c) |> map(f)"""


map_before_reorder = reorder_before_map.reversed("map_before_reorder")


@law("f : s -> t, x : (k + n).s, i : idx[n + 1]")
def slice_before_map() -> None:
    """x |> map(f) |> sliceAt(k, i) ~> x |> sliceAt(k, i) |> map(f)"""


# Transposes, splits and joins


@law("x : n.(p * m).t")
def split_rows_before_transpose() -> None:
    """x |> transpose |> split(m)
    ~> x |> map(fun(row, row |> split(m))) |> transpose |> map(fun(rows, rows |> transpose))"""


transpose_before_split = split_rows_before_transpose.reversed("transpose_before_split")


@law("x : (n * m).p.t")
def transpose_before_split_rows() -> None:
    """x |> split(m) |> map(fun(rows, rows |> transpose))
    ~> x |> transpose |> map(fun(row, row |> split(m))) |> transpose"""


split_before_transpose_rows = transpose_before_split_rows.reversed("split_before_transpose_rows")


@law("x : n.m.p.t")
def transpose_before_join() -> None:
    """x |> join |> transpose
    ~> x |> map(fun(rows, rows |> transpose)) |> transpose |> map(fun(row, row |> join))"""


join_before_transpose = transpose_before_join.reversed("join_before_transpose")


@law("x : n.m.p.t")
def transpose_before_join_rows() -> None:
    """x |> map(fun(row, row |> join)) |> transpose
    ~> x |> transpose |> map(fun(rows, rows |> transpose)) |> join"""


join_rows_before_transpose = transpose_before_join_rows.reversed("join_rows_before_transpose")


@law("x : (n * k * m).t", choose="k")
def split_twice() -> None:
    """x |> split(m) |> split(k) ~> x |> split(k * m) |> map(fun(block, block |> split(m)))"""


@law("x : (n * k * m).t")
def split_blocks() -> None:
    """x |> split(k * m) |> map(fun(block, block |> split(m))) ~> x |> split(m) |> split(k)"""


@law("x : n.m.p.t")
def join_rows_first() -> None:
    """x |> join |> join ~> x |> map(fun(rows, rows |> join)) |> join"""


join_outer_first = join_rows_first.reversed("join_outer_first")


# Slides


@law("x : n.(sp * m + sz - sp).t")
def transpose_before_slide() -> None:
    """x |> map(fun(row, row |> slide(sz, sp))) |> transpose
    ~> x |> transpose |> slide(sz, sp) |> map(fun(window, window |> transpose))"""


slide_before_transpose = transpose_before_slide.reversed("slide_before_transpose")


@law("x : (k + n + sz - 1).t")
def take_before_slide() -> None:
    """x |> slide(sz, 1) |> take(k) ~> x |> take(k + sz - 1) |> slide(sz, 1)"""


@law("x : (k + n + sz - 1).t")
def drop_before_slide() -> None:
    """x |> slide(sz, 1) |> drop(k) ~> x |> drop(k) |> slide(sz, 1)"""


slide_before_drop = drop_before_slide.reversed("slide_before_drop")


@law("x : (n + k).t")
def windows_of_take() -> None:
    """x |> take(n)
    ~> x |> slide(k + 1, 1) |> map(fun(window, window |> at(0 |> clampIdx(k + 1))))"""


@law("x : (k + n).t")
def windows_of_drop() -> None:
    """x |> drop(k)
    ~> x |> slide(k + 1, 1) |> map(fun(window, window |> drop(k) |> at(0 |> clampIdx(1))))"""


@law("x : (k + n + l).t")
def windows_of_part() -> None:
    """x |> drop(k) |> take(n)
    ~> x |> slide(k + l + 1, 1)
      |> map(fun(window, window |> drop(k) |> at(0 |> clampIdx(l + 1))))"""


@law("x : (sp * n + k - sp + sz - 1).t")
def slide_of_slide() -> None:
    """x |> slide(sz, 1) |> slide(k, sp)
    ~> x |> slide(k + sz - 1, sp) |> map(fun(tile, tile |> slide(sz, 1)))

    A tile of windows is the windows of a tile that is larger by their border."""


@law("x : (sp * n + sz - sp).t")
def slide_before_reverse() -> None:
    """x |> reverse |> slide(sz, sp)
    ~> x |> slide(sz, sp) |> reverse |> map(fun(window, window |> reverse))"""


# Parts


@law("x : (k + l + n).t")
def take_of_take() -> None:
    """x |> take(k + l) |> take(k) ~> x |> take(k)"""


@law("x : (k + l + n).t")
def drop_of_drop() -> None:
    """x |> drop(k) |> drop(l) ~> x |> drop(k + l)"""


@law("x : (k + l + n).t")
def take_before_drop() -> None:
    """x |> drop(k) |> take(l) ~> x |> take(k + l) |> drop(k)"""


drop_before_take = take_before_drop.reversed("drop_before_take")


@law("x : (k + n).t")
def drop_before_reverse() -> None:
    """x |> reverse |> take(k) ~> x |> drop(n) |> reverse"""


@law("x : (k + n).t")
def take_before_reverse() -> None:
    """x |> reverse |> drop(k) ~> x |> take(n) |> reverse"""


@law("x : n.t, y : m.t, z : k.t")
def concat_right() -> None:
    """concat(concat(x, y), z) ~> concat(x, concat(y, z))"""


concat_left = concat_right.reversed("concat_left")


@law("x : n.m.t, y : p.m.t")
def join_of_concat() -> None:
    """concat(x, y) |> join ~> concat(x |> join, y |> join)"""


@law("x : n.t, y : m.t")
def reverse_of_concat() -> None:
    """concat(x, y) |> reverse ~> concat(y |> reverse, x |> reverse)"""


@law("x : n.m.t")
def reverse_before_join() -> None:
    """x |> join |> reverse ~> x |> reverse |> map(fun(row, row |> reverse)) |> join"""


@law("x : (n * m).t")
def split_before_reverse() -> None:
    """x |> reverse |> split(m)
    ~> x |> split(m) |> reverse |> map(fun(block, block |> reverse))"""


@law("x : n.m.t")
def reverse_before_transpose() -> None:
    """x |> transpose |> reverse ~> x |> map(fun(row, row |> reverse)) |> transpose"""


@law("x : n.t")
def pad_of_pad() -> None:
    """x |> pad(l, r) |> pad(k, m) ~> x |> pad(k + l, r + m)"""


@law("x : n.t")
def reverse_before_pad() -> None:
    """x |> pad(l, r) |> reverse ~> x |> reverse |> pad(r, l)"""


@law("c : t, x : n.t")
def pad_const_of_pad_const() -> None:
    """x |> padConst(l, r, c) |> padConst(k, m, c) ~> x |> padConst(k + l, r + m, c)"""


@law("x : n.t")
def drop_of_pad() -> None:
    """x |> pad(k + l, r) |> drop(k) ~> x |> pad(l, r)"""


# Pairs


@law("x : (n * m).s, y : (n * m).t")
def split_before_zip() -> None:
    """zip(x, y) |> split(m) ~> zip(x |> split(m), y |> split(m)) |> map(zip)"""


zip_before_split = split_before_zip.reversed("zip_before_split")


@law("x : n.m.s, y : n.m.t")
def zip_before_join() -> None:
    """zip(x |> join, y |> join) ~> zip(x, y) |> map(zip) |> join"""


join_before_zip = zip_before_join.reversed("join_before_zip")


@law("x : n.m.s, y : n.m.t")
def transpose_before_zip() -> None:
    """zip(x, y) |> map(zip) |> transpose ~> zip(x |> transpose, y |> transpose) |> map(zip)"""


zip_before_transpose = transpose_before_zip.reversed("zip_before_transpose")


@law("x : (sp * n + sz - sp).s, y : (sp * n + sz - sp).t")
def slide_before_zip() -> None:
    """zip(x, y) |> slide(sz, sp) ~> zip(x |> slide(sz, sp), y |> slide(sz, sp)) |> map(zip)"""


zip_before_slide = slide_before_zip.reversed("zip_before_slide")


@law("x : (k + n).s, y : (k + n).t")
def take_before_zip() -> None:
    """zip(x, y) |> take(k) ~> zip(x |> take(k), y |> take(k))"""


@law("x : (k + n).s, y : (k + n).t")
def drop_before_zip() -> None:
    """zip(x, y) |> drop(k) ~> zip(x |> drop(k), y |> drop(k))"""


@law("x : n.s, y : n.t")
def reverse_before_zip() -> None:
    """zip(x, y) |> reverse ~> zip(x |> reverse, y |> reverse)"""


@law("x : n.s, y : n.t")
def pad_before_zip() -> None:
    """zip(x, y) |> pad(l, r) ~> zip(x |> pad(l, r), y |> pad(l, r))"""


@law("x : n.s, y : n.t, c : s, d : t")
def pad_const_before_zip() -> None:
    """zip(x, y) |> padConst(l, r, (c, d)) ~> zip(x |> padConst(l, r, c), y |> padConst(l, r, d))"""


@law("x : n.s, y : n.t, indices : m.idx[n]")
def gather_before_zip() -> None:
    """zip(x, y) |> gather(indices) ~> zip(x |> gather(indices), y |> gather(indices))"""


@law("x : m.s, y : n.m.t")
def zip_first_before_transpose() -> None:
    """y |> map(fun(row, zip(x, row))) |> transpose
    ~> zip(x, y |> transpose) |> map(fun(p, snd(p) |> map(fun(e, (fst(p), e)))))"""


@law("x : n.m.s, y : m.t")
def zip_second_before_transpose() -> None:
    """x |> map(fun(row, zip(row, y))) |> transpose
    ~> zip(x |> transpose, y) |> map(fun(p, fst(p) |> map(fun(e, (e, snd(p))))))"""


@law("f : (s x t) -> u, x : n.s, y : n.t")
def zip_swapped() -> None:
    """zip(x, y) |> map(f) ~> zip(y, x) |> map(fun(p, f((snd(p), fst(p)))))"""


@law("f : u -> (s x t) -> u, a : u, x : n.s, y : n.t")
def reduce_of_zip_swapped() -> None:
    """zip(x, y) |> reduce(f, a)
    ~> zip(y, x) |> reduce(fun((acc, p), f(acc, (snd(p), fst(p)))), a)"""


@law("a : u, x : n.s")
def pairs_with_one() -> None:
    """zip(generate(fun(i : idx[n], a)), x) ~> x |> map(fun(e, (a, e)))"""
