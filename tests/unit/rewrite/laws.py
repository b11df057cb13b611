"""Laws in notation: parameters, and two expressions over them; `s`, `t` and `u` are data types."""

from __future__ import annotations

import pytest
from _pytest.mark.structures import ParameterSet

from riselang.notation.program import parse_term
from riselang.rewrite.proving import Condition, Verdict, prove
from riselang.term.nodes import Term

Law = tuple[str, str, str]


def side(parameters: str, expression: str) -> Term:
    types = "".join(f"depFun({name} : data => " for name in "stu")
    return parse_term(f"{types}fun(({parameters}), {expression}))))")


PATIENT_MS = 20_000
"""For what is known to be proved, on a machine however busy."""


def verdict(law: Law, *assumptions: str, timeout_ms: int = 2_000) -> Verdict:
    parameters, left, right = law
    conditions = [Condition.parse(text) for text in assumptions]
    return prove(side(parameters, left), side(parameters, right), conditions, timeout_ms)


def named(laws: list[Law]) -> list[ParameterSet]:
    """Cases for a test, each of which is called by its law."""
    return [pytest.param(law, id=f"{law[1]} = {law[2]}") for law in laws]


_F = "f : s -> t"
_G = "f : s -> t, g : t -> u"
_FOLD = "f : t -> s -> t, a : t"

MAPS: list[Law] = [
    ("x : n.t", "x |> map(fun(e, e))", "x"),
    (f"{_G}, x : n.s", "x |> map(f) |> map(g)", "x |> map(fun(e, g(f(e))))"),
    (f"{_F}, x : n.s, i : idx[n]", "x |> map(f) |> at(i)", "f(x |> at(i))"),
    (f"{_F}, x : n.s", "x |> mapSeq(f)", "x |> map(f)"),
    (f"{_F}, x : n.s", "x |> mapPar(f)", "x |> mapSeqUnroll(f)"),
    (f"{_F}, x : n.s", "x |> mapBlock(0, f)", "x |> mapThread(1, f)"),
    (f"{_F}, x : n.s", "x |> mapWarp(f)", "x |> mapLane(f)"),
    (f"{_F}, x : n.s", "x |> mapRank(0, f)", "x |> map(f)"),
    (f"{_F}, x : (n * m).s", "x |> map(f)", "x |> split(m) |> map(map(f)) |> join"),
    (f"{_F}, x : (n * m).s", "x |> split(m) |> map(map(f))", "x |> map(f) |> split(m)"),
    (f"{_F}, x : n.m.s", "x |> map(map(f)) |> join", "x |> join |> map(f)"),
    (f"{_F}, x : n.m.s", "x |> map(map(f)) |> transpose", "x |> transpose |> map(map(f))"),
    (f"{_F}, x : n.s", "x |> reverse |> map(f)", "x |> map(f) |> reverse"),
    (f"{_F}, x : (k + n).s", "x |> take(k) |> map(f)", "x |> map(f) |> take(k)"),
    (f"{_F}, x : (k + n).s", "x |> drop(k) |> map(f)", "x |> map(f) |> drop(k)"),
    (
        f"{_F}, x : n.s, y : m.s",
        "concat(x, y) |> map(f)", "concat(x |> map(f), y |> map(f))",
    ),
    (
        f"{_F}, x : (sp * n + sz - sp).s",
        "x |> slide(sz, sp) |> map(map(f))", "x |> map(f) |> slide(sz, sp)",
    ),
    (f"{_F}, x : n.s", "x |> pad(l, r) |> map(f)", "x |> map(f) |> pad(l, r)"),
    (f"{_F}, x : n.s", "x |> padWrap(l, r) |> map(f)", "x |> map(f) |> padWrap(l, r)"),
    (f"{_F}, x : n.s", "x |> padReflect(l, r) |> map(f)", "x |> map(f) |> padReflect(l, r)"),
    (
        f"{_F}, c : s, x : n.s",
        "x |> padConst(l, r, c) |> map(f)", "x |> map(f) |> padConst(l, r, f(c))",
    ),
    (
        f"{_F}, x : n.s, indices : m.idx[n]",
        "x |> gather(indices) |> map(f)", "x |> map(f) |> gather(indices)",
    ),
    ("f : n.s -> m.t, x : k.n.s", "x |> map(f) |> join", "x |> map(fun(row, f(row))) |> join"),
    (
        "f : m.s -> t, x : (n * m).s",
        "x |> split(m) |> map(fun(row, f(row |> map(fun(e, e)))))", "x |> split(m) |> map(f)",
    ),
    ("f : s -> t -> u, x : n.s, y : n.t", "zip(x, y) |> map(f)",
     "zip(x, y) |> map(fun(p, f(fst(p), snd(p))))"),
    (f"{_F}, x : n.m.s, y : k.u", "x |> map(fun(row, y |> map(fun(e, row))))",
     "y |> map(fun(e, x)) |> transpose"),
]  # fmt: skip

