"""Laws that distribute computations to the blocks, warps and lanes of a GPU."""

from __future__ import annotations

from riselang.rewrite.rule import Permission, law
from riselang.rewrite.side_conditions import neutral, not_empty, regroups, scalar


@law("f : s -> t -> u, x : (n * m).s, y : (p * k).t", choose="m k")
def tile_over_blocks() -> None:
    """x |> map(fun(a, y |> map(fun(b, f(a, b)))))
    ~> x |> split(m) |> mapBlock(1, fun(rows, y |> split(k) |> mapBlock(0, fun(columns,
        rows |> map(fun(a, columns |> map(fun(b, f(a, b)))))))
      |> transpose |> map(fun(row, row |> join)))) |> join

    Each block computes a tile of m x k elements."""


@law("f : s -> t -> u, x : (n * g * m).s, y : (p * k).t", choose="g m k")
def tile_over_groups_of_blocks() -> None:
    """x |> map(fun(a, y |> map(fun(b, f(a, b)))))
    ~> x |> split(m) |> split(g) |> mapBlock(2, fun(group, y |> split(k)
        |> mapBlock(1, fun(columns, group |> mapBlock(0, fun(rows,
          rows |> map(fun(a, columns |> map(fun(b, f(a, b))))))) |> join))
      |> transpose |> map(fun(row, row |> join)))) |> join

    Each block computes a tile of m x k elements. The g blocks of the same columns run at the same
    time, so that they share these columns in the cache."""


@law("f : s -> t -> u, x : (n * g * m).s, y : (p * k).t", choose="g m k")
def tile_over_all_blocks() -> None:
    """x |> map(fun(a, y |> map(fun(b, f(a, b)))))
    ~> x |> split(m) |> split(g)
      |> map(fun(group, y |> split(k)
        |> map(fun(columns, group |> map(fun(rows, (rows, columns))))))) |> join |> join
      |> mapBlock(0, fun(tile, fst(tile) |> map(fun(a, snd(tile) |> map(fun(b, f(a, b)))))))
      |> split(g) |> split(p)
      |> map(fun(group, group |> map(fun(tiles, tiles |> join))
        |> transpose |> map(fun(row, row |> join)))) |> join

    The same with the blocks in one dimension, so that a block can compute several tiles."""


@law(
    "f : t -> (s x u) -> t, a : t, "
    "x : (wr * tm * lr * 4).(n * k).s, y : (wc * tn * lc * 4).(n * k).u",
    choose="k wr tm lr wc tn lc",
)  # fmt: skip
def reduce_in_warp_tiles() -> None:
    """x |> map(fun(row, y |> map(fun(column, zip(row, column) |> reduce(f, a)))))
    ~> zip(x |> transpose |> split(k), y |> transpose |> split(k)) |> prefetch(1)
      |> reduceSeq(fun((sums, step),
        let rows = fst(step) |> toMem(stack);
        let columns = snd(step) |> toMem(stack);
        zip(rows |> transpose |> split(tm * lr * 4)
              |> map(fun(of_warp, of_warp |> split(4) |> split(lr) |> transpose
                |> map(fun(of_lane, of_lane |> join))))
              |> map(fun(of_rows, columns |> transpose |> split(tn * lc * 4)
                |> map(fun(of_warp, of_warp |> split(4) |> split(lc) |> transpose
                  |> map(fun(of_lane, of_lane |> join))))
                |> map(fun(of_columns, (of_rows, of_columns))))) |> join,
            sums)
          |> mapWarp(fun(warp,
            zip(fst(fst(warp)) |> map(fun(of_rows, snd(fst(warp))
                  |> map(fun(of_columns, (of_rows, of_columns))))) |> join,
                snd(warp))
              |> mapLane(fun(lane,
                zip(fst(fst(lane)) |> transpose, snd(fst(lane)) |> transpose)
                  |> reduceSeq(fun((tile, pair),
                    zip(fst(pair), tile) |> map(fun(p, zip(snd(pair), snd(p))
                      |> map(fun(q, f(snd(q), (fst(p), fst(q)))))))), snd(lane))))))),
        generate(fun(i : idx[wr * wc], generate(fun(j : idx[lr * lc],
          generate(fun(g : idx[tm * 4], generate(fun(h : idx[tn * 4], a))))))))
          |> mapWarp(fun(warp, warp |> mapLane(fun(tile, tile
            |> mapSeqUnroll(fun(sums, sums |> mapSeqUnroll(fun(sum, sum)))))))))
      |> mapWarp(fun(warp, warp |> mapLane(fun(tile, tile
        |> mapSeqUnroll(fun(sums, sums |> mapSeqUnroll(fun(sum, sum))))))))
      |> split(wc)
      |> map(fun(of_rows, of_rows
        |> map(fun(warp, warp |> split(lc)
          |> map(fun(lanes, lanes |> transpose
            |> map(fun(row, row |> map(fun(part, part |> split(4))) |> transpose |> join |> join))))
          |> map(fun(lanes, lanes |> split(4))) |> transpose |> join |> join))
        |> transpose |> map(fun(row, row |> join)))) |> join

    A block of wr x wc warps multiplies matrices, k products at a time, whose operands are copied to
    shared memory ahead of time. A warp has lr x lc lanes. Each lane has tm x tn squares of 4 x 4
    sums in registers, and the sums add in the order of the source."""


