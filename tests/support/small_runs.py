"""Running what is left of a broken program on the interpreter, where that is small enough."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from riselang.dialects.rise.type_binding import nat_variables
from riselang.dialects.rise.types import FunType, RiseType, uncurry
from riselang.interpreter.evaluate import from_buffers, run_term, to_buffers
from riselang.nat import Nat
from riselang.support.errors import RiseError
from riselang.term.nodes import Pattern, Term, spine
from riselang.term.size_substitution import check_sizes, substitute_sizes
from support.random_types import volume
from support.values import random_values

MOST = 20_000
"""Steps, more or less, that a run may take."""


def run_small(term: Term, seed: int) -> bool:
    """Run the term on random values of small sizes; whether that was possible.

    An error of the program, such as an index out of range, is fine; anything else is raised.
    """
    inputs, result = uncurry(term.type)
    if any(isinstance(type, FunType) for type in inputs):
        return False
    with suppress(RiseError):
        sizes = {name: Nat.const(2) for type in inputs for name in nat_variables(type)}
        check_sizes(term, sizes)
        closed = substitute_sizes(term, sizes)
        inputs, result = uncurry(closed.type)
        if steps(closed) > MOST or any(not is_small(type) for type in (*inputs, result)):
            return False
        source = np.random.default_rng(seed)
        values = [from_buffers(type, random_values(type, source)) for type in inputs]
        to_buffers(result, run_term(closed, values))
        return True
    return False


def is_small(type: RiseType) -> bool:
    return not nat_variables(type) and volume(type) <= MOST


def steps(term: Term) -> int:
    """How long the term runs at most; a while may never end."""
    head, arguments = spine(term)
    total = 1 + sum(steps(part) for part in (arguments if arguments else term.children))
    if isinstance(head, Pattern):
        if head.spec.name == "while" or head.spec.name == "sort":
            return MOST + 1
        numbers = [x.constant for x in head.arguments if isinstance(x, Nat) and x.is_constant]
        return total * max([1, *numbers])
    return total + (steps(head) if arguments else 0)
