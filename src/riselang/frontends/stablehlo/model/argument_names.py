"""Argument names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from riselang.support.counts import format_count
from riselang.support.errors import UserError


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


def bind_names(
    what: str, names: Sequence[str], values: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the first arguments of a model, and those passed by name, by their names.

    Each must be one of the model, and be passed once; errors refer to the model as `what`.
    """
    if len(values) > len(names):
        raise wrong_count(what, names, len(values) + len(named))
    given = dict(zip(names, values, strict=False))
    for name in named:
        if name not in names:
            raise UserError(f"{what} has no argument {name}; it has: {', '.join(names) or 'none'}")
        if name in given:
            raise UserError(f"{what} got {name} twice: by position and by name")
    return {**given, **named}


def wrong_count(what: str, names: Sequence[str], count: int) -> UserError:
    return UserError(
        f"{what} takes {format_count(len(names), 'argument')} ({', '.join(names)}), but got {count}"
    )
