"""Views of complex NumPy arrays as arrays of floats, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


def view_as_floats(array: Array) -> Array:
    """View a complex array as one of floats, whose last dimension has two elements."""
    return array[..., None].view(f"f{array.dtype.itemsize // 2}")


def view_as_complex(array: Array) -> Array:
    """View a contiguous array of floats, whose last dimension has two elements, as complex."""
    return array.view(f"c{array.dtype.itemsize * 2}")[..., 0]


def view_if_complex(array: Array) -> Array:
    """View an array as floats if it is complex."""
    return view_as_floats(array) if array.dtype.kind == "c" else array