SHAPES: list[Law] = [
    ("x : (n * m).t",
     "x |> split(m) |> map(reverse) |> join |> split(n) |> reverse |> join "
     "|> split(n) |> reverse |> join |> split(m) |> map(reverse) |> join", "x"),
    ("x : (n * m).t", "x |> split(m) |> transpose |> join |> split(n) |> transpose |> join", "x"),
    ("x : (n * m).t", "x |> split(m) |> transpose |> join |> reverse",
     "x |> reverse |> split(m) |> transpose |> join"),
    ("x : (n * m * k).t",
     "x |> split(m * k) |> transpose |> join |> split(k * n) |> transpose |> join",
     "x |> split(k) |> transpose |> join"),
    ("x : (n * m * k * l).t", "x |> split(l) |> split(k) |> split(m)",
     "x |> split(m * k * l) |> map(split(k * l)) |> map(map(split(l)))"),
    ("x : (n * m).t", "x |> split(m) |> join |> split(n) |> join |> split(m)", "x |> split(m)"),
    ("x : (n * m).t", "x |> split(m) |> join", "x"),
    ("x : n.m.t", "x |> join |> split(m)", "x"),
    ("x : n.m.t", "x |> transpose |> transpose", "x"),
    ("x : n.m.k.t", "x |> join |> join", "x |> map(join) |> join"),
    ("x : (n * m * k).t", "x |> split(k) |> split(m)", "x |> split(m * k) |> map(split(k))"),
    ("x : (n * m * k).t", "x |> split(m * k) |> map(split(k)) |> join", "x |> split(k)"),
    ("x : (n * 4).t", "x |> split(4) |> join", "x"),
    ("x : (n * 4).t", "x |> split(2) |> split(2)", "x |> split(4) |> map(split(2))"),
    ("x : (n * m).k.t", "x |> transpose |> map(split(m))",
     "x |> split(m) |> map(transpose) |> transpose"),
    ("x : n.(m * k).t", "x |> map(split(k)) |> transpose",
     "x |> transpose |> split(k) |> map(transpose)"),
    ("x : n.m.k.t", "x |> map(transpose) |> transpose |> map(transpose)",
     "x |> transpose |> map(transpose) |> transpose"),
    ("x : n.m.k.t", "x |> map(join) |> transpose", "x |> transpose |> map(transpose) |> join"),
    ("x : n.m.k.t", "x |> join |> transpose", "x |> map(transpose) |> transpose |> map(join)"),
    ("x : n.m.k.t", "x |> transpose |> join |> transpose",
     "x |> map(transpose) |> map(transpose) |> transpose |> join |> transpose"),
    ("x : (n * m).(k * l).t",
     "x |> split(m) |> map(transpose) |> map(split(l)) |> map(map(transpose))",
     "x |> map(split(l)) |> split(m) |> map(transpose)"),
    ("x : n.m.t", "x |> join |> reverse", "x |> reverse |> map(reverse) |> join"),
    ("x : (n * m).t", "x |> reverse |> split(m)", "x |> split(m) |> reverse |> map(reverse)"),
    ("x : n.m.t", "x |> reverse |> transpose", "x |> transpose |> map(reverse)"),
    ("x : (n * m).t", "x |> split(m) |> transpose |> transpose |> join", "x"),
    ("x : (n * k).t", "x |> asVector(k) |> asScalar", "x"),
    ("x : n.vec[k, t]", "x |> asScalar |> asVector(k)", "x"),
    ("x : (n * m * k).t", "x |> asVector(k) |> split(m) |> map(asScalar) |> join", "x"),
    ("x : (n * m * k).t", "x |> split(m * k) |> map(asVector(k)) |> join", "x |> asVector(k)"),
    ("x : n.t", "x |> map(vectorFromScalar(k)) |> asScalar",
     "x |> map(fun(e, generate(fun(i : idx[k], e)))) |> join"),
]  # fmt: skip

