"""Bytes with a checksum that detects damage.

A seal detects damaged content, and content of another kind or from another program. It is not a
signature: whoever may write the user's files may also seal them.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from riselang.runtime.checksum import CHECKSUM_BYTES, PART_BYTES, checksum

Value = TypeVar("Value")
Content = TypeVar("Content", bytes, memoryview)


def seal(kind: str, content: bytes) -> bytes:
    """Prepend a checksum of the kind and the content."""
    return checksum(kind, content) + content


def unseal(kind: str, data: Content) -> Content:
    """Return the content; raise a ValueError if it was not sealed as this kind."""
    content = data[CHECKSUM_BYTES:]
    if data[:CHECKSUM_BYTES] != checksum(kind, content):
        raise ValueError(f"the {kind} is damaged")
    return content


@contextmanager
def as_value_errors(what: str) -> Generator[None]:
    """Convert any error about the content of a file to a ValueError."""
    try:
        yield
    except (
        LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError,
        StopIteration, OSError,
    ) as error:  # fmt: skip
        raise ValueError(f"not {what}: {error}") from None


def check_json_type(value: Any, kind: type[Value]) -> Value:
    """Return a JSON value of this type; raise a ValueError for another type."""
    if type(value) is not kind:
        raise ValueError(f"expected {kind.__name__}, but found {type(value).__name__}")
    return value


def split_line(content: memoryview) -> tuple[bytes, memoryview]:
    """Return the first line, without its end, and the rest; the rest is not copied."""
    for start in range(0, len(content), PART_BYTES):
        end = bytes(content[start : start + PART_BYTES]).find(b"\n")
        if end >= 0:
            return bytes(content[: start + end]), content[start + end + 1 :]
    return bytes(content), content[:0]
