"""How a view shows what it is given: where each element of its result is in its argument.

A path leads from a value to a scalar in it: an index for each array on the way, a side for each
pair. A `Route` says what becomes of the beginning of a path. A view has a route that reads, from a
path into its result to one into its argument, and may have one that stores, the other way round.
Lowering follows the routes, the prover reasons with them, and the ops of access paths are made of
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


@dataclass(frozen=True, eq=False)
class Route:
    """A function of sizes and the first parts of a path; it gives the parts that replace them."""

    function: Callable[..., Any]
    sizes: tuple[str, ...]
    """The parameters of the pattern that the function takes, before the parts."""
    parts: int
    """How many parts of a path it takes."""

    def __call__(self, sizes: Sequence[Nat], path: Path) -> Path:
        parts = self.parts
        found = self.function(*sizes, *path[:parts])
        return found + path[parts:] if isinstance(found, tuple) else (found, *path[parts:])


@dataclass(frozen=True)
class Kept:
    """A size that the types of a step do not tell, so that its op has it as an attribute."""

    parameter: str
    attribute: str
    keyword: str
    """What stands before it in the text of the op."""


@dataclass(frozen=True, eq=False)
class View:
    """What a view does to paths, and what the ops say that stand for it in access paths.

    Functions name the parameters of the pattern that they need, and then the parts of the path:
    `lambda m, i, j: i * m + j` is that of `split`.
    """

    read: Callable[..., Any]
    """From the beginning of a path into the result to that of the path into the argument."""
    reads: str
    """What the op is that reads, for the documentation."""
    store: Callable[..., Any] | None = None
    """From the beginning of a path into the argument to that of the path into the result, where
    every element of the argument has at most one place in the result."""
    stores: str = ""
    """What the op is that stores, for the documentation."""
    room: Callable[..., Any] | None = None
    """What is negative for the elements of the argument that the result does not have."""
    kept: Kept | None = None
    is_pad: bool = False
    """Whether the argument stands in the result as it is, behind `l` other elements."""


def route(parameters: Sequence[str], function: Callable[..., Any]) -> Route:
    """The route of a pattern with these parameters; the names of the function's say what it takes.

    Sizes come first.
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    sizes = tuple(name for name in names if name in parameters)
    assert names[: len(sizes)] == sizes, f"{names}: sizes must come before the parts of a path"
    return Route(function, sizes, len(names) - len(sizes))


def positive(size: Nat) -> Nat:
    """A length to divide by: in an empty array there is nothing to read, so any index will do."""
    return nat_max(size, 1)
