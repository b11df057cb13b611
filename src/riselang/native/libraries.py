"""The shared libraries that generated code calls: libm and an OpenMP runtime."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from riselang import config
from riselang.errors import UserError

OPENMP = "openmp"
OPENMP_ENTRY = "__kmpc_fork_call"
"""What MLIR's omp lowering calls; GNU's libgomp does not have it."""


@cache
def openmp() -> str | None:
    """The path of an OpenMP runtime with LLVM's entry points, or None.

    One that the process has loaded already is used again: two runtimes in a process fight.
    """
    for path in (*_loaded(), *_installed()):
        if _has_entry(path):
            return path
    return None


@cache
def libm() -> ctypes.CDLL:
    return ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")


def _loaded() -> Iterator[str]:
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return
    for line in maps.read_text().splitlines():
        path = line.split()[-1]
        if Path(path).name.startswith(("libomp", "libiomp5")):
            yield path


def _installed() -> Iterator[str]:
    """The wheels `intel-openmp` (x86-64) and `pyomp` (aarch64), then the system."""
    for library in ("lib", "Library/bin"):
        yield from _existing(Path(sys.prefix, library), "libiomp5*")
    for folder in sys.path:
        yield from _existing(Path(folder, "numba/openmp/libs/openmp/lib"), "libomp.*")
    for name in ("omp", "iomp5", "omp5"):
        if (found := ctypes.util.find_library(name)) is not None:
            yield found
    yield from _existing(Path("/usr/lib"), "llvm-*/lib/libomp.so*")


def _existing(folder: Path, pattern: str) -> list[str]:
    return sorted(str(path) for path in folder.glob(pattern)) if folder.exists() else []


def _has_entry(path: str) -> bool:
    try:
        return hasattr(ctypes.CDLL(path), OPENMP_ENTRY)
    except OSError:
        return False


def is_found(name: str) -> bool:
    """Whether a library that compiled code asks for is here."""
    return _FOUND[name]() is not None if name in _FOUND else False


def prepare(name: str) -> None:
    """Load a library that compiled code calls."""
    from riselang.native import llvm

    path = _FOUND[name]()
    if path is None:
        raise UserError(f"the compiled code needs {name}, which is not installed here")
    llvm.load_library(path)
    if name == OPENMP:
        set_threads(config.num_threads())


def set_threads(count: int) -> None:
    """Set how many threads the OpenMP runtime uses."""
    path = openmp()
    if path is not None:
        ctypes.CDLL(path).omp_set_num_threads(ctypes.c_int(count))


_FOUND = {OPENMP: openmp}
"""Where each library is, by the name that compiled code has for it."""
