"""Attention in models: recovers its definition from operations on whole arrays.

A model stores all scores, and each step of the softmax is a loop over them. Where the sums of the
values are stored, all these steps are fused into the loop over the queries, and the names between
them are replaced with what they stand for. The result is the definition of attention, or it is
discarded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from riselang.rewrite.combinators import choice, try_
from riselang.rewrite.core import Failure, Path, Result, Setting, Step, Strategy, Success
from riselang.rewrite.paths import subterm_at
from riselang.rewrite.rules.functions import beta, inline_let, map_fission
from riselang.rewrite.rules.lowering import not_stored, store_on_heap
from riselang.rewrite.rules.movement import map_before_split
from riselang.rewrite.rules.weighted_sums import scale_after_products
from riselang.rewrite.strategies.gpu_attention import TILES, attention_strategy
from riselang.rewrite.strategies.gpu_operands import has_rows
from riselang.rewrite.strategies.gpu_rows import FUSIONS
from riselang.rewrite.strategies.matmul_shapes import match_product
from riselang.rewrite.term_parts import abstract_over, has_cost, pattern_arguments, view_source
from riselang.rewrite.traversals import normalize, run_at
from riselang.term.nodes import DepLambda, Lambda, Scalar, Term, has_pattern, subterms
from riselang.term.substitution import mentions, shift

_FUSION = normalize(choice(FUSIONS, not_stored))
_DEFINITION = _FUSION >> try_(normalize(scale_after_products))


@dataclass(frozen=True, repr=False)
class _ViewsLast(Strategy):
    """Computes elements in a map of their own, before the map that rearranges them."""

    def run(self, term: Term, setting: Setting) -> Result:
        mapped = pattern_arguments(term, "map")
        body = mapped[0].body if mapped and isinstance(mapped[0], Lambda) else None
        if body is None or not has_cost(body) or view_source(body) is None:
            return Failure(self, "expected a map of computed views", term)
        return map_fission.run(term, setting)

    def __str__(self) -> str:
        return "views_last()"


@dataclass(frozen=True, repr=False)
class _MapBeforeSplit(Strategy):
    """Computes the elements of blocks before the array is split."""

    def run(self, term: Term, setting: Setting) -> Result:
        mapped = pattern_arguments(term, "map")
        if mapped is None or not has_cost(mapped[0]):
            return Failure(self, "expected blocks whose elements are computed", term)
        return map_before_split.run(term, setting)

    def __str__(self) -> str:
        return "map_before_split()"


_ELEMENTS_FIRST = try_(normalize(_ViewsLast())) >> try_(normalize(_MapBeforeSplit()))


@dataclass(frozen=True, repr=False)
class RecoverAttention(Strategy):
    """Fuses stored scores, their softmax, and the sums of the values, if a GPU computes them in one
    pass."""

    def run(self, term: Term, setting: Setting) -> Result:
        if setting.tensor_unit and setting.float == "relaxed" and _has_power(term):
            inlined = _inline_products.run(term, setting)
            assert isinstance(inlined, Success), inlined
            for path in _stored_products(inlined.term):
                result = _fuse_scores(inlined.term, path, setting)
                if result is not None:
                    return Success(result.term, (*inlined.steps, *result.steps))
        return Failure(self, "expected scores that are stored", term)

    def __str__(self) -> str:
        return "recover_attention()"


def _has_power(term: Term) -> bool:
    return any(isinstance(part, Scalar) and part.op == "math.exp" for part in subterms(term))


def _stored_products(program: Term) -> Iterator[Path]:
    """Yield the paths of the names of stored batches of products, also in functions."""
    stack: list[tuple[Path, Term]] = [((), program)]
    while stack:
        path, term = stack.pop()
        if isinstance(term, Lambda | DepLambda):
            stack.append(((*path, 0), term.children[0]))
        elif (let := pattern_arguments(term, "let")) and isinstance(let[1], Lambda):
            stored = pattern_arguments(let[0], "toMem")
            if stored is not None and _is_batch(stored[-1]):
                yield path
            stack += [((*path, 1, 0), let[1].body), ((*path, 0, 1), let[0])]


@dataclass(frozen=True, repr=False)
class _InlineProduct(Strategy):
    """Replaces the name of a function that only multiplies matrices, and is called often."""

    def run(self, term: Term, setting: Setting) -> Result:
        let = pattern_arguments(term, "let")
        function = None if let is None else let[0]
        while isinstance(function, Lambda):
            function = function.body
        if let is None or function is let[0] or function is None or not _is_batch(function):
            return Failure(self, "expected a function that multiplies matrices", term)
        return inline_let.run(term, setting)

    def __str__(self) -> str:
        return "inline_product()"


_inline_products = try_(normalize(_InlineProduct())) >> try_(normalize(beta))


def _is_batch(term: Term) -> bool:
    """Whether a term multiplies several matrices."""
    batch = pattern_arguments(term, "map")
    if batch is None or not isinstance(batch[0], Lambda):
        return False
    return has_pattern(batch[0].body, "reduce") and match_product(batch[0].body) is not None


def _fuse_scores(term: Term, path: Path, setting: Setting) -> Result | None:
    """Return the program in which the named scores at a path are a part of attention; None if they
    are read elsewhere, or differently."""
    let = pattern_arguments(subterm_at(term, path), "let")
    assert let is not None
    scores, steps = let[0], ()
    term, steps = _applied(inline_let, term, path, setting, steps)
    first, first_scores = path, scores
    while True:
        part = subterm_at(term, path)
        let = pattern_arguments(part, "let")
        value = part if let is None else let[0]
        if not _contains(value, scores):
            if let is None or not isinstance(let[1], Lambda):
                return None
            path, scores = (*path, 1, 0), shift(scores, 1)
            continue
        start = path if let is None else (*path, 0, 1)
        for place in _weighted_sums(value, scores):
            whole = (*start, *place)
            result = run_at(_DEFINITION, term, whole, subterm_at(term, whole), setting)
            if isinstance(result, Success) and _is_attention(result.term, whole, setting):
                if _contains(subterm_at(result.term, first), first_scores):
                    return None
                return _with_epilogue(Success(result.term, (*steps, *result.steps)), whole, setting)
        if let is None:
            return None
        term, steps = _applied(inline_let, term, path, setting, steps)


def _with_stored_operands(attention: Success, path: Path, setting: Setting) -> Success:
    """Return the program with copies of the operands that the kernel cannot read where they are."""
    mapped = pattern_arguments(subterm_at(attention.term, path), "map")
    assert mapped is not None
    for place in _zipped(mapped[1], (1,)):
        array = subterm_at(attention.term, (*path, *place))
        if not has_rows(array, TILES[0].rows):
            term, steps = _applied(
                store_on_heap, attention.term, (*path, *place), setting, attention.steps
            )
            attention = Success(term, steps)
    return attention


def _zipped(arrays: Term, path: Path) -> Iterator[Path]:
    """Yield the paths of zipped arrays."""
    pair = pattern_arguments(arrays, "zip")
    if pair is None:
        yield path
    else:
        yield from _zipped(pair[0], (*path, 0, 1))
        yield from _zipped(pair[1], (*path, 1))


def _with_epilogue(attention: Success, path: Path, setting: Setting) -> Success:
    """Return the program in which attention computes what is computed of its stored results."""
    attention = _with_stored_operands(attention, path, setting)
    term = attention.term
    stored = path[:-1]
    start = next(
        (
            path[:end]
            for end in range(len(stored), 0, -1)
            if end < len(stored) and pattern_arguments(subterm_at(term, path[: end - 1]), "toMem")
        ),
        None,
    )
    if start is None or pattern_arguments(subterm_at(term, stored), "toMem") is None:
        return attention
    results = subterm_at(term, stored)
    moved = run_at(_ELEMENTS_FIRST, term, start, subterm_at(term, start), setting)
    assert isinstance(moved, Success), moved
    for place, part in _terms(subterm_at(moved.term, start)):
        mapped = pattern_arguments(part, "map")
        if mapped is not None and mapped[1] == results:
            whole = (*start, *place)
            fused = run_at(_DEFINITION, moved.term, whole, part, setting)
            if isinstance(fused, Success) and _is_attention(fused.term, whole, setting):
                steps = (*attention.steps, *moved.steps, *fused.steps)
                return Success(fused.term, steps)
    return attention


def _terms(term: Term) -> Iterator[tuple[Path, Term]]:
    """Yield the subterms that are in no function."""
    stack: list[tuple[Path, Term]] = [((), term)]
    while stack:
        path, part = stack.pop()
        yield path, part
        if not isinstance(part, Lambda | DepLambda):
            stack += [((*path, number), child) for number, child in enumerate(part.children)]


def _applied(
    strategy: Strategy, term: Term, path: Path, setting: Setting, steps: tuple[Step, ...]
) -> tuple[Term, tuple[Step, ...]]:
    result = run_at(strategy, term, path, subterm_at(term, path), setting)
    assert isinstance(result, Success), result
    return result.term, (*steps, *result.steps)


def _is_attention(term: Term, path: Path, setting: Setting) -> bool:
    return attention_strategy(subterm_at(term, path), setting) is not None


def _contains(term: Term, part: Term) -> bool:
    """Whether a part occurs in a term, both of which are in the same scope."""
    return mentions(abstract_over(term, part), 0)


def _weighted_sums(value: Term, scores: Term) -> list[Path]:
    """Return the paths of batches of products that depend on the scores, the innermost first."""
    paths = [
        path
        for path, part in _terms(value)
        if part != scores and _is_batch(part) and _has_power(part)
    ]
    return sorted(paths, key=len, reverse=True)