ENDS: list[Law] = [
    ("x : n.t", "x |> reverse |> reverse", "x"),
    ("x : n.t, y : m.t", "concat(x, y) |> reverse", "concat(y |> reverse, x |> reverse)"),
    ("x : k.t, y : n.t", "concat(x, y) |> take(k)", "x"),
    ("x : k.t, y : n.t", "concat(x, y) |> drop(k)", "y"),
    ("x : (k + n).t", "concat(x |> take(k), x |> drop(k))", "x"),
    ("x : n.t, y : m.t, z : k.t", "concat(concat(x, y), z)", "concat(x, concat(y, z))"),
    ("x : (k + l + n).t", "x |> drop(k) |> drop(l)", "x |> drop(k + l)"),
    ("x : (k + l + n).t", "x |> take(k + l) |> take(k)", "x |> take(k)"),
    ("x : (k + l + n).t", "x |> drop(k) |> take(l)", "x |> take(k + l) |> drop(k)"),
    ("x : (k + n).t", "x |> reverse |> take(n)", "x |> drop(k) |> reverse"),
    ("x : (k + n).t", "x |> reverse |> drop(n)", "x |> take(k) |> reverse"),
    ("x : n.t", "x |> take(n)", "x"),
    ("x : n.t", "x |> drop(0)", "x"),
    ("x : n.m.t, y : k.m.t", "concat(x, y) |> transpose",
     "zip(x |> transpose, y |> transpose) |> map(fun(p, concat(fst(p), snd(p))))"),
    ("x : n.m.t, y : k.m.t", "concat(x, y) |> join", "concat(x |> join, y |> join)"),
    ("x : (n * m).t, y : (k * m).t", "concat(x, y) |> split(m)",
     "concat(x |> split(m), y |> split(m))"),
    ("x : (n * m).t", "x |> split(m) |> take(k) |> join", "x |> take(k * m)"),
    ("x : (n * m).t", "x |> split(m) |> drop(k) |> join", "x |> drop(k * m)"),
    ("x : n.s, y : n.t", "zip(x, y) |> reverse", "zip(x |> reverse, y |> reverse)"),
    ("x : (n * m).s, y : (n * m).t", "zip(x, y) |> split(m)",
     "zip(x |> split(m), y |> split(m)) |> map(fun(p, zip(fst(p), snd(p))))"),
    ("x : n.s, y : n.t", "zip(x, y) |> map(fst)", "x"),
    ("x : n.s, y : n.t", "zip(x, y) |> unzip", "(x, y)"),
    ("p : n.(s x t)", "zip(fst(unzip(p)), snd(unzip(p)))", "p"),
    ("p : (s x t)", "tuple(fst(p), snd(p))", "p"),
    ("x : n.s, y : n.t", "zip(x, y) |> map(fun(p, (snd(p), fst(p))))", "zip(y, x)"),
    ("x : n.t", "let y = x; y |> reverse", "x |> toMem(heap) |> reverse"),
]  # fmt: skip

