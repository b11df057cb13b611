"""A model in a file, which is read again only when it is needed: a cached program does without.

Hashing a large file takes longer than loading its program from the cache. So the digests of large
files are stored in the cache, and found by the properties that git's index has of a file: its
device, inode, size, and the times of the last changes of its content and of the inode. A program
can set the first of these times, but not the second one (ctime), which changes with each change of
the file. A file may change twice within one tick of the clock of its file system, with the same
time. So a digest is stored only if the last change was at least a few ticks before the file was
read, and if the file has not changed while it was read. As in git, a change through memory that
another process has mapped is noticed only when the system writes this memory to the file.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from hashlib import blake2b
from io import FileIO
from pathlib import Path
from typing import Any

from riselang.runtime.stored_facts import read_fact, store_fact
from riselang.support.errors import UserError

_PART = 1 << 18
"""How many bytes are read at once: they stay in the CPU's caches until they are hashed."""
_DIGEST_BYTES = 32
_MIN_STORED_BYTES = 1 << 20
"""The size in bytes of the smallest file whose digest is stored: others are hashed in 2 ms."""
_SECOND = 1_000_000_000
_TICKS, _COARSE_TICKS = _SECOND // 4, 3 * _SECOND
"""Nanoseconds that are several ticks: Linux has at least 100 per second, and some file systems
store seconds, or pairs of them."""


@dataclass(frozen=True)
class ModelFile:
    """A file with a model, identified by the digest of its bytes."""

    path: Path
    digest: str

    def read(self) -> bytes:
        """Return its bytes; raises an error if they are not those that were hashed."""
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise UserError(
                f"the model was found in the kernel cache, but {self.path} is needed for this, and "
                f"cannot be read: {error.strerror or error}"
            ) from None
        if content_digest(content) != self.digest:
            raise UserError(
                f"the model was found in the kernel cache, but {self.path} is needed for this, and "
                "has changed since then; import it again"
            )
        return content


def content_digest(content: bytes) -> str:
    """Return the digest of a model, which is a part of the keys of its programs."""
    # Twice as fast as SHA-256 on CPUs without instructions for it.
    return blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()


def hash_file(path: Path) -> ModelFile:
    """Return a file with its digest, which an earlier process may have stored."""
    with open(path, "rb", 0) as file:
        start, status = time.time_ns(), os.fstat(file.fileno())
        if status.st_size < _MIN_STORED_BYTES:
            return ModelFile(path, _hash_content(file))
        key = ("digest of a file", *_file_state(status))
        stored = read_fact(*key)
        if isinstance(stored, str) and len(stored) == 2 * _DIGEST_BYTES:
            return ModelFile(path, stored)
        digest = _hash_content(file)
        if _is_settled(status, start) and _file_state(os.fstat(file.fileno())) == key[1:]:
            store_fact(digest, *key)
    return ModelFile(path, digest)


def _hash_content(file: FileIO) -> str:
    """Hash a file without keeping its bytes."""
    hashed, buffer = blake2b(digest_size=_DIGEST_BYTES), bytearray(_PART)
    while count := file.readinto(buffer):
        hashed.update(memoryview(buffer)[:count])
    return hashed.hexdigest()


def _file_state(status: os.stat_result) -> tuple[Any, ...]:
    """Return what changes whenever a file changes."""
    return (
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    )  # fmt: skip


def _is_settled(status: os.stat_result, start: int) -> bool:
    """Whether any change since a time changes the ctime of the file."""
    if os.name != "posix":
        return False  # There, this is the time when the file was created.
    is_coarse = status.st_ctime_ns % _SECOND == 0
    return start - status.st_ctime_ns >= (_COARSE_TICKS if is_coarse else _TICKS)
