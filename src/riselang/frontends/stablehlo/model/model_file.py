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


def hash_file(path: Path) -> ModelFile:
    """Hash a file without keeping its bytes."""
    hashed, buffer = sha256(), bytearray(_PART)
    with open(path, "rb", 0) as file:
        while count := file.readinto(buffer):
            hashed.update(memoryview(buffer)[:count])
    return ModelFile(path, hashed.hexdigest())