@law(
    "f : t -> t -> t, a : t, x : (n * q * k).t", regroups("f"), neutral("a", "f"),
    choose="q k", permission=Permission.RELAXED,
)  # fmt: skip
def reduce_by_threads() -> None:
    """x |> reduce(f, a)
    ~> x |> split(k) |> split(q) |> transpose
      |> mapThread(0, fun(groups, groups |> join |> reduce(f, a))) |> reduce(f, a)

    Each of q threads reduces every q-th group of k elements."""


@law(
    "f : t -> t -> t, a : t, x : (n * q).(m * k).t", regroups("f"), neutral("a", "f"),
    not_empty("q"), not_empty("k"),
    choose="q k", permission=Permission.RELAXED,
)  # fmt: skip
def reduce_columns_by_blocks() -> None:
    """x |> transpose |> map(fun(column, column |> reduce(f, a)))
    ~> x |> transpose |> split(k) |> mapBlock(0, fun(columns,
        let results = columns |> transpose |> split(n) |> mapThread(1, fun(rows,
          rows |> transpose |> map(fun(column, column |> reduce(f, a)))));
        results |> transpose |> mapThread(0, fun(column, column |> reduce(f, a))))) |> join

    A block reduces k columns: q rows of threads each reduce some rows, and the first row of threads
    reduces the results."""


@law(
    "f : t -> t -> t, a : t, x : (n * q * m).t", regroups("f"), neutral("a", "f"),
    not_empty("q"), not_empty("m"),
    choose="q m", permission=Permission.RELAXED,
)  # fmt: skip
def scan_by_threads() -> None:
    """x |> scan(f, a)
    ~> let sums = x |> split(m) |> mapThread(0, fun(part, part |> reduceSeq(f, a)))
          |> padConst(1, 0, a) |> take(n * q) |> mapThread(0, fun(sum, sum)) |> toMem(stack);
      let totals = sums |> split(q) |> mapThread(0, fun(part, part |> reduceSeq(f, a)))
          |> padConst(1, 0, a) |> take(n) |> scanSeq(f, a) |> toMem(stack);
      let starts = zip(totals, sums |> split(q))
          |> mapThread(0, fun(p, snd(p) |> scanSeq(f, fst(p)))) |> join |> toMem(stack);
      zip(starts, x |> split(m)) |> mapThread(0, fun(p, snd(p) |> scanSeq(f, fst(p)))) |> join

    Each thread reduces m elements, and then scans them from the reduction of all elements before
    them. Groups of q reductions are scanned in the same way."""


@law("f : t -> t -> t, a : t, x : n.t")
def scan_by_one_block() -> None:
    """x |> scan(f, a)
    ~> x |> split(n) |> mapBlock(0, fun(row, row |> scan(f, a))) |> join

    One block scans a short array."""


