"""`rise cache`: list and remove the compiled kernels on disk."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from riselang.support import config
from riselang.support.counts import format_count

if TYPE_CHECKING:
    from riselang.runtime.cache import KernelCache


def add_cache_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("what", choices=("list", "clear", "path"))


def manage_cache(options: argparse.Namespace) -> None:
    from riselang.runtime.cache import KernelCache
    from riselang.runtime.shared_code import shared_cache
    from riselang.runtime.stored_facts import facts_cache

    kept = KernelCache(config.cache_folder(), config.cache_limit())
    if options.what == "path":
        print(kept.folder)
    elif options.what == "clear":
        shared_cache(kept).clear()
        facts_cache(kept).clear()
        print(f"{format_count(kept.clear(), 'kernel')} removed from {kept.folder}")
    else:
        _print_entries(kept)


def _print_entries(cache: KernelCache) -> None:
    entries = cache.entries()
    for entry in entries:
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.last_used))
        names = ", ".join(_kernel_names(cache, entry.key)) or "damaged, will be recompiled"
        print(f"{entry.key[:12]}  {entry.size:>9,} bytes  used {used}  {names}")
    total = sum(entry.size for entry in entries)
    print(f"{format_count(len(entries), 'kernel')}, {total:,} bytes, in {cache.folder}")


def _kernel_names(cache: KernelCache, key: str) -> list[str]:
    from riselang.runtime.artifact import Artifact

    data = cache.read(key, touch=False)
    try:
        return [each.name for each in Artifact.from_bytes(data).functions] if data else []
    except ValueError:
        return []
