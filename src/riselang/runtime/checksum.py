"""A fast checksum of large contents, which detects damage.

It is the SHA-256 of a label, the size of the content and the CRC-32 of each of its parts. It
detects a different size or label, any change of a part that spans at most 32 bits, and any other
damage of a part with a probability of 1 - 2**-32. It is not a signature, and not a key: different
contents with the same checksum are easy to construct.
"""

from __future__ import annotations

import hashlib
import struct
import zlib

PART_BYTES = 1 << 16
"""The size of all parts but the last one."""
CHECKSUM_BYTES = hashlib.sha256().digest_size


class Checksum:
    """The checksum of the parts that are added, in order."""

    def __init__(self, label: str):
        self._label = label.encode()
        self._size = 0
        self._codes: list[int] = []

    def add(self, part: bytes | memoryview) -> None:
        """Add a part of `PART_BYTES` bytes, or the last one."""
        self._size += len(part)
        self._codes.append(zlib.crc32(part))

    def digest(self) -> bytes:
        count = len(self._codes)
        head = struct.pack("<QQ", len(self._label), self._size)
        codes = struct.pack(f"<{count}I", *self._codes)
        return hashlib.sha256(b"".join([head, self._label, codes])).digest()


def checksum(label: str, content: bytes | bytearray | memoryview) -> bytes:
    """Return the checksum of a content."""
    result, view = Checksum(label), memoryview(content)
    for start in range(0, len(view), PART_BYTES):
        result.add(view[start : start + PART_BYTES])
    return result.digest()
