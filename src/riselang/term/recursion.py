"""Entering a recursion over a term."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from riselang.support.recursion import deep, is_deep
from riselang.term.nodes import Term

SHALLOW = 24
"""Terms of at most so many levels are walked wherever the caller is: a thread takes longer."""

P = ParamSpec("P")
R = TypeVar("R")


def recursive(
    function: Callable[Concatenate[Term, P], R],
) -> Callable[Concatenate[Term, P], R]:
    """For the entry point of a recursion over a term: `deep`, where the term is."""
    entered = deep(function)

    @wraps(function)
    def wrapper(term: Term, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if term.depth <= SHALLOW or is_deep():
            return function(term, *args, **kwargs)
        return entered(term, *args, **kwargs)

    return wrapper
