"""Load machine code into this process: compiled functions, and those that all of them share.

ELF objects are loaded without LLVM (`elf/mapped_code.py`), so a process that finds its kernels in
the cache does not import llvmlite. LLVM loads objects in other formats, and those with debug info,
which it registers with debuggers.
"""

from __future__ import annotations

import ctypes
import platform
import sys
import threading
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Protocol

from riselang.native.elf.image import OFFSET_TABLE, check_relocations
from riselang.native.elf.mapped_code import map_objects
from riselang.native.elf.object_file import Buffer, ObjectFile, Symbols, is_elf64, read_object
from riselang.native.elf.relocations import UnsupportedObjectError
from riselang.native.llvm import array_calls, guard, temporary_pool, thread_pool
from riselang.native.llvm.entry_points import GUARDED_PREFIX
from riselang.support.errors import MissingSymbolsError
from riselang.support.foreign_libraries import SYMBOL_PREFIX, foreign_address
from riselang.support.forking import hold_forks
from riselang.support.machine import permit_amx

DEBUG_LINE_SECTION = ".debug_line"
"""The section that every object with debug info has."""
_LOCK = threading.Lock()
_defined_symbols: dict[str, int] = {}
"""The addresses of the functions that this package defines, and of those that it looked up."""


class LoadedCode(Protocol):
    """Machine code in this process; it is unloaded with this object."""

    def address(self, symbol: str) -> int:
        """Return the address of a symbol; 0 if the code does not define it."""
        ...


@contextmanager
def _exclusive_access() -> Generator[None]:
    """Keep other threads from loading code or forking the process."""
    with hold_forks(), _LOCK:
        yield


def load_objects(objects: Sequence[Buffer]) -> LoadedCode:
    """Load object files that `codegen.jit_object` emitted, in this process or another.

    Raise a ValueError for an object that is damaged.
    """
    contents = [read_object(code) if is_elf64(code) else None for code in objects]
    # The names of the symbols of an object are in its table of strings.
    texts = [
        bytes(code) if content is None else content.symbol_names
        for code, content in zip(objects, contents, strict=True)
    ]
    with _exclusive_access():
        redirected: dict[str, int] = {}
        if any(map(temporary_pool.is_pool_used, texts)):
            redirected = {
                name: _runtime_functions().address(f"rise_{name}")
                for name in temporary_pool.REPLACED_FUNCTIONS
            }
        elif any(GUARDED_PREFIX.encode() in text for text in texts):
            # Define the functions that end a call early: see `guard`.
            _runtime_functions()
        if any(map(thread_pool.needs_pool, texts)):
            thread_pool.set_thread_count(_thread_functions().address)
        missing = _undefined_symbols([each.symbol_summary() for each in contents if each])
        if missing:
            # Calls to them would jump to address 0.
            raise MissingSymbolsError(missing)
        permit_amx()
        return _load(objects, contents, redirected)


def _load(
    objects: Sequence[Buffer],
    contents: Sequence[ObjectFile | None],
    redirected: Mapping[str, int],
) -> LoadedCode:
    """Load objects; calls of some functions are redirected to other addresses."""
    readable = [each for each in contents if each and not each.has_section(DEBUG_LINE_SECTION)]
    if len(readable) == len(objects):
        try:
            return map_objects(readable, lambda name: redirected.get(name) or find_symbol(name))
        except UnsupportedObjectError:
            pass
    # Imported only here, since most code is loaded without LLVM.
    from riselang.native.llvm import codegen

    codes = [bytes(each) for each in objects]
    loaded = codegen.load_with_llvm(codes, _defined_symbols, redirected)
    for code in codes:
        if DEBUG_LINE_SECTION.encode() in code:
            from riselang.native.debug_info import perf_map

            perf_map.record_code(code, loaded.address)
    return loaded


def add_symbol(name: str, address: int) -> None:
    """Make a function known to loaded code by name."""
    with _exclusive_access():
        _defined_symbols[name] = address


def find_symbol(name: str) -> int | None:
    """Return the address of a symbol that this package or a library in this process defines."""
    if name in _defined_symbols:
        return _defined_symbols[name]
    try:
        function = _process_symbols()[name]
    except (AttributeError, ValueError):
        return None
    return ctypes.cast(function, ctypes.c_void_p).value


