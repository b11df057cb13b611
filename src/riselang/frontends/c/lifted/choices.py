"""Which way a product or an update goes: as loops, as patterns of RISE, or as a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from riselang.config import Options
from riselang.frontends.c.lifted.costs import CALL, LOOPS, PATTERNS, Way, best, work_of
from riselang.frontends.c.model import Scop
from riselang.frontends.c.syntax import Access
from riselang.frontends.c.tactics.matching import Update
from riselang.frontends.c.tactics.products import Product
from riselang.lowering.library_calls import LARGEST


@dataclass(frozen=True)
class Choice:
    """A way, and why it is this one."""

    way: Way
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.way.name} ({self.reason})" if self.reason else self.way.name


def for_product(
    scop: Scop, product: Product, options: Options, lengths: Mapping[str, int] | None = None
) -> Choice:
    """The way of a product, for lengths of loops where they are known."""
    if not has_values(scop, product):
        return Choice(LOOPS, "a number that it is multiplied with is computed in the region")
    if not is_permitted(product, options):
        return Choice(LOOPS, 'another order of its sum needs float="relaxed"')
    if options.library == "blas" and (reason := _no_call(scop, product)):
        return Choice(LOOPS, reason)
    factors = (product.target, product.left, product.right)
    known = {**_numbers(product.lengths), **(lengths or {})}
    work = work_of(product.loops, factors, known, product.target.array.type.bits // 8)
    fast = CALL if options.library == "blas" else PATTERNS
    way = best(work, (LOOPS, fast))
    return Choice(way, "it is small" if way is LOOPS else "each element is used many times")


def for_update(update: Update) -> Choice:
    """The way of an update that is no product of matrices."""
    loops = tuple(dict.fromkeys(
        loop for factor in (update.target, *update.factors) for loop in factor.loops
    ))  # fmt: skip
    factors = (update.target, *update.factors)
    work = work_of(loops, factors, {}, max(1, update.target.array.type.bits // 8))
    if best(work, (LOOPS, CALL)) is LOOPS:
        return Choice(LOOPS, "memory decides, each element is used once")
    return Choice(LOOPS)


def _no_call(scop: Scop, product: Product) -> str:
    """Why no routine computes a product; nothing where one does."""
    if product.half and not product.is_both and product.left.array is not product.right.array:
        return "no routine computes half of a product of two arrays"
    largest = {each.name: each.largest for each in scop.parameters}
    for length in product.lengths.values():
        most = int(length) if length.isdecimal() else largest.get(length, LARGEST + 1)
        if most > LARGEST:
            return f"the length {length} may be more than a routine takes"
    return ""


def is_permitted(product: Product, options: Options) -> bool:
    """Whether sums may be made as a product makes them: from zero, scaled before, in its order.

    A routine of a library has an order of its own.
    """
    if options.float == "relaxed":
        return True
    is_same = product.begins_with_zero and product.is_ordered and product.scaled is not None
    return is_same and not product.half and options.library == "none"


def has_values(scop: Scop, product: Product) -> bool:
    """Whether all that it is multiplied with is a number or comes from outside."""
    return all(
        part.variable in scop.inputs and part.type == product.target.array.type
        for part in product.scale
        if isinstance(part, Access)
    )


def _numbers(lengths: Mapping[str, str]) -> dict[str, int]:
    return {loop: int(length) for loop, length in lengths.items() if length.isdecimal()}
