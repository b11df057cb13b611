"""Argument names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast


def argument_names(source_names: Sequence[str]) -> list[str]:
    """Return valid, unique parameter names that resemble those in the source."""
    names: list[str] = []
    for position, text in enumerate(source_names):
        name = re.sub(r"\W+", "_", text).strip("_")
        if not name or not name.isidentifier() or name in names or name.startswith("constant"):
            name = f"arg{position}"
        while name in names:
            name += "_"
        names.append(name)
    return names


def array_leaves(value: Any) -> list[Any]:
    """Return the arrays in lists, tuples and dictionaries, in JAX's order."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value)
        return [leaf for key in sorted(items) for leaf in array_leaves(items[key])]
    if isinstance(value, list | tuple):
        return [leaf for each in cast(Sequence[Any], value) for leaf in array_leaves(each)]
    return [value]
