"""Pictures on pages: `![...](gallery/NAME.png)` shows the variable NAME of the page's code.

An array of two dimensions is a picture in grey, from 0 to 1; a third dimension of three is red,
green and blue. What is written is PNG without filters, which is read back here for the tests.
"""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

_SHOWN = re.compile(r"\]\((?:\.\./)*gallery/(\w+)\.png\)")
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY, _COLOURS = 0, 2


@dataclass(frozen=True)
class Pixels:
    """Rows of bytes, one or three for a pixel."""

    width: int
    height: int
    channels: int
    data: bytes


def names(page: str) -> list[str]:
    """Return the names of the pictures on a page."""
    return _SHOWN.findall(page)


def pixels(values: Any) -> Pixels:
    """Convert an array to a picture."""
    array = np.asarray(values)
    if array.dtype != np.uint8:
        array = (np.clip(array.astype(np.float64), 0, 1) * 255 + 0.5).astype(np.uint8)
    channels = 1 if array.ndim == 2 else array.shape[2]
    return Pixels(array.shape[1], array.shape[0], channels, array.tobytes())


def encoded(picture: Pixels) -> bytes:
    """Encode a picture as a PNG file."""
    kind = _GREY if picture.channels == 1 else _COLOURS
    header = struct.pack(">IIBBBBB", picture.width, picture.height, 8, kind, 0, 0, 0)
    length = picture.width * picture.channels
    rows = [picture.data[at : at + length] for at in range(0, len(picture.data), length)]
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    chunks = ((b"IHDR", header), (b"IDAT", data), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(name, content) for name, content in chunks)


def decoded(file: bytes) -> Pixels:
    """Decode a file that `encoded` wrote."""
    width, height, _, kind = struct.unpack(">IIBB", file[16:26])
    channels = 1 if kind == _GREY else 3
    start = file.index(b"IDAT")
    (length,) = struct.unpack(">I", file[start - 4 : start])
    data = zlib.decompress(file[start + 4 : start + 4 + length])
    stride = width * channels + 1
    rows = [data[at + 1 : at + stride] for at in range(0, len(data), stride)]
    return Pixels(width, height, channels, b"".join(rows))


def _chunk(name: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)
