"""The cache of the functions that all kernels share: the memory pool, the threads and calls.

Compiling them takes a tenth of a second, longer than loading most kernels from the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from riselang.native import code_loading
from riselang.runtime.cache import KernelCache, default_cache
from riselang.runtime.environment import fingerprint

FOLDER = "shared"
"""The folder in the kernel cache."""


@cache
def use_cached_code() -> None:
    """Load the functions from the cache, and store them there."""
    code_loading.cache_shared_code(_find_or_compile)


def shared_cache(kernels: KernelCache) -> KernelCache:
    """Return the cache of these functions in a kernel cache."""
    return KernelCache(kernels.folder / FOLDER, kernels.limit)


def _find_or_compile(text: str, compile: Callable[[], bytes]) -> bytes:
    kernels = default_cache()
    if kernels is None:
        return compile()
    kept, key = shared_cache(kernels), fingerprint("shared code", text)
    code = kept.read(key)
    if code is None:
        code = compile()
        kept.write(key, code)
    return code
