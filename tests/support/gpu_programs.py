"""Random programs for a GPU: their maps go to parts of it, one way or another."""

from __future__ import annotations

import random

from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.nat import Nat
from riselang.rewrite.paths import rebuild
from riselang.term.nodes import Apply, Pattern, Term

MAPS = ("map", "mapSeq", "mapPar", "mapSeqUnroll")
NESTED = {
    "": ("mapPar", "mapBlock 0", "mapBlock 1", "mapThread 0", "mapThread 1", "mapWarp", "mapLane"),
    "mapBlock": ("mapThread 0", "mapThread 1", "mapBlock 1", "mapWarp", "mapLane"),
    "mapThread": ("mapThread 0", "mapThread 2"),
    "mapWarp": ("mapLane",),
}
"""What is mostly put inside of what; some of it is refused."""


def on_gpu(term: Term, source: random.Random, outer: str = "") -> Term:
    """The program with some of its maps on parts of a GPU."""
    if isinstance(term, Apply) and isinstance(term.function, Apply):
        head = term.function.function
        choices = NESTED.get(outer, ())
        if (
            isinstance(head, Pattern)
            and head.spec.name in MAPS
            and choices
            and source.random() < 0.7
        ):
            name, _, axis = source.choice(choices).partition(" ")
            numbers = [Nat.const(int(axis))] if axis else []
            pattern = Pattern(PATTERNS[name], [*numbers, *head.arguments], None, head.location)
            function = on_gpu(term.function.argument, source, name)
            argument = on_gpu(term.argument, source, outer)
            return Apply(Apply(pattern, function), argument)
    return rebuild(term, [on_gpu(child, source, outer) for child in term.children])
