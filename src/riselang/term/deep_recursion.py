"""Running recursive functions on deep terms."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from riselang.support.recursion import has_deep_stack, with_deep_stack
from riselang.term.nodes import Term

SHALLOW = 24
"""The depth up to which a term is walked on the caller's stack: starting a thread takes longer."""

P = ParamSpec("P")
R = TypeVar("R")


def recursive(
    function: Callable[Concatenate[Term, P], R],
) -> Callable[Concatenate[Term, P], R]:
    """Decorate the entry point of a recursion over a term: run it with `deep` if the term is."""
    entered = with_deep_stack(function)

    @wraps(function)
    def wrapper(term: Term, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if term.depth <= SHALLOW or has_deep_stack():
            return function(term, *args, **kwargs)
        return entered(term, *args, **kwargs)

    return wrapper
