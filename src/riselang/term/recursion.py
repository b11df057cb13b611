"""Stack for functions that recurse over terms, by the depth of the term."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from riselang.errors import LimitationError
from riselang.stack import more_stack
from riselang.term.nodes import Term

MAXIMUM_DEPTH = 60_000

P = ParamSpec("P")
R = TypeVar("R")


@contextmanager
def stack_for(depth: int, frames_per_level: int = 6) -> Generator[None]:
    """Room to recurse `depth` levels with `frames_per_level` Python calls each."""
    if depth > MAXIMUM_DEPTH:
        raise LimitationError(f"the term is {depth} levels deep; the limit is {MAXIMUM_DEPTH}")
    with more_stack(depth * frames_per_level):
        yield


def recursive(
    function: Callable[Concatenate[Term, P], R],
) -> Callable[Concatenate[Term, P], R]:
    """For the entry point of a recursion over a term: asks for as much stack as it is deep."""

    @wraps(function)
    def wrapper(term: Term, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with stack_for(term.depth):
            return function(term, *args, **kwargs)

    return wrapper
