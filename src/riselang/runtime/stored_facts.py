"""Small facts that are slow to find out, in the kernel cache: this CPU, and digests of files."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from riselang.runtime.cache import KernelCache, default_cache

FOLDER = "facts"
"""The folder in the kernel cache."""
_LIMIT = 1 << 20
"""The maximum total size of the facts in bytes."""


def facts_cache(kernels: KernelCache) -> KernelCache:
    """Return the cache of the facts in a kernel cache."""
    return KernelCache(kernels.folder / FOLDER, _LIMIT)


def read_fact(*key: object) -> Any:
    """Return the fact that was stored for a key, as JSON; None if there is none."""
    kernels = default_cache()
    data = None if kernels is None else facts_cache(kernels).read(_name(key))
    try:
        return None if data is None else json.loads(data)
    except ValueError:
        return None


def store_fact(fact: Any, *key: object) -> None:
    """Store a fact, as JSON, for later processes."""
    kernels = default_cache()
    if kernels is not None:
        facts_cache(kernels).write(_name(key), json.dumps(fact).encode())


def _name(key: tuple[object, ...]) -> str:
    return hashlib.sha256(json.dumps([str(each) for each in key]).encode()).hexdigest()
