"""The index functions of views: where each element of the result is in the argument.

A path leads from a value to a scalar in it: an index for each array, and a side for each pair. A
`Route` maps the first parts of a path. A view has a route for reading, from a path into its result
to a path into its argument, and may have one for storing, in the opposite direction. Lowering
applies the routes, the prover reasons with them, and the ops of access paths are generated from
them; the tests compare them with the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from riselang.nat import Nat, nat_max


class Side(Enum):
    """A component of a pair."""

    FIRST = 0
    SECOND = 1


Path: TypeAlias = "tuple[Nat | Side, ...]"
PARTS = ("i", "j", "side")
"""The names of the parts of a path in the functions of views."""


@dataclass(frozen=True, eq=False)
class Route:
    """A function of sizes and the first parts of a path; returns the parts that replace them."""

    function: Callable[..., Any]
    sizes: tuple[str, ...]
    """The pattern parameters that the function takes, before the parts."""
    parts: int
    """The number of parts that it takes."""

    def __call__(self, sizes: Sequence[Nat], path: Path) -> Path:
        parts = self.parts
        found = self.function(*sizes, *path[:parts])
        return found + path[parts:] if isinstance(found, tuple) else (found, *path[parts:])


@dataclass(frozen=True)
class SizeAttribute:
    """A size that does not follow from the types of a step, so its op has it as an attribute."""

    parameter: str
    attribute: str
    keyword: str
    """The keyword before it in the assembly format of the op."""


@dataclass(frozen=True, eq=False)
class View:
    """The effect of a view on paths, and the descriptions of its ops in access paths.

    The functions take the pattern parameters that they need, by name, and then the parts of the
    path, which are called `i`, `j` and `side`: the one of `split` is `lambda m, i, j: i * m + j`.
    """

    read: Callable[..., Any]
    """Maps the first parts of a path into the result to those of a path into the argument."""
    read_description: str
    """The description of the op that reads, for the documentation."""
    store: Callable[..., Any] | None = None
    """Maps the first parts of a path into the argument to those of a path into the result, if every
    element of the argument occurs at most once in the result."""
    store_description: str = ""
    """The description of the op that stores, for the documentation."""
    headroom: Callable[..., Any] | None = None
    """An expression that is negative for the elements of the argument that the result omits."""
    size_attribute: SizeAttribute | None = None
    is_pad: bool = False
    """Whether the result contains the argument unchanged, after `l` other elements."""


def make_route(pattern: str, parameters: Sequence[str], function: Callable[..., Any]) -> Route:
    """The route of a pattern with these parameters; the names of the function's parameters tell
    which sizes it takes, before the parts of a path.
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    sizes = tuple(name for name in names if name in parameters)
    for name in names:
        assert name in parameters or name in PARTS, (
            f"{pattern}: the function of its view takes {name}, which is neither a parameter of "
            f"the pattern ({', '.join(parameters)}) nor a part of a path ({', '.join(PARTS)})"
        )
    assert names[: len(sizes)] == sizes, (
        f"{pattern}: the function of its view takes ({', '.join(names)}), but sizes must come "
        "before the parts of a path"
    )
    return Route(function, sizes, len(names) - len(sizes))


def as_divisor(size: Nat) -> Nat:
    """A length as a divisor, at least 1: nothing is read from an empty array, so any will do."""
    return nat_max(size, 1)
