"""A model in a file, which is read again only when it is needed: a cached program does without."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from riselang.support.errors import UserError

_PART = 1 << 18
"""How many bytes are read at once: they stay in the CPU's caches until they are hashed."""


@dataclass(frozen=True)
class ModelFile:
    """A file with a model, identified by the hash of its bytes."""

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
        if sha256(content).hexdigest() != self.digest:
            raise UserError(
                f"the model was found in the kernel cache, but {self.path} is needed for this, and "
                "has changed since then; import it again"
            )
        return content


def hash_file(path: Path, word: bytes) -> tuple[ModelFile, bool]:
    """Hash a file without keeping its bytes, and return whether a word is among them."""
    hashed, found, size = sha256(), False, len(word)
    # A part starts with the end of the one before, where a word may begin.
    buffer, start = bytearray(size + _PART), 0
    with open(path, "rb", 0) as file:
        while count := file.readinto(memoryview(buffer)[start : start + _PART]):
            end = start + count
            hashed.update(memoryview(buffer)[start:end])
            found = found or buffer.find(word, 0, end) >= 0
            start = min(size, end)
            buffer[:start] = buffer[end - start : end]
    return ModelFile(path, hashed.hexdigest()), found
