"""Contractions of two arrays, with the role of each loop: row, column, batch, or contracted.

`target[rows, columns] += scale * left[rows, depth] * right[columns, depth]`, for each batch
element. Several loops may be the rows, if they index adjacent dimensions: then they are one loop
of the matrix multiplication. Loops may cover parts of arrays, which are then sub-matrices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.parse.syntax import Access, Expression, Literal
from riselang.frontends.c.tactics.boxes import LoopRange, NotLifted, read_box
from riselang.frontends.c.tactics.extents import declared_extents
from riselang.frontends.c.tactics.matching import Factor, Update


class NoProduct(Exception):
    """Why an update is not a matrix multiplication."""


@dataclass(frozen=True)
class MatrixProduct:
    """A statement as a matrix multiplication."""

    target: Factor
    left: Factor
    right: Factor
    batch: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    depth: tuple[str, ...]
    ranges: Mapping[str, LoopRange]
    """The range of each loop."""
    parts: tuple[Expression, ...]
    """The factors, in source order."""
    begins_with_zero: bool = False
    """Whether the target is zero before; otherwise the sum starts from its value."""
    half: str = ""
    """`lower` or `upper`, if only the elements on that side of the diagonal, and on it, are
    computed."""
    is_both: bool = False
    """Whether the product with swapped factors is added, too."""
    is_ordered: bool = True
    """Whether the contracted loops run upward, in the order of the dimensions in memory."""

    @property
    def loops(self) -> tuple[str, ...]:
        return (*self.batch, *self.rows, *self.columns, *self.depth)

    @property
    def factors(self) -> tuple[Factor, Factor, Factor]:
        """The target and both factors."""
        return self.target, self.left, self.right

    @property
    def lengths(self) -> dict[str, Linear]:
        """The length of each loop."""
        return {loop: each.length for loop, each in self.ranges.items()}

    @property
    def scale(self) -> list[Expression]:
        """Constants, and invariant variables."""
        return [part for part in self.parts if not (isinstance(part, Access) and part.indices)]

    @property
    def scaled_factor(self) -> Factor | None:
        """The factor that all scalars are multiplied by before the other factor is, if there is
        one."""
        if not self.scale:
            return self.left
        last = self.parts[-1]
        if not isinstance(last, Access) or not last.indices:
            return None
        return self.right if last == self.left.access else self.left

    @property
    def keeps_order(self) -> bool:
        """Whether sums can be computed in source order, with scalars multiplied as there."""
        return self.is_ordered and self.scaled_factor is not None

    def with_zero_start(self) -> MatrixProduct:
        return replace(self, begins_with_zero=True)


def read_product(scop: Scop, statement: ModelStatement, updates: Sequence[Update]) -> MatrixProduct:
    """Read a statement as a product; two updates are two products with the same target.

    Raises NoProduct with the reason.
    """
    first = updates[0]
    if not all(update.is_from_left for update in updates):
        raise NoProduct("its factors are not multiplied from left to right")
    if not first.target.array.type.is_float:
        raise NoProduct("its elements are not floats")
    product = _assign_loop_roles(first)
    if len(updates) == 2:
        other = _assign_loop_roles(updates[1])
        if not _is_swapped(product, other):
            raise NoProduct("it adds two products")
        product = replace(product, is_both=True)
    half, ranges = _computed_part(scop, statement, product)
    summed = tuple(name for _, name in statement.iterators if name in product.depth)
    is_ordered = summed == product.depth and is_upward(scop, statement)
    product = replace(product, half=half, ranges=ranges, is_ordered=is_ordered)
    if product.is_both and not half:
        raise NoProduct("it adds two products")
    return product


def _assign_loop_roles(update: Update) -> MatrixProduct:
    if len(update.factors) != 2:
        raise NoProduct("it is not a product of two arrays")
    one, other = update.factors
    target = update.target
    for factor in (target, *update.factors):
        if factor.array.type != target.array.type:
            raise NoProduct("its arrays have different types")
        if len(factor.array.extents) != len(factor.loops):
            raise NoProduct(f"{factor.array.name} is declared with different dimensions")
    if not target.loops:
        raise NoProduct("its result is a scalar")
    # The factor with the outermost loop that only one of them has provides the rows.
    owned = [loop for loop in target.loops if (loop in one.loops) != (loop in other.loops)]
    if not owned:
        raise NoProduct("each element of its factors is used once")
    left, right = (one, other) if owned[0] in one.loops else (other, one)
    batch = tuple(loop for loop in target.loops if loop in left.loops and loop in right.loops)
    rows = tuple(loop for loop in target.loops if loop in left.loops and loop not in batch)
    columns = tuple(loop for loop in target.loops if loop in right.loops and loop not in batch)
    depth = tuple(loop for loop in left.loops if loop not in target.loops)
    if set(depth) != {loop for loop in right.loops if loop not in target.loops}:
        raise NoProduct("a reduction loop occurs in only one factor")
    if not columns or not depth:
        raise NoProduct("each element of its factors is used once")
    product = MatrixProduct(target, left, right, batch, rows, columns, depth, {}, update.parts)
    _check_groups(product)
    return product


def _check_groups(product: MatrixProduct) -> None:
    """Check that the loops of a group are contiguous and in the same order in all arrays."""
    groups = (product.batch, product.rows, product.columns, product.depth)
    for factor in (product.target, product.left, product.right):
        found = group_order(factor, groups)
        if found is None:
            raise NoProduct(f"the dimensions of {factor.array.name} are not in their order of use")
        if product.batch and found[0] != product.batch:
            raise NoProduct(f"the batch is not the outermost dimension of {factor.array.name}")
    if group_order(product.target, groups) != tuple(
        group for group in (product.batch, product.rows, product.columns) if group
    ):
        raise NoProduct(f"rows and columns of {product.target.array.name} are mixed")


def group_order(
    factor: Factor, groups: Sequence[tuple[str, ...]]
) -> tuple[tuple[str, ...], ...] | None:
    """Return the groups in the order in which an array has them; None if they are mixed."""
    left = factor.loops
    found: list[tuple[str, ...]] = []
    while left:
        group = next((each for each in groups if each and each[0] == left[0]), None)
        if group is None or left[: len(group)] != group:
            return None
        found.append(group)
        left = left[len(group) :]
    return tuple(found)


def _is_swapped(product: MatrixProduct, other: MatrixProduct) -> bool:
    """Whether another product is the same with swapped factors."""
    return (
        product.target == other.target
        and product.left.array is other.right.array
        and product.right.array is other.left.array
        and product.left.loops == other.left.loops
        and product.right.loops == other.right.loops
        and product.scale == other.scale
    )


# Iterations


def _computed_part(
    scop: Scop, statement: ModelStatement, product: MatrixProduct
) -> tuple[str, dict[str, LoopRange]]:
    """Return the side of the diagonal of its target that a statement computes, or nothing for all,
    and the ranges of its loops."""
    if set(product.loops) != {name for _, name in statement.iterators}:
        raise NoProduct("a loop repeats it")
    try:
        return "", read_box(scop, statement)
    except NotLifted as error:
        reason = str(error)
    if not product.batch and len(product.rows) == len(product.columns) == 1:
        (row,), (column,) = product.rows, product.columns
        for half, condition in (("lower", f"{column} <= {row}"), ("upper", f"{row} <= {column}")):
            with suppress(NotLifted):
                ranges = read_box(scop, statement, condition)
                if ranges[row] == ranges[column]:
                    return half, ranges
    raise NoProduct(reason)


def has_adjacent_elements(scop: Scop, product: MatrixProduct) -> bool:
    """Whether all loops of each group but the outermost one cover whole dimensions, so that the
    steps of the group are equally far apart in memory."""
    groups = (product.batch, product.rows, product.columns, product.depth)
    inner = {loop for group in groups for loop in group[1:]}
    for factor in product.factors:
        for loop, extent in zip(factor.loops, declared_extents(scop, factor.array), strict=True):
            if loop in inner and product.ranges[loop] != LoopRange(Linear(), extent or Linear()):
                return False
    return True


def is_zero(value: Expression) -> bool:
    """Whether a value is positive zero."""
    return (
        isinstance(value, Literal) and value.value == 0 and math.copysign(1.0, value.value) == 1.0
    )


def is_upward(scop: Scop, statement: ModelStatement) -> bool:
    """Whether all dependences are satisfied in increasing order of the loop variables."""
    pairs = dependences(scop)
    if pairs is None:
        return False
    own = isl().UnionSet.from_set(statement.domain)
    between = pairs.all.intersect_domain(own).intersect_range(own)
    if between.is_empty():
        return True
    found = isl().Map.from_union_map(between)
    return bool(found.is_subset(isl().Map.lex_lt(found.get_space().domain())))
