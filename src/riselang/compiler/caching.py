"""The keys of compiled modules in the kernel cache."""

from __future__ import annotations

import os

from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.pattern_spec import Role
from riselang.native.gpu_targets import gpu_target
from riselang.native.llvm.thread_pool import has_threads
from riselang.pipelines import GPU
from riselang.runtime.environment import fingerprint
from riselang.support.config import Options
from riselang.support.machine import this_machine
from riselang.term.digest import digest
from riselang.term.nodes import EMBEDS, Term, has_pattern

_PARALLEL_PATTERNS = tuple(name for name, spec in PATTERNS.items() if spec.role is Role.PARALLEL)
"""Patterns that may run in parallel."""


def term_key(
    term: Term, name: str, results: int, options: Options, strategy: str | None = None
) -> str:
    """Return the cache key of a term, or of the result of applying a built-in strategy to it."""
    content, target = digest(term, every_location=options.debug_info), _target(options)
    if strategy is None:
        threads = _is_parallel(term) and has_threads()
        return fingerprint("term", content, name, results, threads, options, target)
    threads = has_threads()
    return fingerprint(strategy, this_machine(), content, name, results, threads, options, target)


def text_key(text: str, name: str, options: Options) -> str:
    """Return the cache key of an MLIR module; the locations of its checks contain `name`."""
    path = os.path.abspath(name) if options.debug_info else name
    return fingerprint("text", text, path, has_threads(), options, _target(options))


def _target(options: Options) -> str:
    """Return the GPU architecture that the code is for; of a CPU, the environment names it."""
    return gpu_target().chip if options.loops == GPU else ""


def _is_parallel(term: Term) -> bool:
    """Return whether a term has loops that may run in parallel; embedded ops may have some."""
    return has_pattern(term, *_PARALLEL_PATTERNS) or bool(term.patterns & EMBEDS)