WINDOWS: list[Law] = [
    ("x : n.t", "x |> padWrap(l, r) |> padWrap(l, r) |> drop(l) |> take(l + n + r)",
     "x |> padWrap(l, r)"),
    ("x : (n + k + m).t", "x |> slide(m + k, 1) |> map(slide(k + 1, 1))",
     "x |> slide(k + 1, 1) |> slide(m, 1)"),
    ("x : (sp * n + sz - sp).t", "x |> slide(sz, sp) |> map(reverse) |> reverse",
     "x |> reverse |> slide(sz, sp)"),
    ("x : (n * m + sz - 1).t", "x |> slide(m + sz - 1, m) |> map(take(m)) |> join",
     "x |> take(n * m)"),
    ("x : n.t", "x |> padReflect(l, r) |> drop(l) |> take(n) |> padReflect(l, r)",
     "x |> padReflect(l, r)"),
    ("x : (n * m).t", "x |> slide(m, m)", "x |> split(m)"),
    ("x : n.t", "x |> slide(1, 1) |> join", "x"),
    ("x : (n + sz).t, i : idx[n + 1]", "x |> slide(sz, 1) |> at(i)", "x |> sliceAt(sz, i)"),
    (f"{_F}, x : (n + sz - 1).s", "x |> circularBuffer(k, sz, f)", "x |> map(f) |> slide(sz, 1)"),
    ("f : t -> t, x : (n + sz - 1).t", "x |> rotateValues(sz, f)", "x |> map(f) |> slide(sz, 1)"),
    ("x : (n * m + sz - 1).t", "x |> slide(sz, 1)",
     "x |> slide(m + sz - 1, m) |> map(slide(sz, 1)) |> join"),
    ("x : (sp * (n * m) + sz - sp).t", "x |> slide(sz, sp)",
     "x |> slide(sp * m + sz - sp, sp * m) |> map(slide(sz, sp)) |> join"),
    ("x : (n + sz - 1).m.t", "x |> slide(sz, 1) |> map(transpose)",
     "x |> transpose |> map(slide(sz, 1)) |> transpose"),
    ("x : (n + sz - 1).(m + sz - 1).t",
     "x |> map(slide(sz, 1)) |> slide(sz, 1) |> map(transpose)",
     "x |> slide(sz, 1) |> map(fun(rows, rows |> transpose |> slide(sz, 1) |> map(transpose)))"),
    ("x : (n + sz - 1).t", "x |> reverse |> slide(sz, 1)",
     "x |> slide(sz, 1) |> reverse |> map(reverse)"),
    ("x : (n + k + sz - 1).t", "x |> slide(sz, 1) |> drop(k)", "x |> drop(k) |> slide(sz, 1)"),
    ("x : (n + k + sz - 1).t", "x |> slide(sz, 1) |> take(n)",
     "x |> take(n + sz - 1) |> slide(sz, 1)"),
    ("x : n.t", "x |> pad(l, r)", "x |> reverse |> pad(r, l) |> reverse"),
    ("x : n.t", "x |> pad(l, r) |> drop(l) |> take(n)", "x"),
    ("x : n.t", "x |> pad(l, r) |> pad(k, m)", "x |> pad(k + l, r + m)"),
    ("x : n.t", "x |> pad(0, 0)", "x"),
    ("c : t, x : n.t", "x |> padConst(l, r, c) |> padConst(k, m, c)",
     "x |> padConst(k + l, r + m, c)"),
    ("c : t, x : n.t", "x |> padConst(l, r, c)",
     "concat(generate(fun(i : idx[l], c)), concat(x, generate(fun(i : idx[r], c))))"),
    ("c : t, x : n.t", "x |> reverse |> padConst(l, r, c)", "x |> padConst(r, l, c) |> reverse"),
    ("x : (l + n + r).t", "x |> padWrap(l, r)",
     "concat(x |> drop(n + r), concat(x, x |> take(r)))"),
    ("x : n.t", "x |> reverse |> padWrap(l, r)", "x |> padWrap(r, l) |> reverse"),
    ("x : n.t", "x |> padWrap(n, n)", "concat(x, concat(x, x))"),
    ("x : n.t", "x |> reverse |> padReflect(l, r)", "x |> padReflect(r, l) |> reverse"),
    ("x : (l + n + r + 1).t", "x |> padReflect(l, r)",
     "concat(x |> drop(1) |> take(l) |> reverse, "
     "concat(x, x |> drop(l + n) |> take(r) |> reverse))"),
    ("x : n.m.t", "x |> map(pad(l, r)) |> transpose", "x |> transpose |> pad(l, r)"),
    ("x : n.m.t", "x |> pad(l, l) |> map(pad(r, r))", "x |> map(pad(r, r)) |> pad(l, l)"),
]  # fmt: skip

