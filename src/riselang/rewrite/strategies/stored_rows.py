"""Operations on each row of the stored result of a loop, such as an activation after a convolution.

If nothing else reads the result, only one row of it is stored at a time, which stays in a cache
until it is read; or one part of a row, which stays in registers.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import LET, MAP, TO_MEM
from riselang.dialects.rise.types import ArrayType, leaves
from riselang.nat import Nat
from riselang.rewrite.combinators import Guard, choice, try_
from riselang.rewrite.core import Failure, Result, Setting, Strategy
from riselang.rewrite.paths import subterm_at
from riselang.rewrite.rules.functions import inline_let, let_before_store, let_of_let
from riselang.rewrite.rules.storing import (
    fuse_stored_rows,
    fuse_stored_rows_in_parallel,
    fuse_stored_rows_in_sequence,
)
from riselang.rewrite.strategies.matmul_shapes import bytes_of
from riselang.rewrite.strategies.schedules import unroll, vectorize
from riselang.rewrite.strategies.shifted_rows import path_of_only_reader
from riselang.rewrite.strategies.threads import PARALLEL_PATTERNS
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import AtPath, argument, body, function, normalize
from riselang.support.machine import this_machine
from riselang.term.nodes import Bound, Lambda, Term, has_pattern

MAX_VECTORS = 8
"""The number of vectors that are kept in registers until they are read."""
SCHEDULED_LOOPS = ("mapPar", "mapSeq")


def fuse_stored_rows_with_readers() -> Strategy:
    """Store the rows of scheduled loops one at a time, if only a map over these rows reads them."""
    lets_first = try_(normalize(choice(let_before_store, let_of_let)))
    return lets_first >> normalize(choice(_InlineRows(), _FUSE_ROWS))


@dataclass(frozen=True, repr=False)
class _InlineRows(Strategy):
    """Fuses the rows that a let stores with the only map that reads them."""

    rows: tuple[str, ...] = SCHEDULED_LOOPS

    def can_match(self, head: str) -> bool:
        return head == LET.name

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, LET.name)
        problem = Failure(self, "expected the rows of a loop, stored and read by one map", term)
        if arguments is None or not isinstance(arguments[1], Lambda):
            return problem
        value, inner = arguments[0], arguments[1].body
        path = path_of_only_reader(inner)
        reader = None if path is None else pattern_arguments(subterm_at(inner, path), MAP.name)
        if path is None or reader is None or not isinstance(reader[1], Bound):
            return problem
        is_nested = self.rows == (MAP.name,)
        fuse = fuse_stored_rows >> _IN_ROW if is_nested else _FUSE_ROWS
        if not _can_be_fused(reader[0], value, self.rows):
            return problem
        return (inline_let >> AtPath(path, fuse)).run(term, setting)

    def __str__(self) -> str:
        return "fuse_stored_rows()"


@dataclass(frozen=True, repr=False)
class _VectorizeReader(Strategy):
    """Vectorizes the map that reads the value of a let."""

    def run(self, term: Term, setting: Setting) -> Result:
        # Strategies for windows are imported only for programs whose loops store rows.
        from riselang.rewrite.strategies.stencils import LIGHT_VECTOR_BYTES, in_vectors

        if not isinstance(term.type, ArrayType):
            return Failure(self, "expected a let of an array", term)
        bytes = max(bytes_of(scalar) for _, scalar in leaves(term.type))
        # Longer vectors would lower the clock, and these operations are few.
        lanes = max(1, min(this_machine().vector_bytes, LIGHT_VECTOR_BYTES) // bytes)
        length = term.type.length
        is_short = length.is_constant and length.constant <= MAX_VECTORS * lanes
        in_registers = vectorize(lanes) >> argument(unroll())
        strategy = choice(in_registers, in_vectors(lanes)) if is_short else in_vectors(lanes)
        return argument(body(strategy)).run(term, setting)

    def __str__(self) -> str:
        return "vectorize_reader()"


def _can_be_fused(reader: Term, value: Term, loops: tuple[str, ...]) -> bool:
    """Whether a value is the stored result of a loop over rows, and its reader is not parallel."""
    stored = pattern_arguments(value, TO_MEM.name)
    if stored is None or pattern_arguments(stored[0], *loops) is None:
        return False
    is_nested = isinstance(value.type, ArrayType) and isinstance(value.type.element, ArrayType)
    return is_nested and not has_pattern(reader, *PARALLEL_PATTERNS)


def _reads_rows(term: Term) -> bool:
    """Whether a map reads the stored rows of a scheduled loop: each of them stays in the L2 cache,
    and all of them exceed the L1 cache."""
    arguments = pattern_arguments(term, MAP.name)
    if arguments is None or not _can_be_fused(arguments[0], arguments[1], SCHEDULED_LOOPS):
        return False
    (lengths, scalar), *others = leaves(arguments[1].type)
    size = Nat.const(1)
    for length in lengths[1:]:
        size = size * length
    total = size * lengths[0]
    if others or not total.is_constant:
        return False
    machine, bytes = this_machine(), bytes_of(scalar)
    is_short = size.constant * bytes <= machine.cache_bytes(2) // 4
    return is_short and total.constant * bytes > machine.cache_bytes(1)


_IN_ROW = function(argument(body(try_(choice(_InlineRows((MAP.name,)), _VectorizeReader())))))
"""In a row that is stored, fuses parts of it with their reader, or vectorizes the reader."""
_FUSE_ROWS = (
    Guard("it reads rows that a loop stores", _reads_rows)
    >> choice(fuse_stored_rows_in_parallel, fuse_stored_rows_in_sequence)
    >> _IN_ROW
)
