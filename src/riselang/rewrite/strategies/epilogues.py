"""Epilogues: elementwise operations on the results of a kernel, such as biases and activations.

    sums |> map(fun(row, zip(row, b) |> map(f)))

Here, a kernel is a computation that the default strategy recognizes. An epilogue that is fused into
the maps of the kernel works on registers: the maps are tiled, and in each tile all sums are
computed first, followed by the epilogue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from riselang.dialects.rise.types import ScalarType
from riselang.rewrite.combinators import Guard, choice, repeat, seq, try_
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy, Success
from riselang.rewrite.rules.algorithmic import map_fusion, zip_of_map_first, zip_of_map_second
from riselang.rewrite.rules.functions import (
    inline_let,
    is_reduction_nest,
    map_of_firsts,
    map_of_seconds,
    name_stored,
    reductions_first,
    reductions_first_with,
)
from riselang.rewrite.rules.lowering import not_stored
from riselang.rewrite.rules.movement import split_before_zip
from riselang.rewrite.selectors import loop
from riselang.rewrite.strategies.schedules import SIMPLIFICATIONS, vectorize
from riselang.rewrite.term_parts import is_free_to_read, pattern_arguments, view_source
from riselang.rewrite.traversals import argument, body, function, inside, normalize
from riselang.term.nodes import Lambda, Literal, Scalar, Term

TIDY: Strategy = normalize(choice(SIMPLIFICATIONS, map_of_firsts, map_of_seconds))
"""Removes zips of which only one component is used."""


def reduction_in(function: Term) -> list[Term] | None:
    """Find the reduction in a function that returns scalars computed from it and the parameter."""
    reductions: list[list[Term]] = []
    stack = [function.body] if isinstance(function, Lambda) else []
    while stack:
        part = stack.pop()
        reduction, let = pattern_arguments(part, "reduce"), pattern_arguments(part, "let")
        if reduction is not None:
            reductions.append(reduction)
        elif let is not None and isinstance(let[1], Lambda):
            stack.append(let[0])
            if not _is_scalar_arithmetic(let[1].body):
                return None
        elif isinstance(part, Scalar):
            stack += part.operands
        elif not _is_scalar_arithmetic(part):
            return None
    return reductions[0] if len(reductions) == 1 else None


def _is_scalar_arithmetic(term: Term) -> bool:
    """Whether a term is a scalar that is computed from other scalars, without a loop."""
    stack = [term]
    while stack:
        part = stack.pop()
        let = pattern_arguments(part, "let")
        if let is not None and isinstance(let[1], Lambda):
            stack += [let[0], let[1].body]
        elif isinstance(part, Scalar):
            stack += part.operands
        elif not _is_scalar(part):
            return False
    return True


def _is_scalar(term: Term) -> bool:
    is_known = isinstance(term, Literal) or is_free_to_read(term)
    return is_known and isinstance(term.type, ScalarType)


def _is_epilogue(term: Term) -> bool:
    """Whether a map reads the sums of a kernel, and is not a part of it."""
    arguments = pattern_arguments(term, "map")
    if arguments is None or is_reduction_nest(term):
        return False
    sums: Term | None = arguments[1]
    while sums is not None and not is_reduction_nest(sums):
        sums = view_source(sums)
    return sums is not None


def _is_zip(term: Term) -> bool:
    return pattern_arguments(term, "zip") is not None


def at_sums(strategy: Strategy) -> Strategy:
    """Apply a strategy to the sums, with or without an epilogue around them."""
    return choice(Guard("it reads sums", _is_epilogue) >> argument(strategy), strategy)


def at_columns(strategy: Strategy) -> Strategy:
    """Apply a strategy to the columns of a map, even if they are zipped with an epilogue's operand.

    If they are zipped, a let binds them, so that their buffer is separate from the operand.
    """
    is_paired = Guard("it is a zip", _is_zip)
    apply_to_component = choice(function(argument(strategy)), argument(strategy))
    return choice(argument(is_paired >> apply_to_component) >> name_stored, argument(strategy))


def store_in_each_iteration(strategy: Strategy) -> Strategy:
    """Let the strategy store the columns of a map, each in the first iteration that uses it."""
    is_paired = Guard("it is a zip", _is_zip)
    store_first = argument(is_paired >> function(argument(strategy)) >> zip_of_map_first)
    store_second = argument(is_paired >> argument(strategy) >> zip_of_map_second)
    # Only the stored columns are bound by a let, not the epilogue's operand.
    name_columns = inside(name_stored >> argument(body(inline_let)))
    return (
        choice(store_first, store_second, argument(strategy)) >> map_fusion >> name_columns >> TIDY
    )


tile_pairs: Strategy = argument(split_before_zip) >> map_fusion
"""Tiles both components of a zip that a map reads: the columns, and their operand."""
sums_before_epilogue: Strategy = seq(
    choice(reductions_first_with, reductions_first) @ loop(2) >> TIDY @ loop(2),
    reductions_first,
)
"""In a tile of a kernel, computes all sums before the epilogue."""


def vectorize_epilogue(lanes: int) -> Strategy:
    """Vectorize an epilogue whose sums are in vectors."""
    is_epilogue = Guard("it reads sums", _is_epilogue)
    return is_epilogue >> map_fusion >> vectorize(lanes) @ loop(2)


_move_map_out_of_zip = choice(zip_of_map_first, zip_of_map_second)
fuse_into_rows: Strategy = map_fusion >> inside(
    try_(repeat(argument(_move_map_out_of_zip))) >> map_fusion
)
"""Computes an epilogue in the maps that compute its rows."""
_fuse_stored = argument(not_stored) >> fuse_into_rows


@dataclass(frozen=True, repr=False)
class FuseEpilogue(Strategy):
    """Fuses an epilogue of stored sums into the kernel that computes them."""

    is_kernel: Callable[[Term], bool]

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "map")
        stored_arguments = None if arguments is None else pattern_arguments(arguments[1], "toMem")
        if stored_arguments is None or not self.is_kernel(stored_arguments[0]):
            return Failure(self, "expected a map over the stored sums of a kernel", term)
        result = (_fuse_stored >> TIDY).run(term, setting)
        if isinstance(result, Success) and not self.is_kernel(result.term):
            reason = "the epilogue is more than elementwise arithmetic"
            return Failure(self, reason, term, closeness=CONDITION)
        return result

    def __str__(self) -> str:
        return "fuse_epilogue()"
