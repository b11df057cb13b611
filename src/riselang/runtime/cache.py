"""The kernel cache: compiled modules on disk, so that a new process need not recompile them.

An entry is one file, whose name is a hash of everything that the code depends on. It is written to
a temporary file, which is then renamed, and begins with a checksum. A kernel whose entry is
damaged, incomplete or not trusted is recompiled, and failures to write are ignored: the cache may
slow a program down, but never stop it or make it wrong. There are no locks, so no process waits for
one that was killed.

An entry is code that will run, so it must be a regular file that this user owns and nobody else may
write. This is checked for each file, not for the folder: other users may be able to create files
in it, but not files that this user owns. They could, however, create links to such files. So
symbolic links are not followed, and if other users may write to the folder, a file with several
hard links is not read.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

from riselang.runtime.checksum import CHECKSUM_BYTES, PART_BYTES, Checksum, checksum
from riselang.support import config

Buffer = TypeVar("Buffer")
SUFFIX = ".kernel"
_TEMPORARY_SUFFIX = ".partial"
_TEMPORARY_LIFETIME = 3600.0
"""Seconds after which the process that created a temporary file is assumed to have ended."""
_MAGIC = b"riselang kernel 3\n"
_HEADER_SIZE = len(_MAGIC) + CHECKSUM_BYTES
"""The offset of the content in an entry."""
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_PRUNE_TARGET = 0.75
"""The fraction of the size limit to which a cache that exceeds it is pruned."""


@dataclass(frozen=True)
class CacheEntry:
    """A file in the cache."""

    path: Path
    size: int
    last_used: float
    """When the entry was last read or written, in seconds since the epoch."""

    @property
    def key(self) -> str:
        return self.path.stem


class KernelCache:
    """A cache in a folder, which need not exist."""

    def __init__(self, folder: Path, limit: int):
        """`limit` is the maximum total size of the entries in bytes."""
        self.folder = folder
        self.limit = limit

    def read(self, key: str, *, touch: bool = True) -> bytes | None:
        """Return the content of an entry; None if it is missing, damaged or not trusted."""
        content = self.read_into(key, bytearray, touch=touch)
        return None if content is None else bytes(content)

    def read_into(
        self, key: str, allocate: Callable[[int], Buffer], *, touch: bool = True
    ) -> Buffer | None:
        """Like `read`, in a buffer of the size that `allocate` gets."""
        try:
            with open(self._path(key), "rb", 0, opener=_open_regular_file) as file:
                status = os.fstat(file.fileno())
                if not self._is_trusted(status):
                    return None
                header = file.read(_HEADER_SIZE)
                if not header.startswith(_MAGIC):
                    return None
                content = allocate(status.st_size - _HEADER_SIZE)
                if header != _MAGIC + _read_content(file, key, content):
                    return None
                if touch:
                    _touch(file.fileno(), self._path(key))
        except (OSError, ValueError):
            return None
        return content

    def _is_trusted(self, status: os.stat_result) -> bool:
        """Return whether this user owns a file and nobody else may have changed it."""
        if not stat.S_ISREG(status.st_mode) or status.st_size > self.limit + _HEADER_SIZE:
            return False
        if not hasattr(os, "geteuid"):
            return True
        if status.st_uid != os.geteuid() or status.st_mode & _WRITABLE_BY_OTHERS:
            return False
        return status.st_nlink == 1 or not os.stat(self.folder).st_mode & _WRITABLE_BY_OTHERS

    def write(self, key: str, content: bytes) -> bool:
        """Write an entry; return whether it succeeded."""
        if len(content) > self.limit:
            return False
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(key, _MAGIC + checksum(key, content), content)
            if _claim_prune(self.folder):
                self.prune()
        except (OSError, ValueError):
            return False
        return True

    def _write(self, key: str, *parts: bytes) -> None:
        descriptor, name = tempfile.mkstemp(suffix=_TEMPORARY_SUFFIX, dir=self.folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self._path(key))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise

    def has(self, key: str) -> bool:
        """Return whether there is an entry, which may be damaged."""
        return self._path(key).exists()

    def entries(self) -> list[CacheEntry]:
        """Return the entries, most recently used first."""
        return sorted(self._files(SUFFIX), key=lambda entry: (-entry.last_used, entry.path))

    def remove(self, key: str) -> bool:
        """Remove an entry; return whether it existed."""
        try:
            self._path(key).unlink()
        except OSError:
            return False
        return True

    def clear(self) -> int:
        """Remove all entries, and return their number."""
        removed = 0
        for entry in (*self._files(SUFFIX), *self._files(_TEMPORARY_SUFFIX)):
            with contextlib.suppress(OSError):
                entry.path.unlink()
                removed += entry.path.suffix == SUFFIX
        return removed

    def prune(self) -> None:
        """If the cache exceeds its limit, remove the least recently used entries.

        Also remove abandoned temporary files.
        """
        entries = self.entries()
        # The limit applies to contents.
        excess = sum(entry.size - _HEADER_SIZE for entry in entries) - self.limit
        if excess > 0:
            excess += int(self.limit * (1 - _PRUNE_TARGET))
        to_remove = [
            each
            for each in self._files(_TEMPORARY_SUFFIX)
            if each.last_used < time.time() - _TEMPORARY_LIFETIME
        ]
        for entry in reversed(entries):
            if excess <= 0:
                break
            excess -= entry.size
            to_remove.append(entry)
        for entry in to_remove:
            with contextlib.suppress(OSError):
                entry.path.unlink()

    def _files(self, suffix: str) -> Iterator[CacheEntry]:
        try:
            files = list(os.scandir(self.folder))
        except OSError:
            return
        for file in files:
            if file.name.endswith(suffix):
                with contextlib.suppress(OSError):
                    status = file.stat(follow_symlinks=False)
                    yield CacheEntry(Path(file.path), status.st_size, status.st_mtime)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{SUFFIX}"


def default_cache() -> KernelCache | None:
    """Return the cache that the settings select; None if it is off."""
    if not config.is_cache_enabled():
        return None
    return KernelCache(config.cache_folder(), config.cache_limit())


_PRUNE_INTERVAL = 60.0
_next_prunes: dict[Path, float] = {}


def _claim_prune(folder: Path) -> bool:
    """Return whether the caller should prune a folder: True at most once per interval, since
    scanning is slow."""
    now = time.monotonic()
    if now < _next_prunes.get(folder, 0.0):
        return False
    _next_prunes[folder] = now + _PRUNE_INTERVAL
    return True


def _read_content(file: FileIO, key: str, content: Any) -> bytes:
    """Read the content of an entry, and return its checksum."""
    # The key is included to detect an entry that was renamed to a different key.
    found, view = Checksum(key), memoryview(content)
    # Part by part: a part is read again while it is in the CPU's caches.
    for start in range(0, len(view), PART_BYTES):
        part = view[start : start + PART_BYTES]
        if not _read_all(file, part):
            return b""
        found.add(part)
    return b"" if file.read(1) else found.digest()


def _read_all(file: FileIO, buffer: memoryview) -> bool:
    """Fill a buffer from a file; return whether there was enough."""
    while buffer and (count := file.readinto(buffer)):
        buffer = buffer[count:]
    return not buffer


def _open_regular_file(path: str, flags: int) -> int:
    """Open a file without following a symbolic link or blocking on a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _touch(descriptor: int, path: Path) -> None:
    with contextlib.suppress(OSError):
        os.utime(descriptor if os.utime in os.supports_fd else path)
