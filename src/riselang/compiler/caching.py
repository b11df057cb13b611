"""Find compiled modules in the kernel cache, or compile and store them there."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.pattern_spec import Role
from riselang.native.gpu_targets import gpu_target
from riselang.native.llvm.thread_pool import has_threads
from riselang.pipelines import GPU
from riselang.runtime.artifact import Artifact, ExpectedFunctions
from riselang.runtime.cache import default_cache
from riselang.runtime.environment import fingerprint
from riselang.support import config
from riselang.support.config import Options
from riselang.support.forking import import_logging
from riselang.support.garbage_collection import infrequent_gc
from riselang.support.machine import this_machine
from riselang.support.progress import progress
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


def find_cached(key: str, name: str, expected: ExpectedFunctions) -> Artifact | None:
    """Return the cached code if it exists, has the wanted functions and can be loaded."""
    cache = default_cache()
    data = cache.read(key) if cache is not None else None
    if data is None:
        return None
    try:
        artifact = Artifact.from_bytes(data)
        artifact.check(expected)
    except ValueError as error:
        _log("%s in the cache cannot be used: %s", name, error)
        return None
    _log("found %s in the cache", name)
    return artifact


def find_or_compile(
    key: str, name: str, make: Callable[[], Artifact], expected: ExpectedFunctions
) -> Artifact:
    """Return the cached code if it has the wanted functions, else compile and store it."""
    cached = find_cached(key, name, expected)
    if cached is not None:
        return cached
    start = time.perf_counter()
    with infrequent_gc(), progress(f"compiling {name}"):
        artifact = make()
    _log("compiled %s in %.0f ms", name, 1e3 * (time.perf_counter() - start))
    cache = default_cache()
    if cache is not None and not cache.write(key, artifact.to_bytes()):
        _log("%s is not cached: the cache in %s cannot be written", name, cache.folder)
    return artifact


def _is_parallel(term: Term) -> bool:
    """Return whether a term has loops that may run in parallel; embedded ops may have some."""
    return has_pattern(term, *_PARALLEL_PATTERNS) or bool(term.patterns & EMBEDS)


def _log(message: str, *arguments: object) -> None:
    if config.log_compiles():
        logging = import_logging()
        logger = logging.getLogger("riselang")
        if not logger.handlers:
            # Log to stderr unless the application has configured a handler.
            handler = logging.StreamHandler(sys.stderr)
            handler.setFormatter(logging.Formatter("riselang: %(message)s"))
            logger.addHandler(handler)
            logger.setLevel(logging.INFO)
        logger.info(message, *arguments)
