"""Load object files: map their image as executable memory.

Memory can be written until all relocations are applied. Then code can only be read and executed:
no memory is ever writable and executable at the same time.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from riselang.native.elf.image import CODE, CONSTANTS, FindSymbol, Image
from riselang.native.elf.object_file import AARCH64, MACHINES, ObjectFile
from riselang.native.elf.relocations import UnsupportedObjectError
from riselang.native.elf.unwinding import deregister_frames, describes_code, register_frames

_FAILED = ctypes.c_void_p(-1).value


@dataclass(frozen=True, eq=False)
class MappedCode:
    """Machine code in this process; it is unmapped with this object."""

    symbols: Mapping[str, int] = field(repr=False)
    """The addresses of its global symbols."""

    def address(self, symbol: str) -> int:
        """Return the address of a symbol; 0 if the code does not define it."""
        return self.symbols.get(symbol, 0)


def host_machine() -> int | None:
    """Return the ELF number of this machine's architecture; None if it cannot load objects."""
    if not sys.platform.startswith("linux") or sys.maxsize >> 32 == 0:
        return None
    machine = MACHINES.get(platform.machine())
    # On AArch64, the caches of instructions do not notice what is written.
    return None if machine == AARCH64 and _clear_cache() is None else machine


def map_objects(objects: Sequence[ObjectFile], find_symbol: FindSymbol) -> MappedCode:
    """Load objects for this machine.

    `find_symbol` returns the addresses of symbols that they do not define. Raise a ValueError for
    an object that cannot be loaded, and UnsupportedObjectError for one that only LLVM can load.
    """
    if any(each.machine != host_machine() for each in objects):
        raise UnsupportedObjectError("another architecture")
    image = Image(objects, mmap.PAGESIZE)
    address = _map_memory(image.size)
    registered: list[int] = []
    try:
        memory = _memory_at(address, image.size)
        symbols = image.write(memory, address, find_symbol)
        _protect(image, address)
        registered += _register_frames(image, memory, address)
    except BaseException:
        _unmap(address, image.size, registered)
        raise
    code = MappedCode(symbols)
    # Not at the end of the process, when other threads may still run the code.
    weakref.finalize(code, _unmap, address, image.size, registered).atexit = False
    return code


def _memory_at(address: int, size: int) -> np.ndarray[Any, Any]:
    return np.frombuffer(memoryview((ctypes.c_uint8 * size).from_address(address)), np.uint8)


def _map_memory(size: int) -> int:
    """Map private memory that contains zeros."""
    if size >= 1 << 47:
        raise ValueError("the code is too large")
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    access = mmap.PROT_READ | mmap.PROT_WRITE
    address = _system().mmap(None, max(size, mmap.PAGESIZE), access, flags, -1, 0)
    if address == _FAILED:
        raise ValueError(f"the code cannot be mapped: {os.strerror(ctypes.get_errno())}")
    return address


def _unmap(address: int, size: int, registered: Sequence[int]) -> None:
    for each in registered:
        deregister_frames(each)
    _system().munmap(address, max(size, mmap.PAGESIZE))


def _protect(image: Image, address: int) -> None:
    executable = mmap.PROT_READ | mmap.PROT_EXEC
    for part, access in ((CODE, executable), (CONSTANTS, mmap.PROT_READ)):
        start, end = image.starts[part], image.starts[part + 1]
        if start < end and _system().mprotect(address + start, end - start, access):
            raise ValueError(f"memory cannot be protected: {os.strerror(ctypes.get_errno())}")
    clear_cache = _clear_cache()
    if clear_cache is not None:
        start, end = (address + image.starts[part] for part in (CODE, CONSTANTS))
        clear_cache(start, end)


def _register_frames(image: Image, memory: np.ndarray[Any, Any], address: int) -> list[int]:
    """Register the frame descriptions of an image, and return their addresses."""
    code = range(address, address + image.starts[CONSTANTS])
    registered: list[int] = []
    for offset, size in image.frames:
        frames = memory[offset : offset + size].tobytes()
        is_valid = describes_code(frames, address + offset, code)
        if frames and is_valid and register_frames(address + offset):
            registered.append(address + offset)
    return registered


@cache
def _system() -> Any:
    """Return the functions of the system that map memory."""
    library = ctypes.CDLL(None, use_errno=True)
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    library.mmap.restype = pointer
    library.mmap.argtypes = [pointer, size, number, number, number, ctypes.c_long]
    library.munmap.argtypes = [pointer, size]
    library.mprotect.argtypes = [pointer, size, number]
    return library


@cache
def _clear_cache() -> Callable[[int, int], None] | None:
    """Return a function that makes code visible to the CPU; None if there is none or it is not
    needed."""
    if MACHINES.get(platform.machine()) != AARCH64:
        return None
    try:
        function = ctypes.CDLL("libgcc_s.so.1")["__clear_cache"]
    except (OSError, AttributeError):
        return None
    function.restype, function.argtypes = None, [ctypes.c_void_p, ctypes.c_void_p]
    return function
