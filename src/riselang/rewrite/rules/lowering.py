"""Laws that choose implementations: loops for patterns, and buffers for values."""

from __future__ import annotations

from riselang.rewrite.rule import Permission, law
from riselang.rewrite.side_conditions import neutral, regroups, scalar


@law("f : s -> t, x : n.s")
def map_as_loop() -> None:
    """x |> map(f) ~> x |> mapSeq(f)"""


@law("f : s -> t, x : n.s")
def map_in_parallel() -> None:
    """x |> map(f) ~> x |> mapPar(f)"""


parallel_as_map = map_in_parallel.reversed("parallel_as_map")


@law("f : s -> t, x : n.s")
def map_unrolled() -> None:
    """x |> map(f) ~> x |> mapSeqUnroll(f)"""


@law("f : s -> t, x : n.s")
def map_over_blocks() -> None:
    """x |> map(f) ~> x |> mapBlock(0, f)"""


@law("f : s -> t, x : n.s")
def map_over_rows_of_blocks() -> None:
    """x |> map(f) ~> x |> mapBlock(1, f)"""


@law("f : s -> t, x : n.s")
def map_over_threads() -> None:
    """x |> map(f) ~> x |> mapThread(0, f)"""


@law("f : s -> t, x : n.s")
def map_over_blocks_y() -> None:
    """x |> map(f) ~> x |> mapBlock(1, f)"""


@law("f : s -> t, x : n.s")
def map_over_blocks_z() -> None:
    """x |> map(f) ~> x |> mapBlock(2, f)"""


@law("f : s -> t, x : n.s")
def map_over_threads_y() -> None:
    """x |> map(f) ~> x |> mapThread(1, f)"""


@law("f : s -> t, x : n.s")
def map_over_threads_z() -> None:
    """x |> map(f) ~> x |> mapThread(2, f)"""


@law("f : s -> t, x : n.s")
def map_over_warps() -> None:
    """x |> map(f) ~> x |> mapWarp(f)"""


@law("f : s -> t, x : n.s")
def map_over_lanes() -> None:
    """x |> map(f) ~> x |> mapLane(f)"""


@law("f : t -> s -> t, a : t, x : n.s")
def reduce_as_loop() -> None:
    """x |> reduce(f, a) ~> x |> reduceSeq(f, a)"""


@law("f : t -> s -> t, a : t, x : n.s")
def reduce_unrolled() -> None:
    """x |> reduce(f, a) ~> x |> reduceSeqUnroll(f, a)"""


@law(
    "f : t -> t -> t, a : t, x : n.t", regroups("f"), neutral("a", "f"),
    permission=Permission.RELAXED,
)  # fmt: skip
def reduce_in_parallel() -> None:
    """x |> reduce(f, a) ~> x |> reducePar(f, a)"""


@law("f : t -> s -> t, a : t, x : n.s")
def scan_as_loop() -> None:
    """x |> scan(f, a) ~> x |> scanSeq(f, a)"""


@law("f : t -> t, a : t")
def iterate_as_loop() -> None:
    """a |> iterate(k, f) ~> a |> iterateSeq(k, f)"""


@law("x : n.t", choose="d")
def fetch_ahead() -> None:
    """x ~> x |> prefetch(d)"""


@law("x : n.t")
def store_nontemporal() -> None:
    """x ~> x |> nontemporal

    For arrays that are much larger than the caches, and are not read soon."""


@law("x : t")
def store_on_heap() -> None:
    """x ~> x |> toMem(heap)"""


not_stored = store_on_heap.reversed("not_stored")


@law("x : n.m.k.t")
def store_matrices_transposed() -> None:
    """x ~> x |> map(fun(a, a |> transpose)) |> toMem(heap) |> map(fun(a, a |> transpose))

    The columns of each matrix are contiguous in memory."""


@law("x : n.m.k.l.t")
def store_planes_last() -> None:
    """x ~> x |> map(fun(a, a |> transpose |> map(transpose))) |> toMem(heap)
      |> map(fun(a, a |> map(transpose) |> transpose))

    The elements of each array at a position of its planes are contiguous in memory."""


