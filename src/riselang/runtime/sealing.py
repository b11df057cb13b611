"""Bytes that say themselves what they are and whether they are whole.

A seal finds out damage, and content that was written for something else or by another program. It
is no signature: whoever may write a file of the user may seal it, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TypeVar

Value = TypeVar("Value")
_SIZE = hashlib.sha256().digest_size


def seal(kind: str, content: bytes) -> bytes:
    """The content of a kind, with a checksum before it."""
    return _checksum(kind, content) + content


def unseal(kind: str, data: bytes) -> bytes:
    """The content; a ValueError for what was not sealed as this kind."""
    content = data[_SIZE:]
    if data[:_SIZE] != _checksum(kind, content):
        raise ValueError(f"not a whole {kind}")
    return content


@contextmanager
def only_value_errors(what: str) -> Generator[None]:
    """What is wrong with the content of a file, in whatever way, is a ValueError."""
    try:
        yield
    except (
        LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError,
        StopIteration, OSError,
    ) as error:  # fmt: skip
        raise ValueError(f"not {what}: {error}") from None


def typed(value: Any, kind: type[Value]) -> Value:
    """A value of JSON of this type; for others, a ValueError."""
    if type(value) is not kind:
        raise ValueError(f"expected {kind.__name__}, but found {type(value).__name__}")
    return value


def _checksum(kind: str, content: bytes) -> bytes:
    hashed = hashlib.sha256(kind.encode() + b"\n")
    hashed.update(content)
    return hashed.digest()