INDICES: list[Law] = [
    ("x : n.t", "generate(fun(i, x |> at(i)))", "x"),
    ("x : n.t", "x |> gather(generate(fun(i, i)))", "x"),
    ("x : n.t, p : m.idx[n], q : k.idx[m]", "x |> gather(p) |> gather(q)",
     "x |> gather(p |> gather(q))"),
    ("f : idx[n] -> idx[n], x : n.t", "x |> reorder(f)", "x |> gather(generate(f))"),
    ("f : idx[n] -> idx[n], g : idx[n] -> idx[n], x : n.t", "x |> reorder(f) |> reorder(g)",
     "x |> reorder(fun(i, f(g(i))))"),
    ("x : n.t", "x |> reorder(fun(i, clampIdx(n, sizeOf(x) - 1 - fromIdx(i))))", "x |> reverse"),
    ("x : n.m.t, i : idx[n], j : idx[m]", "x |> transpose |> at(j) |> at(i)",
     "x |> at(i) |> at(j)"),
    ("x : n.m.t, i : idx[m]", "x |> transpose |> at(i)", "x |> map(at(i))"),
    ("x : n.t, y : n.t, i : idx[n]", "zip(x, y) |> at(i)", "(x |> at(i), y |> at(i))"),
    ("x : (k + n).t, i : idx[n + 1], j : idx[k]", "x |> sliceAt(k, i) |> at(j)",
     "x |> at(clampIdx(k + n, fromIdx(i) + fromIdx(j)))"),
    ("x : (k + n).t, y : k.t, i : idx[n + 1]", "x |> updateAt(i, y) |> sliceAt(k, i)", "y"),
    ("x : (k + n).t, i : idx[n + 1]", "x |> updateAt(i, x |> sliceAt(k, i))", "x"),
    ("x : n.i32, y : m.i32", "concat(x, y)",
     "generate(fun(i : idx[n + m], if fromIdx(i) < sizeOf(x) then x |> at(clampIdx(n, fromIdx(i)))"
     " else y |> at(clampIdx(m, fromIdx(i) - sizeOf(x)))))"),
    ("x : (k + n).i32, y : k.i32, i : idx[n + 1]", "x |> updateAt(i, y)",
     "generate(fun(j : idx[k + n], if fromIdx(j) < fromIdx(i) then x |> at(j) else "
     "if fromIdx(j) < fromIdx(i) + sizeOf(y) then "
     "y |> at(clampIdx(k, fromIdx(j) - fromIdx(i))) else x |> at(j)))"),
    ("i : idx[n]", "i |> fromIdx |> clampIdx(n)", "i"),
    ("x : n.i32, y : m.i32", "sizeOf(concat(x, y))", "sizeOf(x) + sizeOf(y)"),
    ("x : n.t, p : m.idx[n], q : k.idx[n], y : m.t, z : k.t",
     "scatter(concat(p, q), x, concat(y, z))", "scatter(q, scatter(p, x, y), z)"),
]  # fmt: skip

FOLDS: list[Law] = [
    (f"{_FOLD}, x : 0.s", "x |> reduce(f, a)", "a"),
    (f"{_FOLD}, x : n.s", "x |> reduceSeq(f, a)", "x |> reduceSeqUnroll(f, a)"),
    (f"{_FOLD}, g : u -> s, x : n.u", "x |> map(g) |> reduce(f, a)",
     "x |> reduce(fun((b, e), f(b, g(e))), a)"),
    (f"{_FOLD}, x : n.s, y : m.s", "concat(x, y) |> reduce(f, a)",
     "y |> reduce(f, x |> reduce(f, a))"),
    (f"{_FOLD}, x : (n * m).s", "x |> reduce(f, a)",
     "x |> split(m) |> reduce(fun((b, row), row |> reduce(f, b)), a)"),
    (f"{_FOLD}, x : (n * 4).s", "x |> reduce(f, a)",
     "x |> split(4) |> reduce(fun((b, row), row |> reduce(f, b)), a)"),
    (f"{_FOLD}, x : n.m.s", "x |> join |> reduce(f, a)",
     "x |> reduce(fun((b, row), row |> reduce(f, b)), a)"),
    (f"{_FOLD}, x : n.m.k.s", "x |> join |> join |> reduce(f, a)",
     "x |> reduce(fun((b, y), y |> reduce(fun((c, z), z |> reduce(f, c)), b)), a)"),
    (f"{_FOLD}, x : (k + n).s", "x |> scan(f, a) |> take(k)", "x |> take(k) |> scan(f, a)"),
    (f"{_FOLD}, x : (n + 1).s", "x |> scan(f, a) |> reverse |> at(clampIdx(n + 1, 0))",
     "x |> reduce(f, a)"),
    (f"{_FOLD}, x : 2.s", "x |> reduce(f, a)",
     "f(f(a, x |> at(clampIdx(2, 0))), x |> at(clampIdx(2, 1)))"),
    (f"{_FOLD}, x : n.m.s", "x |> map(reduce(f, a)) |> reverse",
     "x |> reverse |> map(reduce(f, a))"),
    ("f : t -> t -> s -> t, a : t, x : n.m.s",
     "x |> reduce(fun((b, row), row |> reduce(fun((c, e), f(b, c, e)), b)), a)",
     "x |> reverse |> reverse "
     "|> reduce(fun((b, row), row |> reduce(fun((c, e), f(b, c, e)), b)), a)"),
    ("f : t -> t, a : t", "a |> iterate(k + 1, f)", "f(a |> iterate(k, f))"),
    ("f : t -> t, a : t", "a |> iterate(k + m, f)", "a |> iterate(k, f) |> iterate(m, f)"),
    ("f : t -> t, a : t", "a |> iterate(k * m, f)", "a |> iterate(k, fun(b, b |> iterate(m, f)))"),
    ("x : n.f32, y : n.f32", "zip(x, y) |> map(mult) |> reduce(add, 0.0)",
     "zip(x, y) |> reduce(fun((a, p), a + fst(p) * snd(p)), 0.0)"),
]  # fmt: skip