@law("x : t")
def store_on_stack() -> None:
    """x ~> x |> toMem(stack)"""


@law("x : t")
def store_in_registers() -> None:
    """x ~> x |> toMem(register)"""


@law("f : s -> t, x : n.s")
def store_elements() -> None:
    """x |> map(f) ~> x |> map(fun(e, let y = e |> toMem(stack); f(y)))

    Each element is copied to its own buffer before it is used."""


@law("x : n.m.p.t")
def pack_blocks() -> None:
    """x ~> x |> map(fun(block, block |> transpose)) |> toMem(heap)
      |> map(fun(block, block |> transpose))

    The blocks are contiguous in memory, each transposed."""


@law("x : n.(m * k).p.t", scalar("t"), choose="k")
def pack_vectors_of_blocks() -> None:
    """x ~> x |> map(fun(block, block |> transpose |> map(fun(row, row |> asVector(k)))))
      |> toMem(heap)
      |> map(fun(block, block |> map(fun(row, row |> asScalar)) |> transpose))

    The same, with the rows copied in vectors."""


@law("x : n.(m * k).(p * g).t", scalar("t"), choose="k g")
def pack_vectors_by_rows() -> None:
    """x ~> x |> map(fun(block,
        block |> transpose |> map(fun(row, row |> asVector(k))) |> split(g)))
      |> transpose |> map(fun(groups, groups |> mapSeq(fun(rows,
        rows |> map(fun(row, row |> map(fun(v, v))))))))
      |> transpose |> map(fun(groups, groups |> join)) |> toMem(heap)
      |> map(fun(block, block |> map(fun(row, row |> asScalar)) |> transpose))

    The same, a few rows of all blocks at a time: if the source is row-major, it is read
    contiguously."""


@law("x : n.(m * k).p.t", scalar("t"), choose="k")
def pack_vectors_of_each_block() -> None:
    """x ~> x |> map(fun(block, block |> transpose |> map(fun(row, row |> asVector(k)))
      |> toMem(heap) |> map(fun(row, row |> asScalar)) |> transpose))

    Each block is copied just before it is used, and stays in the L1 cache meanwhile."""


@law("x : (n * k).t", scalar("t"), choose="k")
def keep_in_vectors() -> None:
    """x ~> x |> asVector(k) |> toMem(register) |> asScalar

    Scalars that are read one at a time are loaded as a vector."""


@law("x : n.(m * k).t", scalar("t"), choose="k")
def copy_rows_in_vectors() -> None:
    """x ~> x |> mapSeq(fun(row, row |> asVector(k) |> mapSeqUnroll(fun(v, v)) |> asScalar))"""


@law("x : k.k.t", scalar("t"))
def transpose_in_registers() -> None:
    """x |> transpose
    ~> x |> map(fun(row, row |> asVector(k)))
      |> mapSeqUnroll(fun(row, row |> mapSeqUnroll(fun(v, v)))) |> toMem(register)
      |> map(fun(row, row |> asScalar)) |> transpose |> map(fun(column, column |> asVector(k)))
      |> mapSeqUnroll(fun(column, column |> mapSeqUnroll(fun(v, v))))
      |> map(fun(column, column |> asScalar))

    Rows are loaded in vectors, and columns stored in vectors."""


@law("f : s -> t, x : (n + sz - 1).s", choose="alloc")
def circular_buffer() -> None:
    """x |> map(f) |> slide(sz, 1) ~> x |> circularBuffer(alloc, sz, f)

    Each element is computed once, and stored while a window contains it."""


@law("x : (n + sz - 1).t", choose="alloc")
def circular_buffer_of_slide() -> None:
    """x |> slide(sz, 1) ~> x |> circularBuffer(alloc, sz, fun(e, e))"""


@law("f : t -> t, x : (n + sz - 1).t")
def rotate_mapped_values() -> None:
    """x |> map(f) |> slide(sz, 1) ~> x |> rotateValues(sz, f)"""


@law("x : (n + sz - 1).t")
def rotate_values() -> None:
    """x |> slide(sz, 1) ~> x |> rotateValues(sz, fun(e, e))"""
