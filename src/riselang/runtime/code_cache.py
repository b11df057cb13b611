"""Find compiled modules in the kernel cache, or compile and store them there."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from riselang.runtime.artifact import Artifact, ExpectedFunctions
from riselang.runtime.cache import default_cache
from riselang.support import config
from riselang.support.forking import import_logging
from riselang.support.garbage_collection import infrequent_gc
from riselang.support.progress import progress


def find_cached(key: str, name: str, expected: ExpectedFunctions) -> Artifact | None:
    """Return the cached code if it exists, has the wanted functions and can be loaded."""
    cache = default_cache()
    data = cache.read_into(key, bytearray) if cache is not None else None
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
