"""Messages between this process and its workers: a length, then a pickled value.

Both ends are ours, so pickle is safe here; it keeps which values of a graph are the same one.
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
    """The next value; an EOFError where the other end is gone."""
    (length,) = _LENGTH.unpack(_read(stream, _LENGTH.size))
    return pickle.loads(_read(stream, length))


def _read(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


class _Pickler(pickle.Pickler):
    """Sends one element of an array whose elements are all the same one."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, np.ndarray) and obj.size > 1 and not any(obj.strides):
            element = np.array(obj[(0,) * obj.ndim], obj.dtype)
            return np.broadcast_to, (element, obj.shape)
        return NotImplemented
