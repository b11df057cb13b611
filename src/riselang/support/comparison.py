"""Comparison of computed arrays: bit for bit, or up to rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

TOLERANCES = {"float64": 1e-9, "float32": 1e-4}
"""Relative tolerances, since programs may sum in any order; shorter floats have the last one."""
OTHER_TOLERANCE = 2e-2


def are_identical(first: Sequence[NDArray[Any]], second: Sequence[NDArray[Any]]) -> bool:
    """Return whether two lists of arrays have the same types, shapes and bits.

    The bits of a NaN do not matter.
    """
    return len(first) == len(second) and all(
        a.shape == b.shape and a.dtype == b.dtype and _same_bits(a, b)
        for a, b in zip(first, second, strict=True)
    )


def are_close(first: Sequence[NDArray[Any]], second: Sequence[NDArray[Any]]) -> bool:
    """Return whether two lists of arrays are equal up to rounding."""
    return len(first) == len(second) and all(
        _is_close(a, b) for a, b in zip(first, second, strict=True)
    )


def flatten_results(result: Any) -> list[NDArray[Any]]:
    """Return the arrays of a result, which may be a tuple of results."""
    if isinstance(result, tuple):
        parts = cast(tuple[Any, ...], result)
        return [array for part in parts for array in flatten_results(part)]
    return [np.asarray(result)]


def _same_bits(first: NDArray[Any], second: NDArray[Any]) -> bool:
    if first.tobytes() == second.tobytes():
        return True
    if first.dtype.kind in "iub":
        return False
    is_nan = np.isnan(first)
    if not np.array_equal(is_nan, np.isnan(second)):
        return False
    return first[~is_nan].tobytes() == second[~is_nan].tobytes()


def _is_close(first: NDArray[Any], second: NDArray[Any]) -> bool:
    if first.shape != second.shape:
        return False
    if first.dtype.kind in "iub":
        return bool(np.array_equal(first, second))
    tolerance = TOLERANCES.get(first.dtype.name, OTHER_TOLERANCE)
    wide, other_wide = first.astype(np.float64), second.astype(np.float64)
    scale = float(np.max(np.abs(wide), initial=0.0, where=np.isfinite(wide)))
    return bool(np.allclose(wide, other_wide, tolerance, tolerance * scale, equal_nan=True))