CHECKED: list[Law] = [
    ("x : (n * m).t",
     "x |> split(m) |> map(reverse) |> join |> split(n) |> map(reverse) |> join "
     "|> split(n) |> map(reverse) |> join |> split(m) |> map(reverse) |> join", "x"),
    ("x : n.t, y : n.t", "scatter(generate(fun(i, i)), x, y)", "y"),
    ("x : n.t", "x |> sort(fun((a, b), false))", "x"),
    (f"{_FOLD}, x : (n + 1).s", "x |> reduce(f, a)",
     "x |> drop(1) |> reduce(f, f(a, x |> at(clampIdx(n + 1, 0))))"),
    (f"{_FOLD}, x : (2 * n).s", "x |> reduce(f, a)",
     "x |> split(2) "
     "|> reduce(fun((b, p), f(f(b, p |> at(clampIdx(2, 0))), p |> at(clampIdx(2, 1)))), a)"),
]  # fmt: skip

WRONG: list[Law] = [
    ("x : (n * m).t", "x |> split(m) |> transpose |> join", "x"),
    ("x : (n * m).t", "x |> split(m) |> transpose |> join", "x |> split(n) |> transpose |> join"),
    ("x : (n * m).t", "x |> split(n) |> transpose", "x |> split(m)"),
    ("x : n.n.t", "x |> transpose", "x"),
    ("x : (n * m * k).t", "x |> split(m) |> split(k) |> map(join)",
     "x |> split(k * m) |> map(reverse)"),
    ("x : (n * m * m).t", "x |> split(m) |> split(m)",
     "x |> split(m) |> split(m) |> map(transpose)"),
    ("x : n.m.m.t", "x |> map(transpose)", "x"),
    ("x : n.n.n.t", "x |> transpose |> map(transpose)", "x |> map(transpose) |> transpose"),
    ("x : n.m.t", "x |> join |> reverse", "x |> reverse |> join"),
    ("x : n.m.t", "x |> join |> reverse", "x |> map(reverse) |> join"),
    ("x : (n * m).t", "x |> reverse |> split(m)", "x |> split(m) |> reverse"),
    ("x : n.t", "x |> reverse", "x"),
    ("x : n.t, y : n.t", "concat(x, y)", "concat(y, x)"),
    ("x : n.t, y : m.t", "concat(x, y) |> reverse",
     "concat(x |> reverse, y |> reverse) |> reverse"),
    ("x : (k + k).t", "x |> take(k)", "x |> drop(k)"),
    ("x : (k + n).t", "x |> reverse |> take(k)", "x |> take(k) |> reverse"),
    ("x : (k + n).t", "x |> reverse |> drop(k)", "x |> drop(k) |> reverse"),
    ("x : (k + l + n).t", "x |> drop(k) |> take(l)", "x |> take(k + l) |> take(l)"),
    ("x : (n + 2).t", "x |> slide(2, 1) |> drop(1)", "x |> take(n + 1) |> slide(2, 1)"),
    ("x : (n + sz - 1).t", "x |> slide(sz, 1)", "x |> slide(sz, 1) |> map(reverse)"),
    ("x : (n + sz - 1).t", "x |> reverse |> slide(sz, 1)", "x |> slide(sz, 1) |> reverse"),
    ("x : (2 * n + 1).t", "x |> slide(3, 2) |> map(take(1)) |> join", "x |> take(n)"),
    ("x : n.t", "x |> pad(l, r) |> take(n)", "x"),
    ("x : n.t", "x |> pad(l, r)", "x |> reverse |> pad(l, r) |> reverse"),
    ("x : n.t", "x |> pad(l, l)", "x |> padWrap(l, l)"),
    ("x : n.t", "x |> pad(l, r)", "x |> padReflect(l, r)"),
    ("c : t, x : n.t", "x |> padConst(l, r, c)", "x |> pad(l, r)"),
    ("c : t, d : t, x : n.t", "x |> padConst(l, r, c) |> padConst(k, m, d)",
     "x |> padConst(k + l, r + m, c)"),
    ("x : n.t", "x |> padWrap(l, l) |> padWrap(l, l)", "x |> padWrap(l + l, l + l)"),
    ("x : n.t", "x |> padReflect(l, l) |> padReflect(k, k)", "x |> padReflect(k + l, k + l)"),
    # These differ only in the last row, or at the end of each.
    ("x : n.m.t", "x |> map(fun(row, row |> take(m - 1) |> pad(0, 1))) |> join", "x |> join"),
    ("x : n.m.t", "x |> take(n - 1) |> pad(0, 1) |> join", "x |> join"),
    ("x : n.m.t", "x |> map(fun(row, row |> take(m - 1) |> pad(0, 1))) |> join |> drop(k)",
     "x |> join |> drop(k)"),
    ("x : n.m.t", "x |> map(fun(row, row |> drop(1) |> pad(1, 0))) |> join |> drop(k)",
     "x |> join |> drop(k)"),
    ("x : n.m.t", "x |> drop(1) |> pad(1, 0) |> join", "x |> join"),
    ("x : n.m.t", "x |> join |> drop(1)",
     "x |> map(fun(row, row |> drop(1) |> pad(0, 1))) |> join |> take(n * m - 1)"),
    ("x : n.t", "x |> map(fun(e, generate(fun(i : idx[m], e)))) |> join |> drop(1)",
     "x |> map(fun(e, generate(fun(i : idx[m], e)))) |> join |> take(n * m - 1)"),
    ("f : t -> t, x : n.t", "x |> map(f)", "x"),
    ("f : t -> t, g : t -> t, x : n.t", "x |> map(f) |> map(g)", "x |> map(g) |> map(f)"),
    ("x : n.t, y : n.t", "zip(x, y) |> map(fst)", "zip(x, y) |> map(snd)"),
    ("x : n.t, p : m.idx[n], q : m.idx[n]", "x |> gather(p)", "x |> gather(q)"),
    ("x : n.t, p : n.idx[n], q : n.idx[n]", "x |> gather(p) |> gather(q)",
     "x |> gather(q) |> gather(p)"),
    ("x : n.t, y : k.t, z : k.t, i : idx[n - k + 1]", "x |> updateAt(i, y) |> updateAt(i, z)",
     "x |> updateAt(i, y)"),
    (f"{_FOLD}, x : n.s", "x |> reduce(f, a)", "x |> reverse |> reduce(f, a)"),
    (f"{_FOLD}, x : n.s", "x |> scan(f, a)", "x |> reverse |> scan(f, a) |> reverse"),
    (f"{_FOLD}, x : n.s", "x |> scan(f, a)", "x |> map(fun(e, x |> reduce(f, a)))"),
    (f"{_FOLD}, b : t, x : n.s", "x |> reduce(f, a)", "x |> reduce(f, b)"),
    (f"{_FOLD}, x : (k + n).s", "x |> reduce(f, a)", "x |> take(k) |> reduce(f, a)"),
    # The inner reduction still knows what the outer one had before the row.
    ("f : t -> t -> s -> t, a : t, x : n.m.s",
     "x |> reduce(fun((b, row), row |> reduce(fun((c, e), f(b, c, e)), b)), a)",
     "x |> join |> reduce(fun((c, e), f(c, c, e)), a)"),
    ("x : n.t, y : m.t, p : m.idx[n]", "scatter(p, x, y)", "scatter(p, x, y) |> reverse"),
    ("x : n.t, p : m.idx[n]", "x |> gather(p)", "x |> gather(p |> reverse)"),
    ("f : t -> t, a : t", "a |> iterate(k, f)", "a |> iterate(k + 1, f)"),
    ("x : n.f32", "x |> reduce(add, 0.0)", "x |> reduce(mult, 0.0)"),
    ("x : n.f32, y : n.f32", "zip(x, y) |> map(sub)", "zip(y, x) |> map(sub)"),
]  # fmt: skip