@cache
def _process_symbols() -> ctypes.CDLL:
    """Return a handle for all symbols that are loaded into this process."""
    return ctypes.CDLL(None)


_LOADER_SYMBOLS = frozenset({OFFSET_TABLE, *guard.FUNCTIONS, *thread_pool.FUNCTIONS})
"""Symbols that are not defined until code is loaded."""


def check_objects(objects: Sequence[Buffer], functions: Collection[str]) -> None:
    """Check object files from disk; raise ValueError if one is invalid.

    They must define these functions, and this process must define all symbols that they need.
    """
    if not sys.platform.startswith("linux"):
        return
    contents = [read_object(code, platform.machine()) for code in objects]
    for content in contents:
        check_relocations(content)
    symbols = [content.symbol_summary() for content in contents]
    defined = {name for each in symbols for name in each.defined}
    missing = [name for name in functions if name not in defined]
    with _exclusive_access():
        missing += _undefined_symbols(symbols)
    if missing:
        raise ValueError(f"there is no {missing[0]}")


def _undefined_symbols(symbols: Sequence[Symbols]) -> list[str]:
    """Return the symbols that objects need and that nothing in this process defines."""
    _define_foreign_functions(symbols)
    defined = {name for each in symbols for name in each.defined}
    undefined = {name for each in symbols for name in each.needed} - defined - _LOADER_SYMBOLS
    return [name for name in sorted(undefined) if find_symbol(name) is None]


def _define_foreign_functions(symbols: Sequence[Symbols]) -> None:
    """Make the C functions that objects call known, by the names of their symbols."""
    needed = {name for each in symbols for name in each.needed if name.startswith(SYMBOL_PREFIX)}
    if not needed:
        return
    from riselang.dialects.rise.foreign_functions import split_symbol

    for name in sorted(needed):
        function = split_symbol(name)
        if function is not None:
            _defined_symbols[name] = foreign_address(function.library, function.name)


@cache
def _runtime_functions() -> LoadedCode:
    """Return the functions that pool memory and end calls early, shared by all loaded code."""
    text = temporary_pool.pool_ir()
    if guard.IS_SUPPORTED:
        text = "\n".join([text, guard.guard_ir()])
        for name in guard.PYTHON_FUNCTIONS:
            _add_python_function(name)
    # Unoptimized: compiled in a few milliseconds, and called once for each temporary.
    loaded = _load_functions(text, opt=0)
    if guard.IS_SUPPORTED:
        guard.start_guard(loaded.address)
        for name in (*guard.FUNCTIONS, *guard.POOL_FUNCTIONS):
            _defined_symbols[name] = loaded.address(name)
    return loaded


@cache
def _thread_functions() -> LoadedCode:
    """Return the thread pool that all loaded code shares; its workers never end."""
    _runtime_functions()
    loaded = _load_functions(thread_pool.pool_ir(), opt=2)
    for name in thread_pool.FUNCTIONS:
        _defined_symbols[name] = loaded.address(name)
    return loaded


@cache
def array_call_functions(new_array: int) -> LoadedCode:
    """Return the function that calls compiled code with arrays, given `PyArray_NewFromDescr`."""
    with _exclusive_access():
        for name in array_calls.PYTHON_FUNCTIONS:
            _add_python_function(name)
        _defined_symbols[array_calls.NEW_ARRAY] = new_array
        # Unoptimized: compiled in ten milliseconds, four times as fast as with optimizations.
        return _load_functions(array_calls.array_call_ir(), opt=0)


def _load_functions(ir: str, opt: int) -> LoadedCode:
    """Load functions that all kernels share; each process loads them."""

    def compile() -> bytes:
        from riselang.native.llvm import codegen

        return codegen.unoptimized_object(ir, opt)

    code = _shared_code[-1](f"{opt}\n{ir}", compile)
    return _load([code], [read_object(code) if is_elf64(code) else None], {})


SharedCode = Callable[[str, Callable[[], bytes]], bytes]
"""Returns the object code for a text: from a cache, or by compiling it."""


def cache_shared_code(find: SharedCode) -> None:
    """Use a cache for the functions that all kernels share."""
    _shared_code.append(find)


_shared_code: list[SharedCode] = [lambda _, compile: compile()]


def _add_python_function(name: str) -> None:
    """Make a function of Python's C API known to loaded code."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    _defined_symbols[name] = address
