"""Which values a let stores in a buffer: not those that are in one, or views of such values."""

from __future__ import annotations

from collections.abc import Sequence

from riselang.dialects.rise.pattern_registry import (
    FROM_IDX,
    FST,
    GENERATE,
    SND,
    TUPLE,
    UNZIP,
    ZIP,
)
from riselang.dialects.rise.pattern_spec import Role
from riselang.dialects.rise.types import ArrayType, uncurry
from riselang.term.cost import byte_size
from riselang.term.nodes import (
    Apply,
    Bound,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    apply_all,
    spine,
    subterms,
)
from riselang.term.view_inverses import is_view

BUFFERED_PATTERNS = frozenset((
    "reduce", "reduceSeq", "reduceSeqUnroll", "reducePar", "reduceRank", "iterate",
    "iterateSeq", "while",
    "toMem", "circularBuffer", "rotateValues",
))  # fmt: skip
"""Patterns whose arrays are in buffers of their own when they are read."""
COPIES = frozenset(("updateAt", "scatter", "scatterWith", "sort", "toMem"))
"""Patterns that copy an array to a buffer, and change the copy."""
LOOPS = frozenset(("mapSeq", "mapSeqUnroll", "mapPar", "mapRank", *COPIES))
"""Patterns whose arrays are stored in buffers by loops, also where they are read."""
COPIED_VIEWS = ("slide", "drop")
"""Views that select elements of stored arrays at fixed distances; a loop cannot store its results
through them, so storing such a view copies it."""
SELECTIONS = ("at", "sliceAt", "reorder")
"""Patterns that select elements of their last argument, at indices that are computed."""

INDEX_ARITHMETIC = frozenset((
    "arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori", "arith.shli",
    "arith.shrui", "arith.cmpi", "arith.select", "arith.extsi", "arith.extui", "arith.trunci",
    "arith.index_cast", "arith.sitofp",
))  # fmt: skip
MAX_INDEX_OPERATIONS = 6
"""The number of operations that take about as long as to load a scalar."""


def is_index_arithmetic(term: Term) -> bool:
    """Whether the elements of an array are simple functions of their indices, as in a range.

    Computing such an element takes about as long as loading it. If it is not stored, the intervals
    of the indices also show which comparisons with it, and which checks of indices, are needed.
    """
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or head.spec is not GENERATE or term.open:
        return False
    (function,) = arguments
    if not isinstance(function, Lambda) or isinstance(function.body.type, ArrayType):
        return False
    parts = list(subterms(function.body))
    operations = sum(isinstance(part, Scalar) for part in parts)
    return operations <= MAX_INDEX_OPERATIONS and all(map(_is_index_operation, parts))


def _is_index_operation(term: Term) -> bool:
    match term:
        case Scalar(op):
            return op in INDEX_ARITHMETIC
        case Pattern(spec):
            return spec is FROM_IDX
        case _:
            return isinstance(term, Apply | Bound | Literal)


def is_in_buffer(term: Term) -> bool:
    """Whether a value that is read is in buffers, or a view of such values, at any indices.

    Loops store their results through most views, but not through those that are copied.
    """
    stack = [(term, False)]
    while stack:
        current, is_copied = stack.pop()
        head, arguments = spine(current)
        if not isinstance(head, Pattern) or len(arguments) != head.spec.arity:
            if not is_view(current):
                return False
        elif head.spec in (FST, SND):
            stack.append((_selected_part(head, arguments[0]), is_copied))
        elif head.spec.name in SELECTIONS:
            stack.append((arguments[-1], True))
        elif head.spec.role is Role.VIEW:
            is_copied |= head.spec.name in COPIED_VIEWS
            stack.extend((each, is_copied) for each in arguments)
        elif not _is_stored(head, is_copied=is_copied) and not _has_views(head, arguments):
            return False
    return True


def _is_stored(head: Pattern, *, is_copied: bool) -> bool:
    return head.spec.name in BUFFERED_PATTERNS or (is_copied and head.spec.name in LOOPS)


def _has_views(head: Pattern, arguments: Sequence[Term]) -> bool:
    """Whether all elements of a map or a generate are views of variables."""
    if head.spec is GENERATE and isinstance(arguments[0], Lambda):
        return is_view(arguments[0].body)
    return is_view(apply_all(head, arguments))


def _selected_part(projection: Pattern, pair: Term) -> Term:
    """The component that fst or snd selects, or the pair if its components are not known."""
    part = known_part(projection, pair)
    return pair if part is None else part


def known_part(projection: Pattern, pair: Term) -> Term | None:
    """The component of a pair, or of the arrays of an unzip, that fst or snd selects, if known."""
    head, parts = spine(pair)
    made_by = TUPLE
    if isinstance(head, Pattern) and head.spec is UNZIP and len(parts) == 1:
        head, parts = spine(parts[0])
        made_by = ZIP
    is_known = isinstance(head, Pattern) and head.spec is made_by and len(parts) == 2
    return parts[0 if projection.spec is FST else 1] if is_known else None


def repeats_elements(view: Pattern, arguments: Sequence[Term]) -> bool:
    """Whether a view has more elements than its argument, such as windows that overlap."""
    if view.spec.role is not Role.VIEW or len(arguments) != view.spec.arity or not arguments:
        return False
    source, result = arguments[-1].type, uncurry(view.type)[1]
    if not isinstance(source, ArrayType) or not isinstance(result, ArrayType):
        return False
    sizes = [byte_size([type]) for type in (source, result)]
    return all(size.is_constant for size in sizes) and sizes[0].constant < sizes[1].constant
