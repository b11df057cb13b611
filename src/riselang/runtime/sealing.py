"""Bytes with a checksum that detects damage.

A seal detects damaged content, and content of another kind or from another program. It is not a
signature: whoever may write the user's files may also seal them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TypeVar

Value = TypeVar("Value")
_SIZE = hashlib.sha256().digest_size


def seal(kind: str, content: bytes) -> bytes:
    """Prepend a checksum of the kind and the content."""
    return _checksum(kind, content) + content


def unseal(kind: str, data: bytes) -> bytes:
    """Return the content; raise a ValueError if it was not sealed as this kind."""
    content = data[_SIZE:]
    if data[:_SIZE] != _checksum(kind, content):
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


def _checksum(kind: str, content: bytes) -> bytes:
    hashed = hashlib.sha256(kind.encode() + b"\n")
    hashed.update(content)
    return hashed.digest()
