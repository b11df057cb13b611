"""GPU mapping of the outermost loops of a program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType
from riselang.rewrite.core import Failure, Path, Result, Setting, Step, Strategy, Success
from riselang.rewrite.paths import subterm_at, written_paths
from riselang.rewrite.registry import schedule
from riselang.rewrite.rules.lowering import map_in_parallel, map_over_blocks, map_over_threads
from riselang.rewrite.strategies.threads import outermost_maps
from riselang.rewrite.term_parts import has_cost, pattern_arguments
from riselang.rewrite.traversals import run_at
from riselang.term.nodes import Lambda, Term

MIN_THREADS = 32
"""The size of a warp: shorter loops would leave its threads idle."""
FUNCTION, BODY = (0, 1), 0
"""The path of a map's function, and of its body."""


@schedule
def on_gpu() -> Strategy:
    """Maps the outermost loops to GPU threads, or to blocks and threads if they are nested."""
    return _OnGpu()


@dataclass(frozen=True, repr=False)
class _OnGpu(Strategy):
    def run(self, term: Term, setting: Setting) -> Result:
        steps: tuple[Step, ...] = ()
        for path in list(outermost_maps(term)):
            inner = list(_thread_maps(subterm_at(term, path), path))
            rules = [(map_over_threads, map_path) for map_path in inner]
            rules.append((map_over_blocks if inner else map_in_parallel, path))
            for rule, map_path in rules:
                result = run_at(rule, term, map_path, subterm_at(term, map_path), setting)
                assert isinstance(result, Success), result
                term, steps = result.term, (*steps, *result.steps)
        return Success(term, steps) if steps else Failure(self, "there is no outermost map", term)

    def __str__(self) -> str:
        return "on_gpu()"


def _thread_maps(outer_map: Term, path: Path) -> Iterator[Path]:
    """Yield the maps whose results a map stores, if they are long enough for a block's threads."""
    arguments = pattern_arguments(outer_map, "map")
    assert arguments is not None
    function = arguments[0]
    if not isinstance(function, Lambda):
        return
    thread_maps: list[Path] = []
    for map_path in written_paths(function.body):
        part = subterm_at(function.body, map_path)
        inner = pattern_arguments(part, "map")
        is_new = all(map_path[: len(outer_path)] != outer_path for outer_path in thread_maps)
        if inner is not None and is_new and has_cost(inner[0]) and _is_long(inner[1]):
            thread_maps.append(map_path)
            yield (*path, *FUNCTION, BODY, *map_path)


def _is_long(xs: Term) -> bool:
    assert isinstance(xs.type, ArrayType)
    length = xs.type.length
    return length.is_constant and length.constant >= MIN_THREADS
