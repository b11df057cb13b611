"""The laws and the example of each pattern in the reference.

Both are in notation. The tests evaluate both sides of every law with the interpreter, for random
sizes, functions and values, and every example with the interpreter and with the compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Law:
    """Two expressions with the same value, for all sizes, functions and arrays in them."""

    parameters: str
    """The free variables of both sides, as the parameters of a function in notation."""
    left: str
    right: str


@dataclass(frozen=True)
class Example:
    """An expression, values for its parameters, and its result."""

    parameters: str
    expression: str
    inputs: tuple[str, ...]
    """A literal for each parameter."""
    result: str


@dataclass(frozen=True)
class Reference:
    """The laws of a pattern, and an example."""

    laws: tuple[Law, ...]
    example: Example


REFERENCE: dict[str, Reference] = {}


def _describe(
    name: str, laws: Sequence[Law], parameters: str, expression: str, *inputs_and_result: str
) -> None:
    *inputs, result = inputs_and_result
    example = Example(parameters, expression, tuple(inputs), result)
    REFERENCE[name] = Reference(tuple(laws), example)


_F = "f : i32 -> i32"
_FOLD = "f : i64 -> i32 -> i64, a : i64"
_X = "x : n.i32"

# Loops

_describe(
    "map",
    [
        Law(f"{_F}, {_X}, i : idx[n]", "x |> map(f) |> at(i)", "f(x |> at(i))"),
        Law(f"{_F}, g : i32 -> i32, {_X}", "x |> map(f) |> map(g)", "x |> map(fun(e, g(f(e))))"),
    ],
    "x : 4.i32", "x |> map(fun(e, e * 10))", "[1, 2, 3, 4]", "[10, 20, 30, 40]",
)  # fmt: skip
_describe(
    "reduce",
    [
        Law(f"{_FOLD}, x : 0.i32", "x |> reduce(f, a)", "a"),
        Law(
            f"{_FOLD}, x : 1.i32", "x |> reduce(f, a)", "f(a, x |> at(clampIdx(1, 0)))"
        ),
        Law(
            f"{_FOLD}, x : n.i32, y : m.i32",
            "concat(x, y) |> reduce(f, a)", "y |> reduce(f, x |> reduce(f, a))",
        ),
    ],
    "x : 4.i32", "x |> reduce(fun((acc, e), acc * 10 + e), 0)", "[1, 2, 3, 4]", "1234",
)  # fmt: skip
_describe(
    "scan",
    [
        Law(
            f"{_FOLD}, x : (n + 1).i32",
            "x |> scan(f, a) |> reverse |> at(clampIdx(n + 1, 0))", "x |> reduce(f, a)",
        ),
        Law(
            f"{_FOLD}, x : (k + n).i32",
            "x |> scan(f, a) |> take(k)", "x |> take(k) |> scan(f, a)",
        ),
    ],
    "x : 4.i32", "x |> scan(add, 0)", "[1, 2, 3, 4]", "[1, 3, 6, 10]",
)  # fmt: skip
_describe(
    "generate",
    [Law("f : idx[n] -> i32, i : idx[n]", "generate(f) |> at(i)", "f(i)")],
    "x : i64", "generate(fun(i : idx[4], cast[i64](fromIdx(i)) * x))", "10", "[0, 10, 20, 30]",
)  # fmt: skip
_describe(
    "iterate",
    [
        Law(f"{_F}, a : i32", "a |> iterate(0, f)", "a"),
        Law(f"{_F}, a : i32", "a |> iterate(k + 1, f)", "f(a |> iterate(k, f))"),
    ],
    "a : i32", "a |> iterate(3, fun(e, e * 2))", "5", "40",
)  # fmt: skip
_describe(
    "while",
    [
        Law(
            "a : i32", "a |> while(fun(e, e > 9), fun(e, e // 2))",
            "if a > 9 then a // 2 |> while(fun(e, e > 9), fun(e, e // 2)) else a",
        ),
    ],
    "a : i32", "a |> while(fun(e, e < 100), fun(e, e * 2))", "7", "112",
)  # fmt: skip

# Views

_describe(
    "zip",
    [
        Law("x : n.i32, y : n.i64", "zip(x, y) |> map(fst)", "x"),
        Law("x : n.i32, y : n.i64", "zip(x, y) |> map(snd)", "y"),
    ],
    "x : 3.i32, y : 3.i32", "zip(x, y)", "[1, 2, 3]", "[4, 5, 6]", "[(1, 4), (2, 5), (3, 6)]",
)  # fmt: skip
_describe(
    "unzip",
    [
        Law("x : n.i32, y : n.i64", "zip(x, y) |> unzip", "(x, y)"),
        Law("p : n.(i32 x i64)", "zip(fst(unzip(p)), snd(unzip(p)))", "p"),
    ],
    "x : 3.i32", "x |> map(fun(e, (e, e * e))) |> unzip", "[1, 2, 3]", "([1, 2, 3], [1, 4, 9])",
)  # fmt: skip
_describe(
    "tuple",
    [Law("p : (i32 x i64)", "tuple(fst(p), snd(p))", "p")],
    "a : i32, b : i32", "tuple(a, b)", "1", "2", "(1, 2)",
)  # fmt: skip
_describe(
    "fst",
    [Law("a : i32, b : i64", "tuple(a, b) |> fst", "a")],
    "a : i32, b : i32", "(a, b) |> fst", "1", "2", "1",
)  # fmt: skip
_describe(
    "snd",
    [Law("a : i32, b : i64", "tuple(a, b) |> snd", "b")],
    "a : i32, b : i32", "(a, b) |> snd", "1", "2", "2",
)  # fmt: skip
_describe(
    "split",
    [
        Law("x : (n * m).i32", "x |> split(m) |> join", "x"),
        Law(
            f"{_F}, x : (n * m).i32", "x |> split(m) |> map(map(f)) |> join", "x |> map(f)"
        ),
    ],
    "x : 6.i32", "x |> split(2)", "[1, 2, 3, 4, 5, 6]", "[[1, 2], [3, 4], [5, 6]]",
)  # fmt: skip
_describe(
    "join",
    [
        Law("x : n.m.i32", "x |> join |> split(m)", "x"),
        Law(f"{_F}, x : n.m.i32", "x |> map(map(f)) |> join", "x |> join |> map(f)"),
    ],
    "x : 3.2.i32", "x |> join", "[[1, 2], [3, 4], [5, 6]]", "[1, 2, 3, 4, 5, 6]",
)  # fmt: skip
_describe(
    "transpose",
    [
        Law("x : n.m.i32", "x |> transpose |> transpose", "x"),
        Law(
            "x : n.m.i32, i : idx[n], j : idx[m]",
            "x |> transpose |> at(j) |> at(i)", "x |> at(i) |> at(j)",
        ),
    ],
    "x : 2.3.i32", "x |> transpose", "[[1, 2, 3], [4, 5, 6]]", "[[1, 4], [2, 5], [3, 6]]",
)  # fmt: skip
_describe(
    "slide",
    [
        Law(
            "x : (n + sz).i32, i : idx[n + 1]", "x |> slide(sz, 1) |> at(i)", "x |> sliceAt(sz, i)"
        ),
        Law("x : (n * m).i32", "x |> slide(m, m)", "x |> split(m)"),
    ],
    "x : 5.i32", "x |> slide(3, 1)", "[1, 2, 3, 4, 5]", "[[1, 2, 3], [2, 3, 4], [3, 4, 5]]",
)  # fmt: skip
_describe(
    "pad",
    [
        Law("x : (n + 1).i32", "x |> pad(l, r) |> drop(l) |> take(n + 1)", "x"),
        Law(
            "x : (n + 1).i32", "x |> pad(l, r) |> take(l)",
            "generate(fun(i : idx[l], x |> at(clampIdx(n + 1, 0))))",
        ),
        Law("x : (n + 1).i32", "x |> pad(l, r)", "x |> reverse |> pad(r, l) |> reverse"),
    ],
    "x : 3.i32", "x |> pad(1, 2)", "[1, 2, 3]", "[1, 1, 2, 3, 3, 3]",
)  # fmt: skip
_describe(
    "padConst",
    [
        Law(
            "c : i32, x : n.i32", "x |> padConst(l, r, c)",
            "concat(generate(fun(i : idx[l], c)), concat(x, generate(fun(i : idx[r], c))))",
        ),
    ],
    "x : 3.i32", "x |> padConst(1, 2, 0)", "[1, 2, 3]", "[0, 1, 2, 3, 0, 0]",
)  # fmt: skip
_describe(
    "padWrap",
    [
        Law(
            "x : (l + n + r).i32", "x |> padWrap(l, r)",
            "concat(x |> drop(n + r), concat(x, x |> take(r)))",
        ),
    ],
    "x : 3.i32", "x |> padWrap(1, 2)", "[1, 2, 3]", "[3, 1, 2, 3, 1, 2]",
)  # fmt: skip
_describe(
    "padReflect",
    [
        Law(
            "x : (l + n + r + 1).i32", "x |> padReflect(l, r)",
            "concat(x |> drop(1) |> take(l) |> reverse, "
            "concat(x, x |> drop(l + n) |> take(r) |> reverse))",
        ),
    ],
    "x : 3.i32", "x |> padReflect(1, 2)", "[1, 2, 3]", "[2, 1, 2, 3, 2, 1]",
)  # fmt: skip
_describe(
    "reverse",
    [
        Law(_X, "x |> reverse |> reverse", "x"),
        Law(
            "x : n.i32, y : m.i32", "concat(x, y) |> reverse",
            "concat(y |> reverse, x |> reverse)",
        ),
    ],
    "x : 4.i32", "x |> reverse", "[1, 2, 3, 4]", "[4, 3, 2, 1]",
)  # fmt: skip
_describe(
    "prefetch",
    [Law(_X, "x |> prefetch(d)", "x")],
    "x : 4.i32", "x |> prefetch(2) |> map(fun(e, e + 1))", "[1, 2, 3, 4]", "[2, 3, 4, 5]",
)  # fmt: skip
_describe(
    "nontemporal",
    [Law(_X, "x |> nontemporal", "x")],
    "x : 4.i32", "x |> map(fun(e, e + 1)) |> nontemporal", "[1, 2, 3, 4]", "[2, 3, 4, 5]",
)  # fmt: skip
_describe(
    "shard",
    [Law(_X, "x |> shard(0)", "x")],
    "x : 4.i32", "x |> shard(0) |> map(fun(e, e + 1))", "[1, 2, 3, 4]", "[2, 3, 4, 5]",
)  # fmt: skip
_describe(
    "take",
    [Law("x : k.i32, y : n.i32", "concat(x, y) |> take(k)", "x")],
    "x : 4.i32", "x |> take(3)", "[1, 2, 3, 4]", "[1, 2, 3]",
)  # fmt: skip
_describe(
    "drop",
    [Law("x : k.i32, y : n.i32", "concat(x, y) |> drop(k)", "y")],
    "x : 4.i32", "x |> drop(3)", "[1, 2, 3, 4]", "[4]",
)  # fmt: skip
_describe(
    "concat",
    [
        Law("x : (k + n).i32", "concat(x |> take(k), x |> drop(k))", "x"),
        Law(
            "x : n.i32, y : m.i32, z : k.i32", "concat(concat(x, y), z)", "concat(x, concat(y, z))"
        ),
    ],
    "x : 2.i32, y : 3.i32", "concat(x, y)", "[1, 2]", "[3, 4, 5]", "[1, 2, 3, 4, 5]",
)  # fmt: skip

# Indices

_describe(
    "at",
    [Law(_X, "generate(fun(i, x |> at(i)))", "x")],
    "x : 4.i32, i : idx[4]", "x |> at(i)", "[10, 20, 30, 40]", "2", "30",
)  # fmt: skip
_describe(
    "sliceAt",
    [
        Law(
            "x : (k + n).i32, i : idx[n + 1], j : idx[k]",
            "x |> sliceAt(k, i) |> at(j)", "x |> at(clampIdx(k + n, fromIdx(i) + fromIdx(j)))",
        ),
    ],
    "x : 5.i32, i : idx[4]", "x |> sliceAt(2, i)", "[10, 20, 30, 40, 50]", "3", "[40, 50]",
)  # fmt: skip
_describe(
    "updateAt",
    [
        Law(
            "x : (k + n).i32, y : k.i32, i : idx[n + 1]",
            "x |> updateAt(i, y) |> sliceAt(k, i)", "y",
        ),
        Law("x : (k + n).i32, i : idx[n + 1]", "x |> updateAt(i, x |> sliceAt(k, i))", "x"),
        Law(
            "x : (k + n).i32, y : k.i32, z : k.i32, i : idx[n + 1]",
            "x |> updateAt(i, y) |> updateAt(i, z)", "x |> updateAt(i, z)",
        ),
    ],
    "x : 4.i32, y : 2.i32, i : idx[3]", "x |> updateAt(i, y)",
    "[10, 20, 30, 40]", "[1, 2]", "1", "[10, 1, 2, 40]",
)  # fmt: skip
_describe(
    "gather",
    [
        Law(_X, "x |> gather(generate(fun(i, i)))", "x"),
        Law(
            "x : n.i32, indices : m.idx[n], i : idx[m]",
            "x |> gather(indices) |> at(i)", "x |> at(indices |> at(i))",
        ),
    ],
    "x : 4.i32, indices : 3.idx[4]", "x |> gather(indices)",
    "[10, 20, 30, 40]", "[3, 0, 3]", "[40, 10, 40]",
)  # fmt: skip
_describe(
    "reorder",
    [Law("f : idx[n] -> idx[n], x : n.i32", "x |> reorder(f)", "x |> gather(generate(f))")],
    "x : 4.i32", "x |> reorder(fun(i, clampIdx(4, 3 - fromIdx(i))))",
    "[1, 2, 3, 4]", "[4, 3, 2, 1]",
)  # fmt: skip
_describe(
    "scatter",
    [
        Law("x : n.i32, y : n.i32", "scatter(generate(fun(i, i)), x, y)", "y"),
        Law("x : n.i32, indices : m.idx[n]", "x |> gather(indices) |> scatter(indices, x)", "x"),
        Law(
            "x : n.i32, p : m.idx[n], q : k.idx[n], y : m.i32, z : k.i32",
            "scatter(concat(p, q), x, concat(y, z))", "scatter(q, scatter(p, x, y), z)",
        ),
    ],
    "x : 4.i32, indices : 3.idx[4], y : 3.i32", "scatter(indices, x, y)",
    "[0, 0, 0, 0]", "[3, 1, 3]", "[10, 20, 30]", "[0, 20, 0, 30]",
)  # fmt: skip
_describe(
    "scatterWith",
    [
        Law(
            "f : i32 -> i32 -> i32, x : n.i32, i : 1.idx[n], y : 1.i32",
            "scatterWith(f, i, x, y)",
            "scatter(i, x, zip(x |> gather(i), y) |> map(f))",
        ),
        Law(
            "f : i32 -> i32 -> i32, x : n.i32, p : m.idx[n], q : k.idx[n], y : m.i32, z : k.i32",
            "scatterWith(f, concat(p, q), x, concat(y, z))",
            "scatterWith(f, q, scatterWith(f, p, x, y), z)",
        ),
    ],
    "x : 4.i32, indices : 3.idx[4], y : 3.i32", "scatterWith(add, indices, x, y)",
    "[0, 0, 0, 0]", "[3, 1, 3]", "[10, 20, 30]", "[0, 20, 0, 40]",
)  # fmt: skip
_describe(
    "clampIdx",
    [
        Law("i : idx[n]", "i |> fromIdx |> clampIdx(n)", "i"),
        Law("a : index", "a |> clampIdx(5) |> fromIdx", "min(max(a, 0), 4)"),
    ],
    "x : 4.i32", "x |> map(clampIdx(3))", "[-7, 0, 2, 9]", "[0, 0, 2, 2]",
)  # fmt: skip
_describe(
    "checkIdx",
    [Law("i : idx[n]", "i |> fromIdx |> checkIdx(n)", "i")],
    "x : 3.i32", "x |> map(checkIdx(3))", "[0, 2, 1]", "[0, 2, 1]",
)  # fmt: skip
_describe(
    "fromIdx",
    [Law("i : idx[n]", "i |> fromIdx |> clampIdx(n)", "i")],
    "i : idx[4]", "fromIdx(i) * 10", "3", "30",
)  # fmt: skip
_describe(
    "sizeOf",
    [
        Law("x : n.i32, y : m.i32", "sizeOf(concat(x, y))", "sizeOf(x) + sizeOf(y)"),
        Law(f"{_F}, {_X}", "x |> map(f) |> sizeOf", "sizeOf(x)"),
    ],
    "x : 4.i64", "(x |> reduce(add, 0)) // cast[i64](sizeOf(x))", "[1, 2, 3, 6]", "3",
)  # fmt: skip
_describe(
    "ifAtLeast",
    [
        Law("a : i32", "ifAtLeast(n, k, fun(size, a), fun(size, a))", "a"),
        Law(
            "f : index -> i32, g : index -> i32, x : (n + k).i32",
            "ifAtLeast(n + k, k, f, g)", "f(sizeOf(x))",
        ),
    ],
    "x : 3.i32",
    "ifAtLeast(3, 4, fun(size, x), fun(size, x |> map(fun(e, e + cast[i32](size)))))",
    "[1, 2, 3]", "[4, 5, 6]",
)  # fmt: skip

# Other values

_describe(
    "let",
    [Law(f"{_F}, a : i32", "let b = a; f(b)", "f(a)")],
    "a : i32", "let b = a + 1; b * b", "4", "25",
)  # fmt: skip
_LESS = "fun((a, b), a < b)"
_describe(
    "sort",
    [
        Law(_X, f"x |> reverse |> sort({_LESS})", f"x |> sort({_LESS})"),
        Law(
            "x : (n + 1).i32", f"x |> sort({_LESS}) |> at(clampIdx(n + 1, 0))",
            "x |> reduce(min, x |> at(clampIdx(n + 1, 0)))",
        ),
        Law(_X, f"x |> sort({_LESS}) |> reduce(add, 0)", "x |> reduce(add, 0)"),
        Law(_X, "x |> sort(fun((a, b), false))", "x"),
    ],
    "x : 4.i32", f"x |> sort({_LESS})", "[3, 1, 4, 1]", "[1, 1, 3, 4]",
)  # fmt: skip
_describe(
    "toMem",
    [Law(_X, "x |> toMem(heap)", "x")],
    "x : 3.i32", "x |> map(fun(e, e * e)) |> toMem(stack) |> reverse", "[1, 2, 3]", "[9, 4, 1]",
)  # fmt: skip
_describe(
    "reducePar",
    [Law(_X, "x |> reducePar(add, 0)", "x |> reduce(add, 0)")],
    "x : 4.i32", "x |> reducePar(add, 0)", "[1, 2, 3, 4]", "10",
)  # fmt: skip

# Vectors

_describe(
    "asVector",
    [Law("x : (n * k).i32", "x |> asVector(k) |> asScalar", "x")],
    "x : 4.i32", "x |> asVector(2)", "[1, 2, 3, 4]", "[[1, 2], [3, 4]]",
)  # fmt: skip
_describe(
    "asScalar",
    [Law("x : n.vec[k, i32]", "x |> asScalar |> asVector(k)", "x")],
    "x : 4.i32", "x |> asVector(2) |> reverse |> asScalar", "[1, 2, 3, 4]", "[3, 4, 1, 2]",
)  # fmt: skip
_describe(
    "vectorFromScalar",
    [
        Law(
            _X, "x |> map(vectorFromScalar(k)) |> asScalar",
            "x |> map(fun(e, generate(fun(i : idx[k], e)))) |> join",
        ),
    ],
    "a : i32", "a |> vectorFromScalar(3)", "7", "[7, 7, 7]",
)  # fmt: skip

# Low-level patterns, which compute the same values as others and specify the implementation

_WINDOWS = "f : i32 -> i32, x : (n + sz - 1).i32"
_describe(
    "circularBuffer",
    [Law(_WINDOWS, "x |> circularBuffer(k, sz, f)", "x |> map(f) |> slide(sz, 1)")],
    "x : 4.i32", "x |> circularBuffer(3, 3, fun(e, e * 10))",
    "[1, 2, 3, 4]", "[[10, 20, 30], [20, 30, 40]]",
)  # fmt: skip
_describe(
    "rotateValues",
    [Law(_WINDOWS, "x |> rotateValues(sz, f)", "x |> map(f) |> slide(sz, 1)")],
    "x : 4.i32", "x |> rotateValues(3, fun(e, e))",
    "[1, 2, 3, 4]", "[[1, 2, 3], [2, 3, 4]]",
)  # fmt: skip
_describe(
    "mma",
    [
        Law(
            "f : i32 -> (i32 x i32) -> i32, a : i32, "
            "x : m.(k * h * g).i32, y : n.(k * h * g).i32",
            "mma(g, h, f, a, x |> map(fun(r, r |> split(h * g))) |> transpose, "
            "y |> transpose |> split(g) |> map(fun(r, r |> transpose |> join)))",
            "x |> map(fun(row, y |> map(fun(column, zip(row, column) |> reduce(f, a)))))",
        ),
    ],
    "x : 1.1.4.i32, y : 2.4.i32", "mma(2, 2, fun((a, p), a + fst(p) * snd(p)), 0, x, y)",
    "[[[1, 2, 3, 4]]]", "[[1, 1, 10, 10], [1, 1, 10, 10]]", "[[10, 100]]",
)  # fmt: skip


_describe(
    "tensorMMA",
    [
        Law(
            "f : i32 -> (i32 x i32) -> i32, a : i32, "
            "x : (wr * tm * 16).k.i32, y : (tn * 8).k.i32",
            "tensorMMA(p, q, wr, 1, tm, tn, f, a, x, y) "
            "|> map(fun(warp, warp |> split(4) |> map(fun(lanes, lanes "
            "|> map(fun(sums, sums |> split(2) |> split(2) |> split(tn))) |> transpose "
            "|> map(fun(tiles, tiles |> transpose |> map(fun(halves, halves |> transpose)) "
            "|> transpose |> map(fun(row, row |> join |> join)))))) "
            "|> transpose |> map(fun(tiles, tiles |> transpose |> join)) |> join)) |> join",
            "x |> map(fun(row, y |> map(fun(column, zip(row, column) |> reduce(f, a)))))",
        ),
    ],
    "x : 16.1.i32, y : 8.1.i32",
    "tensorMMA(16, 2, 1, 1, 1, 1, fun((a, p), a + fst(p) * snd(p)), 0, x, y) "
    "|> map(fun(warp, warp |> take(5) |> map(fun(sums, sums |> take(2)))))",
    str([[number] for number in range(16)]), str([[number] for number in range(8)]),
    "[[[0, 0], [0, 0], [0, 0], [0, 0], [0, 1]]]",
)  # fmt: skip


_describe(
    "tensorAttention",
    [
        Law(
            "c : f32, e : f32, x : (wr * 16).k.f32, y : n.k.f32, z : n.8.f32",
            "tensorAttention(p, q, wr, 1, 1, c, e, sizeOf(y), x, y, z)",
            "tensorAttention(1, 1, wr, 1, 1, c, e, sizeOf(y), x, y, z)",
        ),
    ],
    "x : 16.1.f32, y : 2.1.f32, z : 2.8.f32",
    "tensorAttention(16, 2, 1, 1, 1, 1.0, 0.0, sizeOf(y), x, y, z) "
    "|> map(fun(warp, warp |> take(2) |> map(fun(results, results |> take(2)))))",
    str([[0.0]] * 16), "[[1.0], [2.0]]",
    str([[float(2 * number + first) for number in range(8)] for first in (1, 3)]),
    "[[[2.0, 4.0], [6.0, 8.0]]]",
)  # fmt: skip


for _call in (
    "mapSeq(", "mapPar(", "mapSeqUnroll(", "mapBlock(0, ", "mapThread(0, ", "mapWarp(", "mapLane(",
    "mapRank(0, ",
):  # fmt: skip
    _describe(
        _call.partition("(")[0],
        [Law(f"{_F}, {_X}", f"x |> {_call}f)", "x |> map(f)")],
        "x : 3.i32", f"x |> {_call}fun(e, e + 1))", "[1, 2, 3]", "[2, 3, 4]",
    )  # fmt: skip
_describe(
    "mapLaneExchange",
    [
        Law(
            "f : i32 -> m.q.i32, x : (l * q).i32", "x |> mapLaneExchange(q, f)",
            "x |> map(f) |> split(q) |> map(fun(lanes, lanes |> transpose "
            "|> map(fun(rows, rows |> transpose)) |> transpose)) |> join",
        ),
    ],
    "x : 2.1.2.i32", "x |> mapLaneExchange(2, fun(e, e))",
    "[[[1, 2]], [[3, 4]]]", "[[[1, 3]], [[2, 4]]]",
)  # fmt: skip
for _call in ("reduceSeq(", "reduceSeqUnroll(", "reduceRank(0, "):
    _describe(
        _call.partition("(")[0],
        [Law(f"{_FOLD}, {_X}", f"x |> {_call}f, a)", "x |> reduce(f, a)")],
        "x : 3.i32", f"x |> {_call}max, 0)", "[3, 7, 5]", "7",
    )  # fmt: skip
_describe(
    "scanSeq",
    [Law(f"{_FOLD}, {_X}", "x |> scanSeq(f, a)", "x |> scan(f, a)")],
    "x : 4.i32", "x |> scanSeq(max, 0)", "[3, 7, 5, 9]", "[3, 7, 7, 9]",
)  # fmt: skip
_describe(
    "iterateSeq",
    [Law(f"{_F}, a : i32", "a |> iterateSeq(k, f)", "a |> iterate(k, f)")],
    "x : 3.i32", "x |> iterateSeq(4, fun(y, y |> map(fun(e, e * 2))))", "[1, 2, 3]", "[16, 32, 48]",
)  # fmt: skip
