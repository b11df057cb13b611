"""GPU mapping of nested maps: the inner ones to the threads of a block, the others to blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from riselang.dialects.rise.pattern_spec import Role
from riselang.dialects.rise.types import ArrayType, FunType
from riselang.rewrite.core import Path, Strategy
from riselang.rewrite.eta import mentions
from riselang.rewrite.paths import subterm_at, written_paths
from riselang.rewrite.rules.lowering import (
    map_in_parallel,
    map_over_blocks,
    map_over_blocks_y,
    map_over_blocks_z,
    map_over_threads,
    map_over_threads_y,
    map_over_threads_z,
)
from riselang.rewrite.strategies.threads import outermost_maps
from riselang.rewrite.term_parts import has_cost, is_free_to_read, pattern_arguments
from riselang.term.nodes import (
    Apply,
    Bound,
    DepLambda,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    spine,
)

MIN_THREADS = 32
"""The size of a warp: shorter loops would leave its threads idle."""
ENOUGH_THREADS = 128
"""The number of threads of a block from which further loops are mapped to blocks."""
MAX_THREADS = 1024
GROUP_THREADS, MIN_GROUPS, MIN_VECTORS = 256, 256, 8
"""The number of threads that compute a group of short rows, the minimum number of groups, and that
of vectors of such a row."""
OVER_BLOCKS = (map_over_blocks, map_over_blocks_y, map_over_blocks_z)
OVER_THREADS = (map_over_threads, map_over_threads_y, map_over_threads_z)
FUNCTION, BODY = (0, 1), 0
"""The path of a map's function, and of its body."""


@dataclass(frozen=True)
class Level:
    """A map of a nest."""

    path: Path
    length: int | None
    """The number of its iterations; None if it is not known."""


def separate_maps(program: Term) -> list[Path]:
    """Return the paths of the maps that become kernels of their own, inner ones first.

    These are the maps that are in no other loop, and those whose results are stored for them. Views
    that are stored are kernels, too, which copy them.
    """
    paths: list[Path] = []
    programs: list[tuple[Path, Term]] = [((), program)]
    while programs:
        start, part = programs.pop()
        maps = list(outermost_maps(part))
        if start and () not in maps and is_free_to_read(part, COPIED):
            paths.append(start)
            programs += _stored_arrays(start, part)
            continue
        for path in maps:
            paths.append((*start, *path))
            outer_map = pattern_arguments(subterm_at(part, path), "map")
            assert outer_map is not None
            programs += _stored_arrays((*start, *path, 1), outer_map[1])
    paths += _named_views(program)
    paths += _stored_views(program)
    return sorted(dict.fromkeys(paths), key=len, reverse=True)


def _stored_views(program: Term) -> Iterator[Path]:
    """Yield the views that a program stores outside of loops."""
    stack: list[tuple[Path, Term]] = [((), program)]
    while stack:
        path, term = stack.pop()
        stored = pattern_arguments(term, "toMem")
        if isinstance(term, Lambda | DepLambda):
            stack.append(((*path, 0), term.children[0]))
        elif stored and isinstance(stored[0], Apply) and is_free_to_read(stored[0], COPIED):
            yield (*path, 1)
        else:
            is_let = pattern_arguments(term, "let") is not None
            while isinstance(term, Apply):
                if is_let or not isinstance(term.argument.type, FunType):
                    stack.append(((*path, 1), term.argument))
                path, term = (*path, 0), term.function


def _named_views(program: Term) -> Iterator[Path]:
    """Yield the views that a program names, and so stores, outside of loops."""
    stack: list[tuple[Path, Term]] = [((), program)]
    while stack:
        path, term = stack.pop()
        if isinstance(term, Lambda | DepLambda):
            stack.append(((*path, 0), term.children[0]))
        elif (arguments := pattern_arguments(term, "let")) is not None:
            value, body = arguments
            is_view = () not in outermost_maps(value) and not _is_stored(value)
            if isinstance(value, Apply) and is_view and is_free_to_read(value, COPIED):
                yield (*path, 0, 1)
            stack.append(((*path, 1), body))


def _is_stored(value: Term) -> bool:
    """Whether a value is in memory, and is not a part of an array."""
    return pattern_arguments(value, "toMem") is not None


def _stored_arrays(path: Path, array: Term) -> Iterator[tuple[Path, Term]]:
    """Yield the arrays that are stored before an array is read."""
    stack: list[tuple[Path, Term]] = [(path, array)]
    while stack:
        place, term = stack.pop()
        if (stored := pattern_arguments(term, "toMem")) is not None:
            yield (*place, 1), stored[-1]
        elif not isinstance(term, Lambda | DepLambda):
            stack += [((*place, number), child) for number, child in enumerate(term.children)]


def perfect_nest(outermost: Term) -> list[Level]:
    """Return a map, the map that computes its elements, and so on: nothing else is computed.

    The maps inside read their arrays without computing: such values might have to be stored. So
    are parts of padded arrays that are read several times, by the thread that reads them.
    """
    levels: list[Level] = []
    path: Path | None = ()
    is_padded = False
    while path is not None:
        current = subterm_at(outermost, path)
        arguments = pattern_arguments(current, "map")
        assert arguments is not None
        assert isinstance(current.type, ArrayType)
        length = current.type.length
        levels.append(Level(path, length.constant if length.is_constant else None))
        is_padded |= not is_free_to_read(arguments[1], STORED)
        inner = _inner_map(path, arguments[0]) if _is_cheap_to_read(arguments[1]) else None
        path = None if is_padded and not _maps_element(outermost, inner) else inner
    return levels


