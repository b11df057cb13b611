"""Convert results to arrays of the library of the arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from riselang.support.structures import flatten

Convert = Callable[[Any], Any]
DLPACK_MODULES = {"jaxlib": "jax.numpy", "jax": "jax.numpy"}
"""The module with `from_dlpack`, if it is not the package that defines the array type."""


def array_converter(arguments: Sequence[Any]) -> Convert | None:
    """Return the conversion to arrays of the first argument's library; None for NumPy."""
    for argument in arguments:
        if isinstance(argument, np.ndarray | np.generic) or not hasattr(argument, "__dlpack__"):
            continue
        package = type(argument).__module__.partition(".")[0]
        home = sys.modules.get(DLPACK_MODULES.get(package, package))
        return getattr(home, "from_dlpack", None)
    return None


def convert_results(result: Any, convert: Convert) -> Any:
    """Convert an array, or a structure of arrays, without a copy."""
    arrays, structure = flatten(result, lambda value: isinstance(value, np.ndarray))
    return structure.unflatten([convert(array) for array in arrays])
