"""Operands of matrix multiplications on tensor cores: how their elements are stored.

Tensor cores read tiles of matrices in which the elements of rows, or those of columns, are
contiguous. An operand may be a view of a stored array, whose strides follow from those of the
array. Other operands are copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import gcd

from riselang.dialects.rise.types import ArrayType, FunType, RiseType, ScalarType
from riselang.rewrite.core import Path, Strategy
from riselang.rewrite.rules.tensor_cores import store_rows_aligned
from riselang.rewrite.strategies.epilogues import reduction_in
from riselang.rewrite.strategies.matmul_shapes import bytes_of, length_of
from riselang.rewrite.term_parts import pattern_arguments
from riselang.term.nodes import Bound, Lambda, Pattern, Term, apply_all, spine

ROW_BYTES, SHORT_BYTES, SECTOR_BYTES = 16, 2, 32
"""The number of bytes of which the rows of a matrix must be a multiple, and the size of the
elements of which rows or columns may be contiguous."""


@dataclass(frozen=True)
class Strided:
    """A part of a stored array: the distances of its elements in each dimension."""

    strides: tuple[int, ...]
    lengths: tuple[int, ...]
    pieces: tuple[int, ...]
    """For each dimension, the number of consecutive elements that are in one dimension of the
    stored array."""
    loops: Mapping[int, tuple[int, int]]
    """The distance that each loop around adds, and its piece, by the number of the loop."""
    source: Path = ()
    """The path of the zipped array that it is a part of."""
    stored: tuple[int, ...] = ()
    """The distances of elements of the stored array."""


@dataclass(frozen=True)
class Pair:
    """Two values; if they are arrays, an array of pairs."""

    first: Layout
    second: Layout


Layout = Strided | Pair | None
"""How a value is stored; None if it is not known, or computed."""
Scope = tuple[Layout, ...]
"""The layouts of the variables, the innermost last. Outer variables are stored arrays."""


def stored_layout(type: RiseType) -> Layout:
    """Return the layout of a stored array."""
    lengths: list[int] = []
    while isinstance(type, ArrayType):
        if not type.length.is_constant:
            return None
        lengths.append(type.length.constant)
        type = type.element
    strides = [1]
    for length in reversed(lengths[1:]):
        strides.insert(0, strides[0] * length)
    distances = tuple(strides[: len(lengths)])
    return Strided(distances, tuple(lengths), tuple(lengths), {}, stored=distances)


def layout_of(term: Term, scope: Scope = ()) -> Layout:
    """Return how the elements of a view are stored."""
    if isinstance(term, Bound):
        is_local = term.index < len(scope)
        return scope[-1 - term.index] if is_local else stored_layout(term.type)
    head, arguments = spine(term)
    if not isinstance(head, Pattern):
        return None
    match head.spec.name, arguments:
        case "toMem", [_]:
            return stored_layout(term.type)
        case (("zip" | "tuple"), [first, second]):
            return Pair(layout_of(first, scope), layout_of(second, scope))
        case ("fst" | "snd") as name, [pair]:
            layout = layout_of(pair, scope)
            if not isinstance(layout, Pair):
                return None
            return layout.first if name == "fst" else layout.second
        case "map", [function, xs]:
            loop = len(scope)
            element = _element(layout_of(xs, scope), loop)
            return _in_loop(_applied(function, element, scope), loop, term.type)
        case "at", [index, xs]:
            return _element(layout_of(xs, scope), _selected(index))
        case _, [*_, xs] if head.spec.name in VIEWS:
            return _view(head.spec.name, layout_of(xs, scope), term.type)
        case _:
            return None


def _selected(index: Term) -> int:
    """Return a number of a loop for the element that an index selects, which no loop has."""
    return -1 - hash(index) % (1 << 30)


VIEWS = ("transpose", "split", "join", "take", "drop")


def _applied(function: Term, element: Layout, scope: Scope) -> Layout:
    """Return the layout of the result of a function."""
    if isinstance(function, Lambda):
        return layout_of(function.body, (*scope, element))
    assert isinstance(function.type, FunType)
    result = apply_all(function, [Bound(0, function.type.input)])
    return layout_of(result, (*scope, element))


def _element(layout: Layout, loop: int) -> Layout:
    """Return the layout of the element of an array that a loop is at."""
    match layout:
        case Pair():
            return Pair(_element(layout.first, loop), _element(layout.second, loop))
        case Strided() if layout.strides:
            loops = {**layout.loops, loop: (layout.strides[0], layout.pieces[0])}
            return Strided(
                layout.strides[1:], layout.lengths[1:], layout.pieces[1:], loops, layout.source,
                layout.stored,
            )  # fmt: skip
        case _:
            return None


def element_layout(arrays: Term, path: Path = ()) -> Layout:
    """Return the layout of the element of zipped arrays at a path that the outermost loop is at."""
    return _element(_with_sources(arrays, path), 0)


def _with_sources(arrays: Term, path: Path) -> Layout:
    pair = pattern_arguments(arrays, "zip")
    if pair is not None:
        return Pair(_with_sources(pair[0], (*path, 0, 1)), _with_sources(pair[1], (*path, 1)))
    layout = layout_of(arrays)
    return replace(layout, source=path) if isinstance(layout, Strided) else layout


def _in_loop(layout: Layout, loop: int, type: RiseType) -> Layout:
    """Return the layout of the array of the elements that a loop returns."""
    match layout:
        case Pair():
            return Pair(_in_loop(layout.first, loop, type), _in_loop(layout.second, loop, type))
        case Strided():
            assert isinstance(type, ArrayType)
            if not type.length.is_constant:
                return None
            loops, length = dict(layout.loops), type.length.constant
            stride, piece = loops.pop(loop, (0, length))
            return Strided(
                (stride, *layout.strides), (length, *layout.lengths), (piece, *layout.pieces),
                loops, layout.source, layout.stored,
            )  # fmt: skip
        case _:
            return None


def _view(name: str, layout: Layout, type: RiseType) -> Layout:
    """Return the layout of a view of an array."""
    if isinstance(layout, Pair):
        return Pair(_view(name, layout.first, type), _view(name, layout.second, type))
    if layout is None or not isinstance(type, ArrayType) or not type.length.is_constant:
        return None
    strides, lengths, pieces = layout.strides, layout.lengths, layout.pieces
    count = type.length.constant
    match name:
        case "transpose":
            strides, lengths, pieces = map(_swapped, (strides, lengths, pieces))
        case "split":
            part = lengths[0] // count if count else 0
            strides = (strides[0] * part, *strides)
            lengths, pieces = (
                (count, part, *lengths[1:]),
                (count, gcd(part, pieces[0]), *pieces[1:]),
            )
        case "join":
            if strides[0] != strides[1] * lengths[1]:
                return None
            piece = pieces[1] if lengths[0] > 1 else lengths[1]
            strides, lengths = strides[1:], (count, *lengths[2:])
            pieces = (piece, *pieces[2:])
        case _:
            if name == "drop" and strides[0] == 1:
                return None  # it need not start at a multiple of 16 bytes
            is_in_piece = name == "take" and count <= pieces[0]
            piece = count if is_in_piece else gcd(count, pieces[0])
            lengths, pieces = (count, *lengths[1:]), (piece, *pieces[1:])
    return replace(layout, strides=strides, lengths=lengths, pieces=pieces)


def _swapped(values: tuple[int, ...]) -> tuple[int, ...]:
    return (values[1], values[0], *values[2:])


@dataclass(frozen=True)
class Operand:
    """An operand of a matrix multiplication: rows of elements that are multiplied."""

    stride: int
    """The distance of rows."""
    depth_stride: int
    """The distance of the elements of a row."""
    others: tuple[int, ...]
    """The distances that loops around the multiplication add."""
    length: int
    piece: int
    """The number of rows, and that of consecutive ones in one dimension of the stored array."""
    source: Path
    """The path of the zipped array that it is a part of."""

    def is_readable(self, bytes: int, tile_rows: int) -> bool:
        """Whether tensor cores can read tiles of elements of some bytes."""
        is_contiguous = self.depth_stride == 1 or (self.stride == 1 and bytes == SHORT_BYTES)
        distances = [self.stride, self.depth_stride, *self.others]
        if 1 in distances:
            distances.remove(1)
        is_aligned = not any(each * bytes % ROW_BYTES for each in distances)
        is_whole = self.piece == self.length or self.piece % tile_rows == 0
        return is_contiguous and is_aligned and is_whole and bool(self.stride)


def operands_of(term: Term, scope: Scope = ()) -> tuple[Operand | None, Operand | None]:
    """Return the rows and columns of a matrix multiplication whose products are fused with the
    sums; None for those that are not views of stored arrays."""
    outer = pattern_arguments(term, "map")
    if outer is None or not isinstance(outer[0], Lambda):
        return None, None
    inner, pair = pattern_arguments(outer[0].body, "map"), None
    if inner and (reduction := reduction_in(inner[0])) is not None:
        pair = pattern_arguments(reduction[2], "zip")
    if inner is None or pair is None:
        return None, None
    row = (*scope, _element(layout_of(outer[1], scope), len(scope)))
    column = (*row, _element(layout_of(inner[1], row), len(row)))
    lengths = [length_of(each.type) for each in (outer[1], inner[1])]
    rows, columns = (
        _operand(layout_of(part, column), len(scope) + number, length.constant)
        if length.is_constant else None
        for number, (part, length) in enumerate(zip(pair, lengths, strict=True))
    )  # fmt: skip
    return rows, columns


def _operand(layout: Layout, loop: int, length: int) -> Operand | None:
    if not isinstance(layout, Strided) or loop not in layout.loops:
        return None
    stride, piece = layout.loops[loop]
    others = tuple(each for number, (each, _) in layout.loops.items() if number != loop)
    return Operand(stride, layout.strides[0], others, length, piece, layout.source)


def unreadable_arrays(arrays: Term, path: Path, element: RiseType, rank: int) -> Iterator[Path]:
    """Yield the paths of zipped arrays that tensor cores cannot read in any tiles."""
    pair = pattern_arguments(arrays, "zip")
    if pair is not None:
        for place, part in zip(((0, 1), (1,)), pair, strict=True):
            yield from unreadable_arrays(part, (*path, *place), element, rank)
    elif _rank_and_scalar(arrays.type) == (rank, element) and not _is_readable(arrays, element):
        yield path


def transposed_arrays(body: Term, arrays: Term, path: Path, element: RiseType) -> Iterator[Path]:
    """Yield the paths of zipped arrays of matrices whose columns must be contiguous, so that tensor
    cores can read them in the body of the loop over the arrays."""
    assert isinstance(element, ScalarType)
    for operand in operands_of(body, (element_layout(arrays, path),)):
        if operand is None or operand.is_readable(bytes_of(element), operand.length):
            continue
        if replace(operand, stride=operand.depth_stride, depth_stride=operand.stride).is_readable(
            bytes_of(element), operand.length
        ):
            yield operand.source


def unaligned_arrays(
    array: Term, path: Path, element: RiseType
) -> Iterator[tuple[Path, int, Strategy]]:
    """Yield the paths of zipped matrices whose rows do not start at multiples of 32 bytes, their
    sizes in bytes, and the laws that copy them to rows that do."""
    if (pair := pattern_arguments(array, "zip")) is not None:
        for place, part in zip(((0, 1), (1,)), pair, strict=True):
            yield from unaligned_arrays(part, (*path, *place), element)
        return
    if (transposed := pattern_arguments(array, "transpose")) is not None:
        yield from unaligned_arrays(transposed[0], (*path, 1), element)
        return
    layout = layout_of(array)
    if not isinstance(element, ScalarType) or _rank_and_scalar(array.type) != (2, element):
        return
    if not isinstance(layout, Strided) or layout.strides[1] != 1:
        return
    bytes = bytes_of(element)
    vector, sector = ROW_BYTES // bytes, SECTOR_BYTES // bytes
    rows, length = layout.lengths
    if layout.strides[0] % sector and length % vector == 0:
        padding = -length % sector // vector
        yield path, rows * length * bytes, store_rows_aligned(padding, vector)


def has_rows(array: Term, multiple: int) -> bool:
    """Whether rows of contiguous elements of 2 bytes are in one dimension of a stored array, in
    order; or a multiple of as many rows is."""
    layout = layout_of(array)
    if not isinstance(layout, Strided) or len(layout.strides) < 2:
        return False
    *others, rows, depth = layout.strides
    distances = (*others, rows, *(each for each, _ in layout.loops.values()))
    return (
        depth == 1
        and rows in layout.stored
        and layout.pieces[-1] == layout.lengths[-1]
        and (layout.pieces[-2] == layout.lengths[-2] or layout.pieces[-2] % multiple == 0)
        and not any(each * SHORT_BYTES % ROW_BYTES for each in distances)
    )


def _is_readable(array: Term, element: RiseType) -> bool:
    """Whether rows, or columns, are contiguous and start at multiples of 16 bytes."""
    layout = layout_of(array)
    assert isinstance(element, ScalarType)
    if not isinstance(layout, Strided):
        return False
    *others, rows, depth = layout.strides
    length = layout.lengths[-2]
    return Operand(rows, depth, tuple(others), length, layout.pieces[-2], ()).is_readable(
        bytes_of(element), length
    )


def _rank_and_scalar(type: RiseType) -> tuple[int, RiseType]:
    rank = 0
    while isinstance(type, ArrayType):
        type, rank = type.element, rank + 1
    return rank, type
