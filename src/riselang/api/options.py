"""The options that all entry points share, as keyword arguments.

An entry point takes `**options: Unpack[CompileOptions]`, so that a type checker knows each option,
and calls `check_names`, so that a misspelled option is an error at run time, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

from riselang.support.spelling import closest_name

if TYPE_CHECKING:
    from riselang.rewrite.core import Strategy


class CompileOptions(TypedDict, total=False):
    """How a program is compiled; `rl.jit` explains each option."""

    backend: str
    float: str | None
    loops: str | None
    debug_info: bool | None
    library: str | None
    effort: str | None
    device: str | None
    strategy: Strategy | str | None


class LoadOptions(CompileOptions, total=False):
    """How a program in a file is compiled."""

    contracted: bool | None


class ModelOptions(CompileOptions, total=False):
    """How a model is compiled."""

    fallback: str | None


def check_names(function: str, options: Mapping[str, object], kind: type) -> None:
    """Raise the error of Python for an option that a function does not have."""
    option_names: frozenset[str] = getattr(kind, "__optional_keys__", frozenset())
    for name in options:
        if name not in option_names:
            suggestion = closest_name(name, option_names)
            hint = f"; did you mean {suggestion!r}?" if suggestion else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")
