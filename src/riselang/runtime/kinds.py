"""Results as arrays of the library that the arguments come from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

Convert = Callable[[Any], Any]
HOMES = {"jaxlib": "jax.numpy", "jax": "jax.numpy"}
"""Where `from_dlpack` is, if not in the package that the type of an array is from."""


def kind_of(arguments: Sequence[Any]) -> Convert | None:
    """What makes an array of the first argument's library; None for those of numpy."""
    for argument in arguments:
        if isinstance(argument, np.ndarray | np.generic) or not hasattr(argument, "__dlpack__"):
            continue
        package = type(argument).__module__.partition(".")[0]
        home = sys.modules.get(HOMES.get(package, package))
        return getattr(home, "from_dlpack", None)
    return None


def as_kind(result: Any, convert: Convert) -> Any:
    """One array, or a tuple of them, without a copy."""
    if isinstance(result, tuple):
        return tuple(as_kind(part, convert) for part in cast(tuple[Any, ...], result))
    return convert(result)
