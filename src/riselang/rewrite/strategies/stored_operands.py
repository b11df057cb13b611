"""Elementwise operations on the stored result of a loop and another array: a residual, for example.

    zip(sums |> toMem(heap), x) |> map(fun(p, zip(fst(p), snd(p)) |> map(f)))

The operations move into the loop that computes the result, so that only what one of its iterations
computes is stored, and stays in a cache until it is read.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import AS_SCALAR, LET, MAP, TO_MEM, ZIP
from riselang.dialects.rise.types import VectorType, element_of, leaves
from riselang.nat import Nat
from riselang.rewrite.combinators import Guard, choice, seq, try_
from riselang.rewrite.core import Failure, Result, Setting, Strategy
from riselang.rewrite.eta import mentions
from riselang.rewrite.paths import Path
from riselang.rewrite.rules.functions import (
    inline_let,
    let_before_join,
    let_before_store,
    let_before_transpose,
    let_of_let,
)
from riselang.rewrite.rules.lowering import not_stored
from riselang.rewrite.rules.movement import zip_swapped
from riselang.rewrite.rules.storing import (
    fuse_operand_in_blocks,
    fuse_operand_in_blocks_of_columns,
    fuse_operand_in_blocks_of_rows,
    fuse_operand_in_loop,
    fuse_operand_in_parallel,
    fuse_operand_in_sequence,
    fuse_operand_in_transposed_rows,
    fuse_operand_transposed,
    let_before_zip,
    name_operand_of_rows,
)
from riselang.rewrite.strategies.matmul_shapes import bytes_of
from riselang.rewrite.strategies.schedules import vectorize
from riselang.rewrite.strategies.threads import PARALLEL_PATTERNS
from riselang.rewrite.term_parts import pattern_arguments, view_source
from riselang.rewrite.traversals import (
    AtPath,
    argument,
    body,
    everywhere,
    function,
    inside,
    normalize,
)
from riselang.support.machine import this_machine
from riselang.term.nodes import Bound, Lambda, Term, has_pattern

LOOPS = ("map", "mapPar", "mapSeq")
_VIEWS = choice(
    fuse_operand_in_blocks_of_columns,
    fuse_operand_in_blocks_of_rows,
    fuse_operand_in_blocks,
    fuse_operand_in_transposed_rows,
    fuse_operand_transposed,
)


_LETS_FIRST = choice(let_before_join, let_before_transpose, let_before_store, let_of_let)
_LOOPS = choice(fuse_operand_in_parallel, fuse_operand_in_sequence, fuse_operand_in_loop)


def _stored_loop(term: Term) -> Term | None:
    """Return the loop whose result a term stores; None if it stores none."""
    stored = pattern_arguments(term, TO_MEM.name)
    part: Term | None = None if stored is None else stored[0]
    while part is not None:
        source = view_source(part)
        if source is None:
            return part if pattern_arguments(part, *LOOPS) is not None else None
        part = source
    return None


def _reads_result(term: Term) -> bool:
    """Whether a map reads a result that exceeds the L2 cache, together with an operand."""
    arguments = pattern_arguments(term, MAP.name)
    pair = None if arguments is None else pattern_arguments(arguments[1], ZIP.name)
    if arguments is None or pair is None or has_pattern(arguments[0], *PARALLEL_PATTERNS):
        return False
    return any(map(_is_large_result, pair))


def _is_large_result(term: Term) -> bool:
    if _stored_loop(term) is None:
        return False
    (lengths, scalar), *others = leaves(term.type)
    size = Nat.const(1)
    for length in lengths:
        size = size * length
    if others or not size.is_constant:
        return False
    return size.constant * bytes_of(scalar) > this_machine().cache_bytes(2) // 2


def _path_of_only_reader(body: Term) -> Path | None:
    """Return the path of the map that reads variable 0 in a zip, if nothing else reads it."""
    path: Path = ()
    index = 0
    while True:
        arguments = pattern_arguments(body, MAP.name)
        pair = None if arguments is None else pattern_arguments(arguments[1], ZIP.name)
        if arguments is not None and pair is not None:
            readers = [each for each in (arguments[0], *pair) if mentions(each, index)]
            if len(readers) == 1 and isinstance(readers[0], Bound):
                return path
        inner = [
            position
            for position, child in enumerate(body.children)
            if mentions(child, index + isinstance(body, Lambda))
        ]
        if len(inner) != 1:
            return None
        child = body.children[inner[0]]
        if isinstance(child, Lambda) and pattern_arguments(body, LET.name) is None:
            return None
        index += isinstance(body, Lambda)
        body, path = child, (*path, inner[0])


def _is_second(term: Term) -> bool:
    arguments = pattern_arguments(term, MAP.name)
    pair = None if arguments is None else pattern_arguments(arguments[1], ZIP.name)
    return pair is not None and _stored_loop(pair[0]) is None


@dataclass(frozen=True, repr=False)
class _FuseOperand(Strategy):
    """Moves elementwise operations into the views and loops that compute a stored array."""

    def run(self, term: Term, setting: Setting) -> Result:
        in_loop = try_(normalize(choice(_LETS_FIRST, let_before_zip))) >> try_(
            _in_lets(_FuseOperand())
        )
        strategy = choice(
            seq(_VIEWS, _below_views(self)),
            _LOOPS >> inside(in_loop),
            _InRegisters(),
        )
        return strategy.run(term, setting)

    def __str__(self) -> str:
        return "fuse_operand()"


@dataclass(frozen=True, repr=False)
class _InRegisters(Strategy):
    """Computes elementwise operations on vectors of results that are in registers."""

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, MAP.name)
        pair = None if arguments is None else pattern_arguments(arguments[1], ZIP.name)
        stored = None if pair is None else pattern_arguments(pair[0], TO_MEM.name)
        vectors = None if stored is None else pattern_arguments(stored[0], AS_SCALAR.name)
        if vectors is None:
            return Failure(self, "expected stored elements of vectors", term)
        lanes = element_of(vectors[0].type)
        assert isinstance(lanes, VectorType)
        if not lanes.length.is_constant:
            return Failure(self, "expected vectors of known length", term)
        strategy = argument(function(argument(not_stored))) >> vectorize(lanes.length.constant)
        return strategy.run(term, setting)

    def __str__(self) -> str:
        return "in_registers()"


_FUSE_READER = seq(
    Guard("it reads a stored result and an operand", _reads_result),
    try_(Guard("the result comes second", _is_second) >> zip_swapped),
    try_(name_operand_of_rows),
    _FuseOperand(),
)


@dataclass(frozen=True, repr=False)
class _FuseNamed(Strategy):
    """Fuses a result that a let names, if only a map over it and an operand reads it."""

    def can_match(self, head: str) -> bool:
        return head == LET.name

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, LET.name)
        if arguments is not None and isinstance(arguments[1], Lambda):
            path = _path_of_only_reader(arguments[1].body)
            if path is not None and _is_large_result(arguments[0]):
                return (inline_let >> AtPath(path, _FUSE_READER)).run(term, setting)
        return Failure(self, "expected a stored result that one map reads with an operand", term)

    def __str__(self) -> str:
        return "fuse_operand()"


def _below_views(strategy: Strategy) -> Strategy:
    """Apply a strategy to the map whose result is viewed."""
    return argument(strategy)


def _in_lets(strategy: Strategy) -> Strategy:
    """Apply a strategy to the body of lets."""
    return _InLets(strategy)


@dataclass(frozen=True, repr=False)
class _InLets(Strategy):
    strategy: Strategy

    def run(self, term: Term, setting: Setting) -> Result:
        if pattern_arguments(term, "let") is None:
            return self.strategy.run(term, setting)
        return argument(body(self)).run(term, setting)

    def __str__(self) -> str:
        return str(self.strategy)


def fuse_stored_operands() -> Strategy:
    """Compute elementwise operations on a stored result and an operand where it is computed."""
    return try_(normalize(_LETS_FIRST)) >> everywhere(choice(_FuseNamed(), _FUSE_READER))