@law(
    "f : t -> t -> t, a : t, x : (n * p * q * m).t", regroups("f"), neutral("a", "f"),
    not_empty("p"), not_empty("q"), not_empty("m"),
    choose="p q m", permission=Permission.RELAXED,
)  # fmt: skip
def scan_by_blocks() -> None:
    """x |> scan(f, a)
    ~> zip(x |> split(p * q * m) |> mapBlock(0, fun(part, part |> reduce(f, a))) |> toMem(heap)
          |> padConst(1, 0, a) |> take(n) |> scan(f, a) |> toMem(heap),
        x |> split(p * q * m))
      |> mapBlock(0, fun(block,
        let sums = snd(block) |> split(m) |> mapThread(0, fun(part, part |> reduceSeq(f, a)))
            |> padConst(1, 0, a) |> take(p * q) |> mapThread(0, fun(sum, sum)) |> toMem(stack);
        let totals = sums |> split(q) |> mapThread(0, fun(part, part |> reduceSeq(f, a)))
            |> padConst(1, 0, a) |> take(p) |> scanSeq(f, fst(block)) |> toMem(stack);
        let starts = zip(totals, sums |> split(q))
            |> mapThread(0, fun(b, snd(b) |> scanSeq(f, fst(b)))) |> join |> toMem(stack);
        zip(starts, snd(block) |> split(m))
          |> mapThread(0, fun(b, snd(b) |> scanSeq(f, fst(b)))) |> join)) |> join

    Each block reduces p * q * m elements. In a later kernel, each block scans them as
    `scan_by_threads` does, from the reduction of all elements before them."""


@law(
    "f : t -> t -> t, a : t, x : (n * q).(m * k).t", regroups("f"), neutral("a", "f"),
    not_empty("q"), not_empty("k"),
    choose="q k", permission=Permission.RELAXED,
)  # fmt: skip
def scan_columns_by_blocks() -> None:
    """x |> transpose |> map(fun(column, column |> scan(f, a)))
    ~> x |> transpose |> split(k) |> mapBlock(0, fun(columns,
        let sums = columns |> transpose |> split(n) |> mapThread(1, fun(rows, rows |> transpose
          |> mapThread(0, fun(part, part |> reduceSeq(f, a))))) |> toMem(stack);
        let starts = sums |> transpose |> mapThread(0, fun(of_column, of_column
          |> padConst(1, 0, a) |> take(q) |> scanSeq(f, a))) |> toMem(stack);
        zip(starts |> transpose, columns |> transpose |> split(n))
          |> mapThread(1, fun(p, zip(fst(p), snd(p) |> transpose)
            |> mapThread(0, fun(c, snd(c) |> scanSeq(f, fst(c))))))
          |> transpose |> map(fun(column, column |> join)))) |> join

    A block scans k columns: q rows of threads each reduce some rows, and then scan them from the
    reductions of the rows above."""


@law("x : (n * q).(m * k).t", scalar("t"), choose="q k")
def copy_rows_by_warps() -> None:
    """x |> toMem(stack)
    ~> x |> map(fun(row, row |> asVector(k))) |> split(q) |> transpose
      |> mapWarp(fun(rows, rows |> transpose
        |> mapLane(fun(vectors, vectors |> mapSeqUnroll(fun(v, v)))) |> transpose))
      |> transpose |> join |> map(fun(row, row |> asScalar)) |> toMem(stack)

    Each of q warps copies some rows, in vectors."""


@law("x : (m * k).(n * q * p).t", scalar("t"), choose="q p k")
def copy_columns_by_warps() -> None:
    """x |> toMem(stack)
    ~> x |> transpose |> map(fun(column, column |> asVector(k))) |> split(p)
      |> map(fun(columns, columns |> join)) |> split(q) |> transpose
      |> mapWarp(fun(groups, groups |> transpose
        |> mapLane(fun(vectors, vectors |> mapSeqUnroll(fun(v, v)))) |> transpose))
      |> transpose |> join |> map(fun(columns, columns |> split(m))) |> join
      |> map(fun(column, column |> asScalar)) |> transpose |> toMem(stack)

    Each of q warps copies some groups of p columns, in vectors."""


@law("x : (n * p * q).(m * k * q).t", choose="p k q")
def transpose_by_blocks() -> None:
    """x |> transpose
    ~> x |> split(p * q) |> mapBlock(1, fun(rows, rows |> transpose
        |> split(k * q) |> mapBlock(0, fun(columns,
          let tile = columns |> transpose |> split(q) |> transpose
            |> mapThread(1, fun(part, part |> transpose
              |> mapThread(0, fun(e, e |> mapSeqUnroll(fun(y, y)))) |> transpose))
            |> transpose |> join |> toMem(stack);
          tile |> transpose |> split(q) |> transpose
            |> mapThread(1, fun(part, part |> transpose
              |> mapThread(0, fun(e, e |> mapSeqUnroll(fun(y, y)))) |> transpose))
            |> transpose |> join))
        |> join))
      |> transpose |> map(fun(row, row |> join))

    Each block copies a tile to shared memory, whose rows it reads and whose columns it writes, with
    q rows of threads."""
