"""Laws as text: two sides in notation, over sizes, data types, functions and values.

In the terms that are made of them, what a law is about is marked by a question mark: a size or a
data type is the variable `?n` or `?t`, and what stands for a function or a value is free.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from riselang.dialects.rise.types import RiseType, show, variable
from riselang.errors import UserError
from riselang.nat import Nat
from riselang.notation.program import parse_term
from riselang.rewrite.eta import expanded
from riselang.term.nodes import DepLambda, Free, Lambda, Term, spine
from riselang.term.sizes import at, at_argument, names_in
from riselang.term.substitution import instantiate

ARROW = "~>"
UNKNOWN = "?"
_TYPE_NAMES = ("s", "t", "u", "v", "w")
"""What laws call data types; all other names in types are sizes."""


class Form(Enum):
    """How a law writes the functions that it passes to patterns."""

    NORMAL = "as lambdas, as terms in data-flow normal form do"
    WRITTEN = "as the law says it: it is about how functions are written"


@dataclass(frozen=True)
class Law:
    """Two expressions with the same value, whatever the parameters in them are."""

    parameters: str
    """What the sides are about, as the parameters of a function in notation."""
    left: str
    right: str
    form: Form = Form.NORMAL

    @staticmethod
    def of(parameters: str, text: str, form: Form = Form.NORMAL) -> Law:
        left, arrow, right = (part.strip() for part in text.partition(ARROW))
        if not arrow:
            raise UserError(f"a law is written left {ARROW} right, but found {text or 'nothing'}")
        return Law(parameters, left, right, form)

    def __str__(self) -> str:
        return f"{self.left} {ARROW} {self.right}"

    @cached_property
    def closed(self) -> tuple[Term, Term]:
        """Both sides as functions of the parameters, with data types and sizes open."""
        both = self._parsed()
        names: list[tuple[str, RiseType]] = []
        while isinstance(both, Lambda):
            names.append((both.name, both.parameter))
            both = both.body
        _, sides = spine(both)
        return _under(names, sides[0]), _under(names, sides[1])

    @cached_property
    def sides(self) -> tuple[Term, Term]:
        """Both sides, with unknowns in the place of the parameters."""
        left, right = (_unknown(side) for side in self.closed)
        if left.type != right.type:
            raise UserError(
                f"both sides of a law have one type, but in {self} the left one is "
                f"{show(self.closed[0].type)} and the right one {show(self.closed[1].type)}"
            )
        if self.form is Form.NORMAL:
            return expanded(left), expanded(right)
        return left, right

    def _parsed(self) -> Term:
        text = f"fun(({self.parameters}), ({self.left}, {self.right}))"
        names = [name for name in _TYPE_NAMES if re.search(rf"\b{name}\b", self.parameters)]
        for name in names:
            text = f"depFun({name} : data, {text})"
        term = parse_term(text, f"the law {self}")
        while isinstance(term, DepLambda):
            term = at_argument(term, variable(term.name))
        return term


def _under(names: list[tuple[str, RiseType]], side: Term) -> Term:
    for name, type in reversed(names):
        side = Lambda(name, type, side)
    return side


def _unknown(side: Term) -> Term:
    """A side of a law with its parameters, sizes and data types marked as unknown."""
    sizes = {name: Nat.var(UNKNOWN + name) for name in names_in(side) if name not in _TYPE_NAMES}
    types = {name: variable(UNKNOWN + name) for name in _TYPE_NAMES}
    side = at(side, sizes, types)
    while isinstance(side, Lambda):
        side = instantiate(side.body, Free(UNKNOWN + side.name, side.parameter))
    return side
