"""Compiled modules on disk, so that a new process need not compile again.

An entry is one file, named by a hash of all that the code depends on, written beside its place and
then moved there; it begins with a checksum. Whatever is damaged, foreign or half there is compiled
again, and whatever cannot be written is not: the cache may slow a program down, but never stop it
or make it wrong. There are no locks, so nobody waits for a process that was killed.

An entry is code that will run, so it must be a plain file that this user wrote and nobody else may
write. That holds for each file, not for the folder: others may be able to put files into it, but
not files of this user. What they could do is link to one that is elsewhere, and a name of theirs
may lead anywhere; so links are not followed, and where others may write to the folder, a file with
several names is not read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from riselang.support import config

SUFFIX = ".kernel"
_PARTIAL = ".partial"
_ABANDONED_AFTER = 3600.0
"""Seconds after which a file that was never moved to its place is somebody's who was stopped."""
_CHECKSUM = hashlib.sha256
_HEAD = b"riselang kernel 2\n"
_START = len(_HEAD) + _CHECKSUM().digest_size
"""Where the content begins."""
_OF_OTHERS = stat.S_IWGRP | stat.S_IWOTH
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
        try:
            with open(self._path(key), "rb", opener=_open_plainly) as file:
                status = os.fstat(file.fileno())
                if not self._may_be_read(status):
                    return None
                head = file.read(_START)
                if not head.startswith(_HEAD):
                    return None
                content = file.read(status.st_size)
                if head != _HEAD + _checksum(key, content):
                    return None
                if touch:
                    _touch(file.fileno(), self._path(key))
        except (OSError, ValueError):
            return None
        return content

    def _may_be_read(self, status: os.stat_result) -> bool:
        """Whether a file is one that this user wrote and nobody else may have changed."""
        if not stat.S_ISREG(status.st_mode) or status.st_size > self.limit + _START:
            return False
        if not hasattr(os, "geteuid"):
            return True
        if status.st_uid != os.geteuid() or status.st_mode & _OF_OTHERS:
            return False
        return status.st_nlink == 1 or not os.stat(self.folder).st_mode & _OF_OTHERS

    def write(self, key: str, content: bytes) -> bool:
        """Whether the entry is there now."""
        if len(content) > self.limit:
            return False
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
                    status = file.stat(follow_symlinks=False)
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


def _open_plainly(path: str, flags: int) -> int:
    """Neither through a link nor waiting for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _touch(handle: int, path: Path) -> None:
    with contextlib.suppress(OSError):
        os.utime(handle if os.utime in os.supports_fd else path)
