"""Messages between a process and its workers: a length, then a pickled value.

Both ends are trusted, so pickle is safe here; it preserves sharing between values of a graph.
"""

from __future__ import annotations

import io
import pickle
import struct
from typing import IO, Any

import numpy as np

_LENGTH = struct.Struct("<q")


def send(stream: IO[bytes], value: Any) -> None:
    data = io.BytesIO()
    _Pickler(data, protocol=5).dump(value)
    stream.write(_LENGTH.pack(data.tell()))
    stream.write(data.getbuffer())
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Receive the next value; raise EOFError if the other end is closed."""
    (length,) = _LENGTH.unpack(_read(stream, _LENGTH.size))
    return pickle.loads(_read(stream, length))


def _read(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


class _Pickler(pickle.Pickler):
    """Sends a broadcast scalar, an array whose strides are all 0, as one element."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, np.ndarray) and obj.size > 1 and not any(obj.strides):
            element = np.array(obj[(0,) * obj.ndim], obj.dtype)
            return np.broadcast_to, (element, obj.shape)
        return NotImplemented
