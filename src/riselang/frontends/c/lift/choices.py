"""The choice of an implementation for a product or an update: loops, RISE patterns, or a library
call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from riselang.frontends.c.lift.costs import (
    LIBRARY_CALL,
    LOOP_CODE,
    PATTERN_CODE,
    STRIDED_LOOPS,
    SUM_LOOPS,
    VECTOR_CALL,
    WINDOW_LOOPS,
    WINDOW_PATTERNS,
    Implementation,
    Workload,
    cheapest,
    loop_workload,
    product_workload,
)
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Access
from riselang.frontends.c.tactics.blas_tactics import (
    Routine,
    find_long_length,
    find_long_row,
    is_short,
)
from riselang.frontends.c.tactics.boxes import LoopRange
from riselang.frontends.c.tactics.matrix_products import MatrixProduct, has_adjacent_elements
from riselang.frontends.c.tactics.structures import Structure
from riselang.support.config import Options

WINDOW_TACTICS = ("convolution", "pooling")
"""Tactics whose elements are used in several windows."""


@dataclass(frozen=True)
class ImplementationChoice:
    """An implementation, and the reason for its choice."""

    implementation: Implementation
    reason: str = ""

    def __str__(self) -> str:
        return (
            f"{self.implementation.name} ({self.reason})"
            if self.reason
            else self.implementation.name
        )


def choose_for_product(
    scop: Scop, product: MatrixProduct, options: Options, lengths: Mapping[str, int] | None = None
) -> ImplementationChoice:
    """Choose the implementation of a product, for the loop lengths that are known."""
    if not has_known_scalars(scop, product):
        return ImplementationChoice(
            LOOP_CODE, "one of its scalar factors is computed in the region"
        )
    if not is_permitted(product, options):
        return ImplementationChoice(LOOP_CODE, 'reordering its sum requires float="relaxed"')
    if options.library == "blas" and (reason := _reason_against_call(scop, product)):
        return ImplementationChoice(LOOP_CODE, reason)
    known_lengths = {**_constant_lengths(product.ranges), **(lengths or {})}
    work = product_workload(
        product.loops, product.factors, known_lengths, product.target.array.type.bits // 8
    )
    fast = LIBRARY_CALL if options.library == "blas" else PATTERN_CODE
    implementation = cheapest(work, (LOOP_CODE, fast))
    return ImplementationChoice(
        implementation,
        "it is small" if implementation is LOOP_CODE else "each element is used many times",
    )


def choose_for_routine(scop: Scop, routine: Routine) -> ImplementationChoice:
    """Choose the implementation of a vector routine, if a library may be called."""
    structure = routine.structure
    if length := find_long_length(scop, structure):
        return ImplementationChoice(
            LOOP_CODE, f"the length {length} may exceed the largest that a routine accepts"
        )
    loops = LOOP_CODE if structure.target.loops else SUM_LOOPS
    if (
        cheapest(
            _structure_work(structure, _constant_lengths(structure.ranges)), (loops, VECTOR_CALL)
        )
        is loops
    ):
        return ImplementationChoice(LOOP_CODE, "it is small")
    return ImplementationChoice(
        LIBRARY_CALL, f"{routine.name} makes better use of the memory bandwidth"
    )


def choose_for_structure(
    structure: Structure, tactic: str, lengths: Mapping[str, int] | None = None
) -> ImplementationChoice:
    """Choose the implementation of a statement over a box, for the loop lengths that are known."""
    if tactic not in WINDOW_TACTICS:
        return ImplementationChoice(LOOP_CODE, "it is memory-bound: each element is used once")
    loops = STRIDED_LOOPS if _is_strided(structure) else WINDOW_LOOPS
    work = _structure_work(structure, {**_constant_lengths(structure.ranges), **(lengths or {})})
    if cheapest(work, (loops, WINDOW_PATTERNS)) is loops:
        return ImplementationChoice(LOOP_CODE, "its windows are small")
    return ImplementationChoice(PATTERN_CODE, "each element is in many windows")


def _is_strided(structure: Structure) -> bool:
    """Whether windows are more than an element apart in memory."""
    out = structure.target.loops
    return any(
        factor > 1 for each in structure.reads for loop, factor in each.axes[-1].loops
        if loop in out
    )  # fmt: skip


def _structure_work(structure: Structure, lengths: Mapping[str, int]) -> Workload:
    operands = (structure.target, *structure.reads)
    bytes = max(1, structure.target.array.type.bits // 8)
    return loop_workload(tuple(structure.ranges), [each.loops for each in operands], lengths, bytes)


def _constant_lengths(ranges: Mapping[str, LoopRange]) -> dict[str, int]:
    return {loop: each.length.constant for loop, each in ranges.items() if each.length.is_constant}


def _reason_against_call(scop: Scop, product: MatrixProduct) -> str:
    """Return why no routine computes a product; empty if one does."""
    if product.half and not product.is_both and product.left.array is not product.right.array:
        return "no routine computes a triangular half of a product of two arrays"
    if not has_adjacent_elements(scop, product):
        return "several of its loops cover parts of dimensions, which no routine takes as one"
    for length in product.lengths.values():
        if not is_short(scop, length):
            return f"the length {length.to_nat()} may exceed the largest that a routine accepts"
    for factor in product.factors:
        if row := find_long_row(scop, factor.array):
            return f"the length {row} may exceed the largest that a routine accepts"
    return ""


def is_permitted(product: MatrixProduct, options: Options) -> bool:
    """Whether sums may be computed as a product computes them: scaled before, in its order.

    A library routine has its own order.
    """
    if options.float == "relaxed":
        return True
    return product.keeps_order and not product.half and options.library == "none"


def has_known_scalars(scop: Scop, product: MatrixProduct) -> bool:
    """Whether all scalar factors are constants or inputs."""
    return all(
        part.variable in scop.inputs and part.type == product.target.array.type
        for part in product.scale
        if isinstance(part, Access)
    )
