"""The functions a user writes: every pattern, scalar functions, and 2D helpers.

Many names here hide Python's own on purpose, so this module holds nothing but definitions.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from riselang.dialects.rise.types import ScalarType
from riselang.dsl.functions import helper, pattern_function, scalar_function
from riselang.dsl.locations import user_location
from riselang.dsl.values import Value, as_node, convert, select
from riselang.errors import UserError
from riselang.term.scalars import OVERLOADS

map = pattern_function("map")
map_seq = pattern_function("mapSeq")
map_par = pattern_function("mapPar")
reduce = pattern_function("reduce")
reduce_seq = pattern_function("reduceSeq")
zip = pattern_function("zip")
unzip = pattern_function("unzip")
tuple = pattern_function("tuple")
fst = pattern_function("fst")
snd = pattern_function("snd")
split = pattern_function("split")
join = pattern_function("join")
transpose = pattern_function("transpose")
slide = pattern_function("slide")
pad = pattern_function("pad")
scan = pattern_function("scan")
reverse = pattern_function("reverse")
pad_const = pattern_function("padConst")
pad_wrap = pattern_function("padWrap")
pad_reflect = pattern_function("padReflect")
prefetch = pattern_function("prefetch")
take = pattern_function("take")
drop = pattern_function("drop")
concat = pattern_function("concat")
at = pattern_function("at")
slice_at = pattern_function("sliceAt")
update_at = pattern_function("updateAt")
gather = pattern_function("gather")
reorder = pattern_function("reorder")
scatter = pattern_function("scatter")
scatter_with = pattern_function("scatterWith")
generate = pattern_function("generate")
iterate = pattern_function("iterate")
while_ = pattern_function("while")
sort = pattern_function("sort")
clamp_idx = pattern_function("clampIdx")
check_idx = pattern_function("checkIdx")
from_idx = pattern_function("fromIdx")
size_of = pattern_function("sizeOf")
map_seq_unroll = pattern_function("mapSeqUnroll")
reduce_seq_unroll = pattern_function("reduceSeqUnroll")
scan_seq = pattern_function("scanSeq")
iterate_seq = pattern_function("iterateSeq")
reduce_par = pattern_function("reducePar")
to_mem = pattern_function("toMem")
as_vector = pattern_function("asVector")
as_scalar = pattern_function("asScalar")
vector_from_scalar = pattern_function("vectorFromScalar")
circular_buffer = pattern_function("circularBuffer")
rotate_values = pattern_function("rotateValues")
map_block = pattern_function("mapBlock")
map_thread = pattern_function("mapThread")
map_warp = pattern_function("mapWarp")
map_lane = pattern_function("mapLane")

add, sub, mult, div = (scalar_function(name) for name in ("add", "sub", "mult", "div"))
max, min, abs = (scalar_function(name) for name in ("max", "min", "abs"))
math = SimpleNamespace(
    **{
        name: scalar_function(name)
        for name, (on_floats, _) in OVERLOADS.items()
        if on_floats is not None and on_floats.startswith("math.")
    }
)


def where(condition: Any, chosen: Any, other: Any) -> Value:
    """`chosen` where the condition holds, else `other`; three scalars, or three vectors."""
    return select(condition, chosen, other)


def cast(value: Any, type: ScalarType) -> Value:
    """The scalar `value` as another scalar type; of a vector, each of its lanes."""
    if not isinstance(type, ScalarType):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserError(
            f"cast: expected a scalar type such as rl.f32, but found {type!r}", user_location()
        )
    return convert(value, type)


def literal(number: float, type: ScalarType) -> Value:
    """A number of a given type, where its place does not tell the type."""
    if not isinstance(type, ScalarType):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserError(
            f"literal: expected a scalar type such as rl.f32, but found {type!r}", user_location()
        )
    return Value(as_node(number, type))


@helper(2)
def map2d(function: Any, xss: Any) -> Value:
    """`map` over both dimensions."""
    return map(map(function), xss)


@helper(2)
def map_seq2d(function: Any, xss: Any) -> Value:
    """`mapSeq` over both dimensions."""
    return map_seq(map_seq(function), xss)


@helper(2)
def zip2d(xss: Any, yss: Any) -> Value:
    """`zip` over both dimensions."""
    return map(zip, zip(xss, yss))


@helper(3)
def slide2d(size: Any, step: Any, xss: Any) -> Value:
    """Square windows: `n.m.t -> n'.m'.size.size.t`."""
    return map(transpose, slide(size, step, map(slide(size, step), xss)))


@helper(3)
def pad2d(before: Any, after: Any, xss: Any) -> Value:
    """`pad` on both dimensions."""
    return pad(before, after, map(pad(before, after), xss))
