"""The choice of an implementation for a product or an update: loops, RISE patterns, or a library
call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from riselang.frontends.c.lift.costs import (
    CALL,
    LOOPS,
    PATTERNS,
    STRIDED_LOOPS,
    SUM_LOOPS,
    VECTOR_CALL,
    WINDOW_LOOPS,
    WINDOW_PATTERNS,
    Way,
    Work,
    best,
    work_along,
    work_of,
)
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Access
from riselang.frontends.c.tactics.products import Product
from riselang.frontends.c.tactics.routines import Routine, too_long
from riselang.frontends.c.tactics.structures import Structure
from riselang.lowering.library_calls import LARGEST
from riselang.support.config import Options

WINDOWED = ("convolution", "pooling")
"""Tactics whose elements are used in several windows."""


@dataclass(frozen=True)
class Choice:
    """An implementation, and the reason for its choice."""

    way: Way
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.way.name} ({self.reason})" if self.reason else self.way.name


def for_product(
    scop: Scop, product: Product, options: Options, lengths: Mapping[str, int] | None = None
) -> Choice:
    """Choose the implementation of a product, for the loop lengths that are known."""
    if not has_values(scop, product):
        return Choice(LOOPS, "one of its scalar factors is computed in the region")
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


def for_routine(scop: Scop, routine: Routine) -> Choice:
    """Choose the implementation of a vector routine, if a library may be called."""
    structure = routine.structure
    if length := too_long(scop, structure):
        return Choice(LOOPS, f"the length {length} may exceed what a routine takes")
    loops = LOOPS if structure.target.loops else SUM_LOOPS
    if best(_work(structure, _constants(structure)), (loops, VECTOR_CALL)) is loops:
        return Choice(LOOPS, "it is small")
    return Choice(CALL, f"{routine.name} makes better use of the memory bandwidth")


def for_structure(
    structure: Structure, tactic: str, lengths: Mapping[str, int] | None = None
) -> Choice:
    """Choose the implementation of a statement over a box, for the loop lengths that are known."""
    if tactic not in WINDOWED:
        return Choice(LOOPS, "it is memory-bound, each element is used once")
    loops = STRIDED_LOOPS if _is_strided(structure) else WINDOW_LOOPS
    work = _work(structure, {**_constants(structure), **(lengths or {})})
    if best(work, (loops, WINDOW_PATTERNS)) is loops:
        return Choice(LOOPS, "its windows are small")
    return Choice(PATTERNS, "its elements are in many windows")


def _is_strided(structure: Structure) -> bool:
    """Whether windows are more than an element apart in memory."""
    out = structure.target.loops
    return any(
        factor > 1 for each in structure.reads for loop, factor in each.axes[-1].loops
        if loop in out
    )  # fmt: skip


def _work(structure: Structure, lengths: Mapping[str, int]) -> Work:
    operands = (structure.target, *structure.reads)
    bytes = max(1, structure.target.array.type.bits // 8)
    return work_along(tuple(structure.ranges), [each.loops for each in operands], lengths, bytes)


def _constants(structure: Structure) -> dict[str, int]:
    lengths = {loop: each.length for loop, each in structure.ranges.items()}
    return {loop: each.constant for loop, each in lengths.items() if each.is_constant}


def _no_call(scop: Scop, product: Product) -> str:
    """Return why no routine computes a product; empty if one does."""
    if product.half and not product.is_both and product.left.array is not product.right.array:
        return "no routine computes a triangular half of a product of two arrays"
    largest = {each.name: each.largest for each in scop.parameters}
    for length in product.lengths.values():
        most = int(length) if length.isdecimal() else largest.get(length, LARGEST + 1)
        if most > LARGEST:
            return f"the length {length} may exceed what a routine takes"
    return ""


def is_permitted(product: Product, options: Options) -> bool:
    """Whether sums may be computed as a product computes them: scaled before, in its order.

    A library routine has its own order.
    """
    if options.float == "relaxed":
        return True
    return product.keeps_order and not product.half and options.library == "none"


def has_values(scop: Scop, product: Product) -> bool:
    """Whether all scalar factors are constants or inputs."""
    return all(
        part.variable in scop.inputs and part.type == product.target.array.type
        for part in product.scale
        if isinstance(part, Access)
    )


def _numbers(lengths: Mapping[str, str]) -> dict[str, int]:
    return {loop: int(length) for loop, length in lengths.items() if length.isdecimal()}
