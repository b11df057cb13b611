"""Operations on each row of the stored result of a loop, such as an activation after a convolution.

If nothing else reads the result, only one row of it is stored at a time, which stays in the L1
cache until it is read; or one part of a row, which stays in registers.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import LET, MAP, TO_MEM
from riselang.dialects.rise.types import ArrayType, leaves
from riselang.nat import Nat
from riselang.rewrite.combinators import choice, try_
from riselang.rewrite.core import Failure, Path, Result, Setting, Strategy
from riselang.rewrite.paths import subterm_at
from riselang.rewrite.rules.functions import inline_let
from riselang.rewrite.rules.storing import fuse_stored_rows, fuse_stored_rows_in_parallel
from riselang.rewrite.strategies.matmul_shapes import bytes_of
from riselang.rewrite.strategies.schedules import unroll, vectorize
from riselang.rewrite.strategies.shifted_rows import path_of_only_reader
from riselang.rewrite.strategies.stencils import LIGHT_VECTOR_BYTES, in_vectors
from riselang.rewrite.strategies.threads import PARALLEL_PATTERNS
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import AtPath, argument, body, function, normalize
from riselang.support.machine import this_machine
from riselang.term.nodes import Bound, Lambda, Term, has_pattern

MAX_VECTORS = 8
"""The number of vectors that are kept in registers until they are read."""


def fuse_stored_rows_with_readers() -> Strategy:
    """Store the rows of parallel loops one at a time, if only a map over these rows reads them."""
    return normalize(_FuseStoredRows(fuse_stored_rows_in_parallel))


@dataclass(frozen=True, repr=False)
class _FuseStoredRows(Strategy):
    """Fuses a loop over rows, whose result a let stores, with its only reader."""

    fuse: Strategy

    @property
    def is_outermost(self) -> bool:
        return self.fuse is fuse_stored_rows_in_parallel

    def can_match(self, head: str) -> bool:
        return head == LET.name

    def run(self, term: Term, setting: Setting) -> Result:
        path = _path_of_reader(term, "mapPar" if self.is_outermost else MAP.name)
        if path is None or (self.is_outermost and not _has_short_rows(term)):
            return Failure(self, "expected the rows of a loop, stored and read by one map", term)
        in_row = function(argument(body(try_(choice(_FuseStoredRows(fuse_stored_rows), _VECTORS)))))
        return (inline_let >> AtPath(path, self.fuse >> in_row)).run(term, setting)

    def __str__(self) -> str:
        return "fuse_stored_rows()"


@dataclass(frozen=True, repr=False)
class _VectorizeReader(Strategy):
    """Vectorizes the map that reads the value of a let."""

    def run(self, term: Term, setting: Setting) -> Result:
        bytes = max(bytes_of(scalar) for _, scalar in leaves(term.type))
        # Longer vectors would lower the clock, and these operations are few.
        lanes = max(1, min(this_machine().vector_bytes, LIGHT_VECTOR_BYTES) // bytes)
        assert isinstance(term.type, ArrayType)
        length = term.type.length
        is_short = length.is_constant and length.constant <= MAX_VECTORS * lanes
        in_registers = vectorize(lanes) >> argument(unroll())
        strategy = choice(in_registers, in_vectors(lanes)) if is_short else in_vectors(lanes)
        return argument(body(strategy)).run(term, setting)

    def __str__(self) -> str:
        return "vectorize_reader()"


_VECTORS = _VectorizeReader()


def _path_of_reader(term: Term, loop: str) -> Path | None:
    """The path, after a let is inlined, of the map that reads the value of the let, which is the
    stored result of a loop."""
    arguments = pattern_arguments(term, LET.name)
    if arguments is None or not isinstance(arguments[1], Lambda):
        return None
    value, function = arguments
    stored = pattern_arguments(value, TO_MEM.name)
    if stored is None or pattern_arguments(stored[0], loop) is None:
        return None
    if not isinstance(value.type, ArrayType) or not isinstance(value.type.element, ArrayType):
        return None
    path = path_of_only_reader(function.body)
    reader = None if path is None else pattern_arguments(subterm_at(function.body, path), MAP.name)
    is_plain = reader is not None and isinstance(reader[1], Bound)
    return path if is_plain and not has_pattern(reader[0], *PARALLEL_PATTERNS) else None


def _has_short_rows(let: Term) -> bool:
    """Whether the rows that a let stores fit half of the L1 cache, and all of them do not."""
    arguments = pattern_arguments(let, LET.name)
    assert arguments is not None
    (lengths, scalar), *others = leaves(arguments[0].type)
    size = Nat.const(1)
    for length in lengths[1:]:
        size = size * length
    total = size * lengths[0]
    if others or not total.is_constant:
        return False
    machine, bytes = this_machine(), bytes_of(scalar)
    is_short = size.constant * bytes <= machine.cache_bytes(1) // 2
    return is_short and total.constant * bytes > machine.cache_bytes(1)
