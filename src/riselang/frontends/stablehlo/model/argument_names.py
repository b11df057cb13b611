"""Names of arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast


def argument_names(given: Sequence[str]) -> list[str]:
    """Names for the parameters of a program, made of what their author calls them."""
    names: list[str] = []
    for position, text in enumerate(given):
        name = re.sub(r"\W+", "_", text).strip("_")
        if not name or not name.isidentifier() or name in names or name.startswith("constant"):
            name = f"arg{position}"
        while name in names:
            name += "_"
        names.append(name)
    return names


def leaves(value: Any) -> list[Any]:
    """The arrays in lists, tuples and dictionaries, in the order in which JAX takes them."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value)
        return [leaf for key in sorted(items) for leaf in leaves(items[key])]
    if isinstance(value, list | tuple):
        return [leaf for each in cast(Sequence[Any], value) for leaf in leaves(each)]
    return [value]
