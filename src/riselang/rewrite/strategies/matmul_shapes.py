"""Recognition of matrix multiplications: reductions over pairs of rows and columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import FixedBitwidthType

from riselang.dialects.rise.pattern_registry import FST, SND
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.types import ArrayType, RiseType, ScalarType, components
from riselang.nat import Nat
from riselang.rewrite.strategies.epilogues import reduction_in
from riselang.rewrite.strategies.tiles import MatmulShape
from riselang.rewrite.term_parts import abstract_over, pattern_arguments, view_source
from riselang.term.nodes import Apply, Bound, Lambda, Pattern, Term, spine
from riselang.term.substitution import mentions

PARTS = (FST, SND)
LARGE_SIZE = 1024
"""The assumed value of a size that is known only at run time."""


@dataclass(frozen=True)
class Product:
    """The parts of `a |> map(row => b |> map(column => f(zip(row, column) |> reduce(g, c))))`.

    `f` is an epilogue: it computes a scalar from the sum and from scalars that are zipped with the
    column.
    """

    rows: Term
    columns: Term
    pairs: Term
    type: ScalarType
    is_bare: bool
    """Whether there is no epilogue."""
    has_matrix: bool = False
    """Whether each sum starts from an element of a matrix."""

    @property
    def sizes(self) -> tuple[Nat, Nat, Nat]:
        """The number of rows and of columns, and the common dimension."""
        rows, columns, depth = (
            length_of(each.type) for each in (self.rows, self.columns, self.pairs)
        )
        return rows, columns, depth

    @property
    def products(self) -> Nat:
        """The number of multiplications."""
        rows, columns, depth = self.sizes
        return rows * columns * depth

    @property
    def shape(self) -> MatmulShape | None:
        """The shape, with a large size for each dimension that is known only at run time; None if a
        matrix is empty."""
        if any(size == 0 for size in self.sizes):
            return None
        rows, columns, depth = map(typical_size, self.sizes)
        symbolic = frozenset(
            name
            for name, size in zip(("rows", "columns", "depth"), self.sizes, strict=True)
            if not size.is_constant
        )
        return MatmulShape(
            rows, columns, depth, bytes_of(self.type), is_row_major(self.columns), symbolic,
            has_stored_rows=_is_variable(self.rows),
            has_stored_columns=any(map(_is_variable, _transposed_arrays(self.columns))),
            has_epilogue=not self.is_bare,
        )  # fmt: skip


def _is_variable(term: Term) -> bool:
    """Whether a term is a variable, or a component of one."""
    head, arguments = spine(term)
    while isinstance(head, Pattern) and head.spec in PARTS:
        head, arguments = spine(arguments[0])
    return isinstance(head, Bound) and not arguments


def match_product(term: Term) -> Product | None:
    outer = pattern_arguments(term, "map", "mapPar")
    inner = None if outer is None else arguments_in_body(outer[0], "map")
    reduction = None if inner is None else reduction_in(inner[0])
    if outer is None or inner is None or reduction is None:
        return None
    pair, type = pattern_arguments(reduction[2], "zip"), reduction[1].type
    if pair is None or not isinstance(type, ScalarType) or not _depends_on_both(pair):
        return None
    is_bare = arguments_in_body(inner[0], "reduce") is not None
    if mentions(inner[1], 0):
        operands = _match_matrix_operand(outer[1], inner, reduction) if is_bare else None
        return None if operands is None else Product(*operands, reduction[2], type, True, True)
    if _uses_row(inner[0], reduction):
        return None
    return Product(outer[1], inner[1], reduction[2], type, is_bare)


def _match_matrix_operand(
    outer: Term, inner: list[Term], reduction: list[Term]
) -> tuple[Term, Term] | None:
    """Return the rows and the columns if these are zipped with a matrix: `zip(rows, c)`, and for
    each pair `zip(columns, snd(pair))`. The reduction starts from the element of the matrix."""
    outer_pair, inner_pair = pattern_arguments(outer, "zip"), pattern_arguments(inner[1], "zip")
    if outer_pair is None or inner_pair is None or not isinstance(inner[0], Lambda):
        return None
    for matrix_index, matrix_row in enumerate(inner_pair):
        column_index = 1 - matrix_index
        component = _component(matrix_row)
        if component is None or mentions(inner_pair[column_index], 0):
            continue
        row_index = 1 - PARTS.index(component)
        reads_row = _uses_only(inner[0].body, PARTS[row_index], 1)
        reads_column = _uses_only(reduction[2], PARTS[column_index], 0)
        if reads_row and reads_column and _uses_only(reduction[1], PARTS[matrix_index], 0):
            return outer_pair[row_index], inner_pair[column_index]
    return None


def _component(term: Term) -> PatternSpec | None:
    """Return `fst` or `snd` if a term is that component of the innermost variable."""
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or head.spec not in PARTS:
        return None
    return head.spec if isinstance(arguments[0], Bound) and not arguments[0].index else None


def _uses_only(term: Term, part: PatternSpec, index: int) -> bool:
    """Whether a term uses at most one component of a pair."""
    pair = _find_use(term, index)
    if pair is None:
        return True
    component = Apply(Pattern(part, components(pair.type)), pair)
    return not mentions(abstract_over(term, component), index + 1)


def _find_use(term: Term, index: int) -> Bound | None:
    """Return a use of a variable, as seen from outside the term."""
    stack = [(term, index)]
    while stack:
        part, level = stack.pop()
        if isinstance(part, Bound) and part.index == level:
            return Bound(index, part.type)
        level += isinstance(part, Lambda)
        stack += [(child, level) for child in part.children]
    return None


def _uses_row(function: Term, reduction: list[Term]) -> bool:
    """Whether an epilogue uses the row other than through the sum."""
    assert isinstance(function, Lambda)
    parts: list[tuple[Term, int]] = [(function.body, 1)]
    while parts:
        part, row = parts.pop()
        if part == Bound(row, part.type):
            return True
        if pattern_arguments(part, "reduce") != reduction:
            inner = row + isinstance(part, Lambda)
            parts += [(child, inner) for child in part.children]
    return False


def matmul_shape(term: Term) -> MatmulShape | None:
    """The shape of a matrix multiplication, with any epilogue."""
    product = match_product(term)
    return None if product is None else product.shape


def is_row_major(columns: Term) -> bool:
    """Whether these are columns of a stored row-major array, possibly zipped with other arrays."""
    return any(True for _ in _transposed_arrays(columns))


def _transposed_arrays(columns: Term) -> Iterator[Term]:
    """Yield the arrays whose columns these are, possibly zipped with other arrays."""
    stack: list[Term] = [columns]
    while stack:
        part = stack.pop()
        if (transposed := pattern_arguments(part, "transpose")) is not None:
            yield transposed[0]
            continue
        stack += pattern_arguments(part, "zip") or [
            each for each in [view_source(part)] if each is not None
        ]


def arguments_in_body(function: Term, name: str) -> list[Term] | None:
    return pattern_arguments(function.body, name) if isinstance(function, Lambda) else None


def _depends_on_both(pair: list[Term]) -> bool:
    """Whether one of the two depends only on the row, and the other only on the column."""
    uses_row, uses_column = ([mentions(part, index) for part in pair] for index in (1, 0))
    return sorted(zip(uses_row, uses_column, strict=True)) == [(False, True), (True, False)]


def typical_size(size: Nat) -> int:
    """The value of a constant size; a large value for a size that is known only at run time."""
    return size.constant if size.is_constant else LARGE_SIZE


def length_of(type: RiseType) -> Nat:
    assert isinstance(type, ArrayType)
    return type.length


def bytes_of(type: ScalarType) -> int:
    element = type.element
    bits = element.bitwidth if isinstance(element, FixedBitwidthType) else 64
    return max(1, bits // 8)
