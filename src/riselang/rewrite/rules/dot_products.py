"""Laws that compute tiles of a matrix multiplication with `mma`, and pack its columns for it."""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import FST, SND
from riselang.dialects.rise.types import TupleType, components, is_float
from riselang.rewrite.core import Setting
from riselang.rewrite.eta import drop_lambda, mentions
from riselang.rewrite.law_matching import Match, NoMatch
from riselang.rewrite.rule import Bindings, Condition, Permission, Unmet, law, rule
from riselang.rewrite.rules.functions import abstract_over_part
from riselang.rewrite.side_conditions import may_reorder, relaxed, scalar
from riselang.rewrite.term_parts import abstract_over, move_outside, pattern_arguments
from riselang.term.multiply_add import is_multiply_add
from riselang.term.nodes import Apply, Bound, Lambda, Pattern, Term, scalar_type
from riselang.term.substitution import shift


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


MAX_BYTE_PRODUCTS = (1 << 31) // (255 * 255)
"""The number of products of bytes, less their zero points, whose sum is less than 2^31."""


def fits_in_i32(length: str) -> Condition:
    """A condition: a sum of so many products of bytes does not wrap."""

    def check(match: Match, setting: Setting) -> None:
        size = match.size(length)
        if not size.is_constant or size.constant > MAX_BYTE_PRODUCTS:
            raise Unmet(f"sums of {size} products of bytes may be larger than 2^31")

    return Condition(f"{length} is at most {MAX_BYTE_PRODUCTS}", check)


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


@law("x : n.i8, y : n.i8, a : i32")
def widen_bytes() -> None:
    """zip(x, y) |> reduce(fun((sum, p), sum + cast[i32](fst(p)) * cast[i32](snd(p))), a)
    ~> zip(x |> map(fun(e, cast[i16](e))), y |> map(fun(e, cast[i16](e))))
      |> reduce(fun((sum, p), sum + cast[i32](fst(p)) * cast[i32](snd(p))), a)

    CPUs without an instruction for dot products of bytes have one for numbers of 16 bits. Unlike
    `vpmaddubsw`, which saturates sums of two products at 16 bits, it is exact."""


@law("x : n.i8, y : n.i8, a : i32, b : i32")
def zero_points_after_products() -> None:
    """zip(x, y)
      |> reduce(fun((sum, p), sum + (cast[i32](fst(p)) - a) * (cast[i32](snd(p)) - b)), 0)
    ~> (zip(x, y) |> reduce(fun((sum, p), sum + cast[i32](fst(p)) * cast[i32](snd(p))), 0))
      - a * (y |> reduce(fun((sum, e), sum + (cast[i32](e) - b)), 0))
      - b * (x |> reduce(fun((sum, e), sum + cast[i32](e)), 0))

    Integers wrap, so that this holds for all of them. Products of bytes have instructions, and the
    other sums are of one operand. The ONNX front end applies it to quantized matrices."""


@law(
    "x : n.i8, y : n.i8, c : f32, d : f32", relaxed(), fits_in_i32("n"),
    permission=Permission.RELAXED,
)  # fmt: skip
def scales_after_products() -> None:
    """zip(x, y) |> reduce(fun((sum, p),
      fma(cast[f32](fst(p)) * c, cast[f32](snd(p)) * d, sum)), 0.0)
    ~> cast[f32](zip(x, y)
      |> reduce(fun((sum, p), sum + cast[i32](fst(p)) * cast[i32](snd(p))), 0)) * (c * d)

    The dot product of dequantized vectors is computed with integers, and scaled once. The ONNX
    front end applies it to quantized matrices."""


@rule("c : s -> t, f : k.t -> u, x : n.k.s")
def map_rows_first(term: Term) -> Bindings:
    """x |> map(fun(row, f(row |> map(c)))) ~> x |> map(fun(row, row |> map(c))) |> map(f)"""
    function, rows = _map_parts(term)
    row = Bound(0, function.parameter)
    converted = _converted(function.body, row)
    conversion = move_outside(converted.conversion, 1)
    assert conversion is not None
    consumer = abstract_over_part(function.body, converted.part, 0)
    return {"c": conversion, "f": Lambda("row", converted.part.type, consumer), "x": rows}


@rule("c : s -> t, f : k.t -> v -> u, x : n.k.s, y : n.v")
def map_paired_rows_first(term: Term) -> Bindings:
    """zip(x, y) |> map(fun(p, f(fst(p) |> map(c), snd(p))))
    ~> zip(x |> map(fun(row, row |> map(c))), y) |> map(fun(p, f(fst(p), snd(p))))"""
    function, pairs = _map_parts(term)
    zipped = pattern_arguments(pairs, "zip")
    if zipped is None or not isinstance(function.parameter, TupleType):
        raise NoMatch("expected pairs of rows and operands")
    pair, parts = Bound(0, function.parameter), components(function.parameter)
    first, second = (Apply(Pattern(spec, parts), pair) for spec in (FST, SND))
    converted = _converted(function.body, first)
    conversion = move_outside(converted.conversion, 1)
    assert conversion is not None
    inner = abstract_over(abstract_over(function.body, converted.part), shift(second, 1))
    if mentions(inner, 2):
        raise NoMatch("the row is also used elsewhere")
    body = Lambda("row", converted.part.type, Lambda("e", second.type, drop_lambda(inner, 2)))
    return {"c": conversion, "f": body, "x": zipped[0], "y": zipped[1]}


def _map_parts(term: Term) -> tuple[Lambda, Term]:
    arguments = pattern_arguments(term, "map", "mapPar")
    if arguments is None or not isinstance(arguments[0], Lambda):
        raise NoMatch("expected a map")
    return arguments[0], arguments[1]


@dataclass(frozen=True)
class _Converted:
    """A row of which all elements are converted, as seen from its function."""

    part: Term
    conversion: Term


def _converted(body: Term, row: Term) -> _Converted:
    """Find the map of a function without free variables over a row, also under lambdas."""
    stack = [(body, 0)]
    while stack:
        part, depth = stack.pop()
        arguments = pattern_arguments(part, "map")
        if arguments is not None and arguments[1] == shift(row, depth):
            outside = move_outside(part, depth)
            if outside is not None and not mentions(arguments[0], depth):
                function = move_outside(arguments[0], depth)
                assert function is not None
                return _Converted(outside, function)
        inner = depth + isinstance(part, Lambda)
        stack += [(child, inner) for child in part.children]
    raise NoMatch("no row is converted")
