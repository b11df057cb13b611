"""Which rewrites a search tries: those that can introduce what a sketch mentions."""

from __future__ import annotations

from functools import partial

from riselang.dialects.rise.types import ArrayType
from riselang.nat import Nat
from riselang.rewrite.combinators import Guard
from riselang.rewrite.core import Strategy
from riselang.rewrite.registry import load_all
from riselang.rewrite.rule import RULES, Rule
from riselang.rewrite.rules.algorithmic import map_fusion, reduce_map_fusion
from riselang.rewrite.rules.functions import hoist_from_map, hoist_from_reduce, share_rows
from riselang.rewrite.rules.lowering import store_on_heap
from riselang.rewrite.saturation.graph import Depth, Move
from riselang.rewrite.saturation.sketches import Applied, Sketch
from riselang.rewrite.strategies.convolution import separate_sum
from riselang.rewrite.strategies.schedules import interchange, pack, split, vectorize
from riselang.rewrite.term_parts import has_cost, pattern_arguments
from riselang.term.nodes import Pattern, Term, has_pattern, subterms

LOOPS = ("map", "reduce")
_STORES = Guard("it stores a value", lambda term: has_pattern(term, "toMem"))

_COMPUTES = Guard("a map computes the elements", lambda term: _computes(term))
_READS_UNSTORED = Guard("its array is not stored", lambda term: _reads_unstored(term))


def moves_for(sketch: Sketch, has_outline: bool, float: str) -> list[Move]:
    """Return the rewrites to try for a sketch.

    Loops are fused, split by the sizes that the sketch mentions, and interchanged, unless the
    program has the outline of the sketch, which is then about other things.
    Otherwise, a law is tried if its right-hand side has a pattern that the sketch mentions, and its
    left-hand side does not."""
    load_all()
    applied = [part for part in sketch.all_parts() if isinstance(part, Applied)]
    names = {part.name for part in applied}
    deep: list[Strategy] = [map_fusion, reduce_map_fusion]
    shallow: list[Strategy] = []
    if not has_outline:
        deep.append(interchange())
        for name in LOOPS:
            sizes = {part.size for part in applied if part.size is not None and part.name == name}
            shallow += _splits(name, sizes)
    lanes = {part.size for part in applied if part.name == "asVector" and part.size is not None}
    deep += [vectorize(size.constant) for size in lanes if size.is_constant]
    if "let" in names:
        shallow.append(_READS_UNSTORED >> pack())
        deep += [_STORES >> hoist_from_map, _STORES >> hoist_from_reduce]
    if "toMem" in names:
        shallow.append(_COMPUTES >> store_on_heap)
    if float == "relaxed":
        deep += [separate_sum, share_rows]
    last = [rule for rule in RULES.values() if _introduces(rule, names)]
    return [
        *(Move(each, Depth.HEAD) for each in shallow),
        *(Move(each, Depth.PARTS) for each in deep),
        *(Move(each, Depth.LAST) for each in last),
    ]


def _reads_unstored(term: Term) -> bool:
    arguments = pattern_arguments(term, "map")
    return arguments is not None and not has_pattern(arguments[1], "toMem")


def _computes(term: Term) -> bool:
    return pattern_arguments(term, "map") is not None and has_cost(term)


def _splits(name: str, sizes: set[Nat]) -> list[Strategy]:
    """Splits of loops into an outer and an inner one whose lengths the sketch mentions."""

    def can_split(term: Term, inner: Nat) -> bool:
        arguments = pattern_arguments(term, name)
        type = None if arguments is None else arguments[-1].type
        return isinstance(type, ArrayType) and any(
            type.length == outer * inner for outer in sizes if outer != 1
        )

    return [
        Guard(f"{name} has a mentioned length", partial(can_split, inner=size))
        >> split(size.constant)
        for size in sorted(sizes, key=str)
        if size.is_constant and size != 1
    ]


def _introduces(rule: Rule, names: set[str]) -> bool:
    """Whether a law of computations introduces a loop pattern that a sketch mentions."""
    if not rule.is_built_in or rule.parameters or rule.family != "lowering":
        return False
    left, right = (_names(side) for side in rule.law.sides)
    introduced = right - left
    return bool(introduced) and introduced <= names and bool(left & set(LOOPS))


def _names(term: Term) -> set[str]:
    return {each.spec.name for each in subterms(term) if isinstance(each, Pattern)}
