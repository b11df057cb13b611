"""Finds the shared libraries that generated code calls: libm and BLAS."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from riselang.support import config
from riselang.support.errors import UserError

BLAS = "blas"


@cache
def load_libm() -> ctypes.CDLL:
    return ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")


def _existing_files(folder: Path, pattern: str) -> list[str]:
    return sorted(str(path) for path in folder.glob(pattern)) if folder.exists() else []


ROUTINES = ("gemm", "gemv", "ger", "dot", "axpy", "copy", "nrm2", "syrk", "syr2k")
"""The routines that compiled code calls, each for f32 and f64."""
_PREFIXES = ("", "scipy_")
"""Prefixes of the routines' names in some builds."""


def find_blas() -> str | None:
    """Return the path of the BLAS that `RISE_BLAS` names, with the CBLAS interface, or None."""
    return _find_blas(config.BLAS.value())


@cache
def _find_blas(name: str) -> str | None:
    candidates = _BLAS_CANDIDATES.get(name, lambda: iter([name]))()
    return next((path for path in candidates if blas_prefix(path) is not None), None)


def _openblas_candidates() -> Iterator[str]:
    """Search the wheel `scipy-openblas32`, then the system."""
    for folder in sys.path:
        yield from _existing_files(Path(folder, "scipy_openblas32/lib"), "*openblas*")
    yield from _system_libraries("openblas", "cblas", "blas")


def _mkl_candidates() -> Iterator[str]:
    """Search the wheel `mkl`, then the system."""
    for library in ("lib", "Library/bin"):
        yield from _existing_files(Path(sys.prefix, library), "*mkl_rt*")
    yield from _system_libraries("mkl_rt")


def _system_libraries(*names: str) -> Iterator[str]:
    for name in names:
        if sys.platform == "linux":
            yield from _linux_libraries(name)
        elif (path := ctypes.util.find_library(name)) is not None:
            yield path


def _linux_libraries(name: str) -> Iterator[str]:
    """Try the dynamic loader, then its search directories, for names with a version.

    `ctypes.util.find_library` would start ldconfig, a compiler and a linker.
    """
    yield f"lib{name}.so"
    architecture = f"{os.uname().machine}-linux-gnu"
    for folder in ("/usr/local/lib", f"/usr/lib/{architecture}", "/usr/lib64", "/usr/lib"):
        yield from _existing_files(Path(folder), f"lib{name}.so.*")


_BLAS_CANDIDATES = {"openblas": _openblas_candidates, "mkl": _mkl_candidates}


def blas_prefix(path: str) -> str | None:
    """Return the prefix of the routines' names in a library; None if it has no routines."""
    try:
        library = ctypes.CDLL(path)
    except OSError:
        return None
    return next((each for each in _PREFIXES if hasattr(library, f"{each}cblas_sgemm")), None)


def _routine_address(path: str, name: str) -> int | None:
    """Return the address of a routine in a library, or None."""
    symbol = f"{blas_prefix(path) or ''}{name}"
    library = ctypes.CDLL(path)
    if not hasattr(library, symbol):
        return None
    return ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value


def _prepare_blas(path: str) -> None:
    """Make the routines known to compiled code by their names without prefixes."""
    from riselang.native import code_loading

    for routine in ROUTINES:
        for letter in "sd":
            name = f"cblas_{letter}{routine}"
            address = _routine_address(path, name)
            if address is None:
                raise UserError(f"{path} has no {name}; set {config.BLAS.variable} to another BLAS")
            code_loading.add_symbol(name, address)
    library = ctypes.CDLL(path)
    for name in _SET_THREADS:
        if hasattr(library, name):
            getattr(library, name)(ctypes.c_int(config.num_threads()))


_SET_THREADS = (
    "scipy_openblas_set_num_threads", "openblas_set_num_threads", "MKL_Set_Num_Threads",
)  # fmt: skip


def is_installed(name: str) -> bool:
    """Whether a library that compiled code calls is installed."""
    return _FINDERS[name]() is not None if name in _FINDERS else False


def library_path(name: str) -> str:
    """Return the path of a library that compiled code calls."""
    path = _FINDERS[name]()
    if path is None:
        attempt = f" ({config.BLAS.value()})" if name == BLAS else ""
        raise UserError(
            f"the compiled code needs {name}{attempt}, which is not installed here; {_ADVICE[name]}"
        )
    return path


def prepare_library(name: str) -> None:
    """Load a library that compiled code calls."""
    _prepare_blas(library_path(name))


_FINDERS = {BLAS: find_blas}
"""Functions that find each library, by the name that compiled code uses for it."""
_ADVICE = {BLAS: f"pip install 'riselang[blas]', or set {config.BLAS.variable}"}
