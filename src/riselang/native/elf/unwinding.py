"""Tell the unwinder of libgcc how to unwind the stack through loaded code.

C++ exceptions and profilers unwind the stack. libgcc assumes that its input is well-formed, so only
frame descriptions of the form that LLVM emits are passed to it.
"""

from __future__ import annotations

import ctypes
import struct
from functools import cache
from typing import Any

_POINTER_FORMATS = {0x1B: "<i", 0x1C: "<q"}
"""The formats of addresses by their encodings: both are relative to their own position."""
_VERSION = b"\x01zR\0"
"""The version of the format, and the fields of its optional part: only the encoding of pointers."""


def describes_code(frames: bytes, address: int, code: range) -> bool:
    """Whether frame descriptions at an address are well-formed and describe only this code."""
    try:
        return _describes_code(frames, address, code)
    except (struct.error, IndexError):
        return False


def _describes_code(frames: bytes, address: int, code: range) -> bool:
    formats: dict[int, str] = {}
    position = 0
    while position < len(frames):
        length, offset = struct.unpack_from("<II", frames, position)
        start, end = position + 4, position + 4 + length
        if not 4 <= length < 0xFFFFFFF0 or end > len(frames):
            return False
        if offset == 0:
            pointer_format = _read_pointer_format(frames[start + 4 : end])
            if pointer_format is None:
                return False
            formats[position] = pointer_format
        elif start - offset not in formats or not _is_inside(
            frames[start + 4 : end], formats[start - offset], address + start + 4, code
        ):
            return False
        position = end
    return True


def _read_pointer_format(entry: bytes) -> str | None:
    """Return the format of the addresses of functions; None if it is not known."""
    if not entry.startswith(_VERSION):
        return None
    position = len(_VERSION)
    for _ in range(2):  # the alignments of code and data
        position = _end_of_number(entry, position)
    length, encoding = entry[position + 1], entry[position + 2]
    return _POINTER_FORMATS.get(encoding) if length == 1 else None


def _end_of_number(data: bytes, position: int) -> int:
    """Return the position after a number of variable length (LEB128)."""
    while data[position] & 0x80:
        position += 1
    return position + 1


def _is_inside(entry: bytes, pointer_format: str, address: int, code: range) -> bool:
    """Whether the function of an entry is in the code."""
    offset, size = struct.unpack_from(f"{pointer_format}{pointer_format[1:]}", entry)
    start = address + offset
    # The entry also contains the length of its optional part, which must be empty.
    is_plain = entry[2 * struct.calcsize(pointer_format)] == 0
    return is_plain and size > 0 and code.start <= start and start + size <= code.stop


def register_frames(address: int) -> bool:
    """Register frame descriptions that end with a zero; return whether there is an unwinder."""
    if _unwinder() is None:
        return False
    _unwinder().__register_frame(ctypes.c_void_p(address))
    return True


def deregister_frames(address: int) -> None:
    _unwinder().__deregister_frame(ctypes.c_void_p(address))


@cache
def _unwinder() -> Any:
    """Return the library with the unwinder; None if there is none."""
    try:
        library = ctypes.CDLL("libgcc_s.so.1")
    except OSError:
        return None
    return library if hasattr(library, "__register_frame") else None
