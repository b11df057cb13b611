"""Names of loaded code for perf: a line for each piece of code in `/tmp/perf-PID.map`.

For code without a file, perf prints only this name, so it includes the line of the program:
`dot dot.rise:3`.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import groupby

from riselang.native.debug_info.line_table import Function, code_lines, functions
from riselang.native.elf.object_file import is_elf64
from riselang.native.llvm.entry_points import ENTRY_PREFIX

Piece = tuple[int, int, str]
"""The start, end and name of a piece of code."""


def record_code(code: bytes, address: Callable[[str], int]) -> None:
    """Record a loaded object with debug info for perf; `address` looks up symbols."""
    if not sys.platform.startswith("linux") or not is_elf64(code):
        return
    pieces = list(split_code(code))
    start = _code_start(functions(code), address)
    if not pieces or start is None:
        return
    lines = [f"{start + begin:x} {end - begin:x} {name}\n" for begin, end, name in pieces]
    # A missing perf map is not an error.
    with suppress(OSError):
        _append(f"/tmp/perf-{os.getpid()}.map", "".join(lines))


def split_code(code: bytes) -> Iterator[Piece]:
    """Split the code of an object with debug info where the line or the function changes."""
    defined = functions(code)
    offsets = [function.offset for function in defined]
    pieces: list[Piece] = []
    for line in code_lines(code):
        function = defined[max(0, bisect_right(offsets, line.start) - 1)].name.removeprefix(
            ENTRY_PREFIX
        )
        location = f" {os.path.basename(line.file)}:{line.line}" if line.line else ""
        pieces.append((line.start, line.end, f"{function}{location}"))
    for name, group in groupby(pieces, key=lambda piece: piece[2]):
        duplicates = list(group)
        yield duplicates[0][0], duplicates[-1][1], name


def _code_start(defined: list[Function], address: Callable[[str], int]) -> int | None:
    """Return the start address of the object's code, from a function with a known address."""
    for function in defined:
        if start := address(function.name):
            return start - function.offset
    return None


def _append(path: str, text: str) -> None:
    # The directory is world-writable: symbolic links there are not followed.
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    file = os.open(path, flags, 0o600)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)
