"""The libraries that matrix products are measured against, on as many threads as we have."""

from __future__ import annotations

import ctypes
import statistics
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from reporting import report
from rivals import has
from timing import samples

from riselang.tools.figures import Rival

Array = np.ndarray[Any, np.dtype[Any]]
Calls = Mapping[str, Callable[[], object]]


@dataclass(frozen=True)
class Library:
    name: str
    matmul: Callable[[Array, Array], Array]


@cache
def libraries() -> tuple[Library, ...]:
    """numpy's, which is OpenBLAS, and MKL where its wheel is installed, or a torch that has it."""
    mkl = _mkl() or _mkl_in_torch()
    ours = Library("numpy's OpenBLAS", np.matmul)
    return (ours,) if mkl is None else (ours, mkl)


def _mkl() -> Library | None:
    found = sorted(Path(sys.prefix, "lib").glob("libmkl_rt.so*"))
    if not found:
        return None
    library = ctypes.CDLL(str(found[0]))
    row_major, plain = 101, 111

    def matmul(a: Array, b: Array) -> Array:
        rows, depth = a.shape
        columns = b.shape[1]
        out = np.empty((rows, columns), a.dtype)
        is_double = a.dtype == np.float64
        number = ctypes.c_double if is_double else ctypes.c_float
        gemm = library.cblas_dgemm if is_double else library.cblas_sgemm
        pointers = [ctypes.c_void_p(each.ctypes.data) for each in (a, b, out)]
        gemm(
            row_major, plain, plain, rows, columns, depth, number(1.0), pointers[0], depth,
            pointers[1], columns, number(0.0), pointers[2], columns,
        )  # fmt: skip
        return out

    return Library("MKL", matmul)


def _mkl_in_torch() -> Library | None:
    if not has("torch") or not (torch := import_module("torch")).backends.mkl.is_available():
        return None

    def matmul(a: Array, b: Array) -> Array:
        return torch.mm(torch.from_numpy(a), torch.from_numpy(b))

    return Library("MKL in torch", matmul)


def compare(
    name: str, ours: Callable[[], object], rivals: Calls, *, calls: int, rounds: int, bound: float
) -> None:
    """Report how long we take beside the fastest of the rivals."""
    taken = samples([ours, *rivals.values()], rounds=rounds, calls=calls)
    theirs = dict(zip(rivals, taken[1:], strict=True))
    best = min(theirs, key=lambda each: statistics.median(theirs[each]))
    report(name, taken[0], Rival(best, theirs[best]), bound=bound)
