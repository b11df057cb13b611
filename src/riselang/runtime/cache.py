"""Compiled modules on disk, so that a new process need not compile again.

An entry is one file, named by a hash of all that the code depends on, written beside its place and
then moved there; it begins with a checksum. Whatever is damaged, foreign or half there is compiled
again, and whatever cannot be written is not: the cache may slow a program down, but never stop it
or make it wrong. There are no locks, so nobody waits for a process that was killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from riselang import config

SUFFIX = ".kernel"
_PARTIAL = ".partial"
_ABANDONED_AFTER = 3600.0
"""Seconds after which a file that was never moved to its place is somebody's who was stopped."""
_CHECKSUM = hashlib.sha256
_HEAD = b"riselang kernel 1\n"
_PRUNED_TO = 0.75
"""The share of the permitted size that stays when there was too much."""


@dataclass(frozen=True)
class Entry:
    """A file of the cache."""

    path: Path
    size: int
    used: float
    """When it was last read or written, in seconds since the epoch."""

    @property
    def key(self) -> str:
        return self.path.stem


class KernelCache:
    """The entries in a folder, which need not exist."""

    def __init__(self, folder: Path, limit: int):
        """`limit` is how many bytes may stay in the folder."""
        self.folder = folder
        self.limit = limit

    def read(self, key: str, *, touch: bool = True) -> bytes | None:
        """What was written under the key, if it is there and whole."""
        path = self._path(key)
        try:
            with path.open("rb") as file:
                if not _is_own(file.fileno()):
                    return None
                data = file.read()
        except (OSError, ValueError):
            return None
        start = len(_HEAD) + _CHECKSUM().digest_size
        content = data[start:]
        if data[:start] != _HEAD + _checksum(key, content):
            return None
        if touch:
            with contextlib.suppress(OSError):
                os.utime(path)
        return content

    def write(self, key: str, content: bytes) -> bool:
        """Whether the entry is there now."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(key, _HEAD + _checksum(key, content) + content)
            if _is_time_to_prune():
                self.prune()
        except (OSError, ValueError):
            return False
        return True

    def _write(self, key: str, data: bytes) -> None:
        handle, name = tempfile.mkstemp(suffix=_PARTIAL, dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self._path(key))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise

    def entries(self) -> list[Entry]:
        """The files of the cache, the one last used first."""
        return sorted(self._files(SUFFIX), key=lambda entry: (-entry.used, entry.path))

    def remove(self, key: str) -> bool:
        """Whether an entry was there, which is no longer."""
        try:
            self._path(key).unlink()
        except OSError:
            return False
        return True

    def clear(self) -> int:
        """Removes all entries; how many there were."""
        removed = 0
        for entry in (*self._files(SUFFIX), *self._files(_PARTIAL)):
            with contextlib.suppress(OSError):
                entry.path.unlink()
                removed += entry.path.suffix == SUFFIX
        return removed

    def prune(self) -> None:
        """Removes what was not used for longest, if there is too much, and what nobody finishes."""
        entries = self.entries()
        excess = sum(entry.size for entry in entries) - self.limit
        if excess > 0:
            excess += int(self.limit * (1 - _PRUNED_TO))
        old = [each for each in self._files(_PARTIAL) if each.used < time.time() - _ABANDONED_AFTER]
        for entry in reversed(entries):
            if excess <= 0:
                break
            excess -= entry.size
            old.append(entry)
        for entry in old:
            with contextlib.suppress(OSError):
                entry.path.unlink()

    def _files(self, suffix: str) -> Iterator[Entry]:
        try:
            found = list(os.scandir(self.folder))
        except OSError:
            return
        for file in found:
            if file.name.endswith(suffix):
                with contextlib.suppress(OSError):
                    status = file.stat()
                    yield Entry(Path(file.path), status.st_size, status.st_mtime)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{SUFFIX}"


def default_cache() -> KernelCache | None:
    """The cache that the settings ask for; None where they ask for none."""
    if not config.cache():
        return None
    return KernelCache(config.cache_folder(), config.cache_limit())


_PRUNED_EVERY = 60.0
_pruned_at = [0.0]


def _is_time_to_prune() -> bool:
    """Looking through a full folder takes longer than writing to it, so not at every write."""
    now = time.monotonic()
    if now < _pruned_at[0]:
        return False
    _pruned_at[0] = now + _PRUNED_EVERY
    return True


def _checksum(key: str, content: bytes) -> bytes:
    # With the key, so that an entry that was moved to another's place is found out.
    return _CHECKSUM(key.encode() + content).digest()


def _is_own(handle: int) -> bool:
    """Whether this user wrote the file: machine code of others is not run."""
    return not hasattr(os, "geteuid") or os.fstat(handle).st_uid == os.geteuid()