def _inner_map(path: Path, function: Term) -> Path | None:
    """Return the path of the map whose result, or a view of it, a map's function returns."""
    if not isinstance(function, Lambda):
        return None
    for inner in written_paths(function.body):
        part = subterm_at(function.body, inner)
        arguments = pattern_arguments(part, "map")
        if arguments is not None and has_cost(arguments[0]):
            return (*path, *FUNCTION, BODY, *inner) if _is_cheap_to_read(arguments[1]) else None
        if pattern_arguments(part, *VIEWS) is None:
            return None
    return None


def _maps_element(outermost: Term, path: Path | None) -> bool:
    """Whether a map in the function of another one is over the element of that one."""
    if path is None:
        return False
    arguments = pattern_arguments(subterm_at(outermost, path), "map")
    return arguments is not None and mentions(arguments[1], 0)


def _is_cheap_to_read(term: Term) -> bool:
    """Whether reading an array computes nothing, or a little arithmetic once for each element."""
    is_computed, is_repeated = False, False
    stack = [term]
    while stack:
        part = stack.pop()
        head, arguments = spine(part)
        if isinstance(head, Scalar):
            is_computed = True
            stack += head.operands
            continue
        if isinstance(part, Bound | Literal):
            continue
        if not isinstance(head, Pattern) or len(arguments) != head.spec.arity:
            return False
        if head.spec.name in STORED:
            continue
        if head.spec.name in SELECTED:
            stack += arguments
        elif head.spec.name in ("map", "generate") and isinstance(arguments[0], Lambda):
            stack += [arguments[0].body, *arguments[1:]]
        elif head.spec.role is Role.VIEW and not any(
            isinstance(each.type, FunType) for each in arguments
        ):
            is_repeated |= not _is_partition(head)
            stack += arguments
        else:
            return False
    return not (is_computed and is_repeated)


PARTITIONS = ("join", "split", "transpose", "reverse", "zip", "tuple", "fst", "snd", "padConst")
"""Views that present each element once."""


def _is_partition(pattern: Pattern) -> bool:
    if pattern.spec.name == "slide":
        return pattern.argument("sz") == pattern.argument("sp")
    return pattern.spec.name in PARTITIONS


STORED = ("toMem",)
COPIED = (*STORED, "at")
"""Patterns in arrays that are copied: stored arrays, and rows of arrays."""
SELECTED = ("at", "clampIdx")
"""Patterns that select an element by an index."""
VIEWS = ("join", "split", "transpose", "reverse", "map")
"""Patterns that only rearrange the array that a map computes; maps of such patterns do, too."""


def block_rules(levels: Sequence[Level]) -> list[tuple[Path, Strategy]]:
    """Return the rule for each of the innermost maps of a nest whose elements blocks compute."""
    rules = zip(reversed(levels), OVER_BLOCKS, strict=False)
    return [(level.path, rule) for level, rule in rules]


def thread_rules(levels: Sequence[Level]) -> list[tuple[Path, Strategy]]:
    """Return the rule for each map of a nest, the innermost first, whose elements threads compute.

    The innermost maps with enough iterations are mapped to threads. Inner maps that are too short
    for half a warp are left to the thread that runs them.
    """
    outer = list(levels)
    while True:
        count = _thread_levels(outer)
        if count == len(outer) == 1:
            return [(outer[0].path, map_in_parallel)]
        threads = [level.length or 1 for level in outer[len(outer) - count :]]
        if prod(threads) > MIN_THREADS // 2 or count == len(outer):
            break
        outer.pop()
    split = len(outer) - count
    pairs = zip(reversed(outer[split:]), OVER_THREADS, strict=False)
    return [*((level.path, rule) for level, rule in pairs), *block_rules(outer[:split])]


def short_rows(levels: Sequence[Level], lanes: int) -> tuple[Path, int] | None:
    """Return the map of which a block should compute several iterations, and their number, since
    its rows are too short for the threads of a block; None if they are not."""
    lengths = [level.length for level in levels]
    if len(lengths) < 2 or None in lengths or _thread_levels(levels) > 1:
        return None
    *_, count, length = (each or 1 for each in lengths)
    threads = length // lanes if length // lanes >= MIN_VECTORS else length
    if not MIN_VECTORS <= threads < ENOUGH_THREADS or length >= ENOUGH_THREADS:
        return None
    groups = prod(each or 1 for each in lengths[:-1])
    most = min(GROUP_THREADS // threads, groups // MIN_GROUPS)
    group = next((each for each in range(most, 1, -1) if count % each == 0), 1)
    return (levels[-2].path, group) if group * threads >= ENOUGH_THREADS else None


def _thread_levels(levels: Sequence[Level]) -> int:
    """Return how many of the innermost maps fit the threads of a block; at least one."""
    threads, count = levels[-1].length or MAX_THREADS, 1
    for level in reversed(levels[:-1]):
        length = level.length or MAX_THREADS
        if threads >= ENOUGH_THREADS or threads * length > MAX_THREADS or count == 3:
            break
        threads, count = threads * length, count + 1
    return count
