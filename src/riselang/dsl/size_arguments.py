"""Sizes that users pass in Python."""

from __future__ import annotations

from operator import index
from typing import Any

from riselang.dsl.tracing import known_sizes, value_text
from riselang.dsl.user_locations import user_location
from riselang.nat import Nat, NatError, as_nat
from riselang.support.errors import UserError


def as_size(size: Any, what: str) -> Nat:
    """Convert an integer of any library, a string or a size; errors say `what` it is for."""
    try:
        found = as_nat(size if isinstance(size, str | Nat) else _as_integer(size))
    except NatError as error:
        message = f"{what}: {value_text(size)} is not a size: {error}"
        raise UserError(message, user_location()) from None
    if found.is_constant and found.constant < 0:
        raise UserError(f"{what}: {size!r} is not a size: it is negative", user_location())
    return found.substitute(known_sizes())


def _as_integer(size: Any) -> int:
    try:
        # A Boolean is an integer in Python, but a mistake here.
        if not isinstance(size, bool):
            return index(size)
    except TypeError:
        pass
    raise NatError("it is not a number or a size expression")
