"""`rl.explore`, which imports the explorer on its first call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from riselang.explorer.page import Page
    from riselang.rewrite.core import Strategy


def explore(
    program: Any,
    *arguments: Any,
    strategy: Strategy | str | None = None,
    bench: bool = False,
    rivals: Mapping[str, Callable[..., Any]] | None = None,
    **sizes: int,
) -> Page:
    """Make a page with every step that rewrites a program, and every stage of its code.

    `program` is a kernel, with arrays, array types or sizes by name as `lower` takes them; or a
    model, or the result of `trace`, `lower` or `tune`; of the last, the page has the trials, and
    the steps and stages of the fastest strategy. Notebooks display the page, and `save` writes it
    to a self-contained file. `strategy` overrides the program's own strategy. With `bench`, each
    version is benchmarked and the peak performance of the machine is measured; `rivals` maps names
    to functions of the same arrays to compare with.
    """
    from dataclasses import replace

    from riselang.api.lowered import resolve_strategy
    from riselang.explorer.page import Page
    from riselang.explorer.page_data import explore_program
    from riselang.explorer.program_sources import find_source, trace_program
    from riselang.explorer.subject import make_subject
    from riselang.explorer.tuning_view import Tuning
    from riselang.tuning.result import TuningResult

    tuning = None
    if isinstance(program, TuningResult):
        program, tuning = program.program, Tuning(program.trials, program.best)
    traced = trace_program(program, arguments, sizes)
    traced = replace(traced, strategy=resolve_strategy(strategy, traced.strategy))
    subject = make_subject(traced, find_source(traced.term), sizes)
    if not bench:
        return Page(explore_program(subject), tuning)
    from riselang.explorer.speed import measure_versions

    return Page(explore_program(subject, measure_versions(traced, rivals or {})), tuning)
