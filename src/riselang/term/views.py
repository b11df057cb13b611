"""Which terms cost nothing to read."""

from __future__ import annotations

from riselang.dialects.rise.schemes import Role
from riselang.term.nodes import Bound, Pattern, Term, spine


def is_view(term: Term) -> bool:
    """Whether reading `term` computes nothing: layout patterns over variables."""
    stack = [term]
    while stack:
        head, arguments = spine(stack.pop())
        if isinstance(head, Pattern) and head.spec.role is Role.VIEW:
            stack.extend(arguments)
        elif arguments or not isinstance(head, Bound):
            return False
    return True
