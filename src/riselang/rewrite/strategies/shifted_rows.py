"""Programs in the style of NumPy: stages that read the rows of an earlier stage at offsets.

In `rows = x[:-2] + x[1:-1] + x[2:]`, a map reads three parts of the stored array `x`. If nothing
else reads it, the parts are windows of three rows, and the stage that computes `x` is fused with
the one that reads it: only the rows of a window are stored at a time, which stay in a cache.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import DROP, LET, MAP, TAKE, ZIP
from riselang.dialects.rise.types import ArrayType, RiseType, ScalarType
from riselang.rewrite.combinators import choice
from riselang.rewrite.core import Failure, Path, Result, Setting, Step, Strategy, Success
from riselang.rewrite.paths import subterm_at
from riselang.rewrite.rules.algorithmic import (
    map_fusion,
    map_pairing,
    zip_of_equal,
    zip_of_map_first,
    zip_of_map_second,
)
from riselang.rewrite.rules.functions import inline_let
from riselang.rewrite.rules.movement import windows_of_drop, windows_of_part, windows_of_take
from riselang.rewrite.term_parts import has_cost, pattern_arguments
from riselang.rewrite.traversals import normalize, run_at
from riselang.term.nodes import Apply, Bound, Lambda, Pattern, Term, spine
from riselang.term.substitution import mentions

BODY: Path = (1, 0)
"""The path of the body of a let."""
ARRAY: Path = (1,)
"""The path of the array that a map reads."""
MIN_ELEMENTS = 1 << 16
"""The minimum number of elements of a stage: smaller ones stay in a cache."""
_WINDOWS = choice(windows_of_part, windows_of_take, windows_of_drop)
_ONE_MAP = normalize(
    choice(zip_of_equal, map_pairing, zip_of_map_first, zip_of_map_second, map_fusion)
)


@dataclass(frozen=True, repr=False)
class FuseShiftedRows(Strategy):
    """Fuses a map that computes rows with the only map that reads them, at several offsets."""

    def can_match(self, head: str) -> bool:
        return head == LET.name

    def run(self, term: Term, setting: Setting) -> Result:
        path = _reader_of_rows(term)
        if path is None:
            return Failure(self, "expected rows that are computed, and read by one map", term)
        reader, offset = subterm_at(term, path), len(BODY)
        leaves = _leaves(subterm_at(reader, ARRAY))
        is_shifted = not isinstance(leaves[0][1], Bound)
        steps: tuple[Step, ...] = ()
        result: Result = Success(term, ())
        for strategy, place in (
            *(((_WINDOWS, (*path, *ARRAY, *leaf)) for leaf, _ in leaves) if is_shifted else ()),
            (_ONE_MAP, path),
            (inline_let, ()),
            (_ONE_MAP, path[offset:]),
        ):
            result = run_at(strategy, term, place, subterm_at(term, place), setting)
            if isinstance(result, Failure):
                return result
            term, steps = result.term, (*steps, *result.steps)
        if is_shifted and not _has_schedule(subterm_at(term, path[offset:]), setting):
            return Failure(self, "the windows would not be scheduled", term)
        return Success(term, steps)

    def __str__(self) -> str:
        return "fuse_shifted_rows()"


def _has_schedule(reader: Term, setting: Setting) -> bool:
    """Whether the default strategy schedules the windows that a map reads."""
    # Strategies for images are imported only for programs with windows.
    from riselang.rewrite.strategies.windows import recognize_windows

    return recognize_windows(reader, setting) is not None


def _reader_of_rows(term: Term) -> Path | None:
    """The path of the map that reads the value of a let, if it is the only one and is suitable."""
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or head.spec is not LET or len(arguments) != 2:
        return None
    value, function = arguments
    computed = pattern_arguments(value, MAP.name)
    if computed is None or not has_cost(computed[0]) or not isinstance(function, Lambda):
        return None
    path = path_of_only_reader(function.body) if _has_many_rows(value.type) else None
    return None if path is None else (*BODY, *path)


def _has_many_rows(type: RiseType) -> bool:
    """Whether an array has rows of scalars, and is large enough for its loops to be scheduled."""
    if not isinstance(type, ArrayType) or not isinstance(type.element, ArrayType):
        return False
    size = type.length * type.element.length
    is_large = size.is_constant and size.constant >= MIN_ELEMENTS
    return is_large and isinstance(type.element.element, ScalarType)


def path_of_only_reader(body: Term) -> Path | None:
    """The path of the only map that reads variable 0, outside of loops: all of its operands do."""
    path: Path = ()
    index = 0
    while True:
        arguments = pattern_arguments(body, MAP.name)
        if arguments is not None:
            reads = all(_is_part(leaf, index) for _, leaf in _leaves(arguments[1]))
            return path if reads and not mentions(arguments[0], index) else None
        inner = [position for position, child in enumerate(body.children)
                 if mentions(child, index + isinstance(body, Lambda))]  # fmt: skip
        if len(inner) != 1:
            return None
        child = body.children[inner[0]]
        if isinstance(child, Lambda) and not _is_let(body):
            return None
        index += isinstance(body, Lambda)
        body, path = child, (*path, inner[0])


def _is_let(term: Term) -> bool:
    head, arguments = spine(term)
    return isinstance(head, Pattern) and head.spec is LET and len(arguments) == 2


def _leaves(xs: Term) -> list[tuple[Path, Term]]:
    """The operands of nested zips, with their paths."""
    operands = pattern_arguments(xs, ZIP.name)
    if operands is None:
        return [((), xs)]
    return [
        ((*place, *path), leaf)
        for place, operand in zip(((0, 1), (1,)), operands, strict=True)
        for path, leaf in _leaves(operand)
    ]


def _is_part(leaf: Term, index: int) -> bool:
    """Whether an operand is a variable, or consecutive elements of it."""
    for spec in (TAKE, DROP):
        if isinstance(leaf, Apply) and (source := pattern_arguments(leaf, spec.name)) is not None:
            leaf = source[0]
    return isinstance(leaf, Bound) and leaf.index == index
