"""C functions that programs call: the addresses of symbols in shared libraries."""

from __future__ import annotations

import ctypes
import os
from functools import cache

from riselang.support.errors import SourceLocation, UserError
from riselang.support.forking import hold_forks

SYMBOL_PREFIX = "rise_foreign_"
"""The prefix of the names by which generated code calls C functions."""


def full_library_name(library: str) -> str:
    """Return the absolute path of a library that is named by an existing file."""
    is_path = os.sep in library or os.path.exists(library)
    return os.path.abspath(library) if is_path else library


def foreign_address(library: str, name: str, location: SourceLocation | None = None) -> int:
    """Return the address of a C function; `library` is empty for this process itself."""
    try:
        code = _load_library(library)
    except OSError as error:
        raise UserError(
            f"there is no library '{library}': {error}; pass the path of a shared library, or a "
            "name that the dynamic loader finds, such as 'libm.so.6'",
            location,
        ) from None
    function = getattr(code, name, None)
    address = None if function is None else ctypes.cast(function, ctypes.c_void_p).value
    if address is None:
        where = f"the library '{library}'" if library else "this process"
        advice = "" if library else "; name the library that defines it"
        raise UserError(f"{where} does not define the function '{name}'{advice}", location)
    return address


@cache
def _load_library(library: str) -> ctypes.CDLL:
    with hold_forks():
        return ctypes.CDLL(library or None)
