"""Random programs for all sizes: numbers in the types of the inputs become names."""

from __future__ import annotations

import re

from riselang.dialects.rise.type_binding import nat_variables
from riselang.notation.printer import show_term
from riselang.notation.program import parse_term
from riselang.support.errors import LimitationError, UserError
from support.programs import Program

LENGTH = re.compile(r"\b([2-9]|[1-9][0-9]+)(?=\.[^0-9])")
BOUND = re.compile(r"(?<=idx\[)([2-9]|[1-9][0-9]+)(?=\])")


def opened(program: Program) -> Program | None:
    """The program with a name for each length, or None where it is only for those numbers."""
    text = show_term(program.term)
    if not text.startswith("fun("):
        return None
    header, body = _split(text)
    lengths = set(LENGTH.findall(header))

    def name_of(found: re.Match[str]) -> str:
        # The bound of an index is known only where an array has that length.
        return f"L{found[1]}" if found[1] in lengths else found[1]

    header = BOUND.sub(name_of, LENGTH.sub(name_of, header))
    try:
        term = parse_term(header + BOUND.sub(name_of, body))
    except (UserError, LimitationError):
        return None
    return Program(term, program.results) if nat_variables(term.type) else None


def _split(text: str) -> tuple[str, str]:
    """The parameters of the outermost function, and its body."""
    depth = 0
    for position, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 1 and character in ",":
            return text[:position], text[position:]
    raise AssertionError(text)
