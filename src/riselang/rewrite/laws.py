"""Laws as text: two sides in notation, over sizes, data types, functions and values.

In the terms that represent a law, a question mark marks its unknowns: sizes and data types are
variables such as `?n` and `?t`, and functions and values are free variables.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import RiseType, variable
from riselang.nat import Nat
from riselang.rewrite.eta import eta_expand_arguments
from riselang.rewrite.law_cache import load_sides
from riselang.rewrite.law_definition import Definition
from riselang.rewrite.law_unknowns import UNKNOWN, Unknowns, UnknownsCheck
from riselang.support.errors import SourceLocation, UserError
from riselang.support.lazy import cached_property
from riselang.term.nodes import DepLambda, Free, Lambda, Term, spine
from riselang.term.size_substitution import substitute_names, term_names
from riselang.term.substitution import instantiate

ARROW = "~>"
_TYPE_NAMES = ("s", "t", "u", "v", "w")
"""The names of data types in laws; all other names in types are sizes."""


class Form(Enum):
    """How a law writes the functions that are arguments of patterns."""

    NORMAL = "as lambdas, as in data-flow normal form"
    WRITTEN = "as in the text of the law, which is about the form of functions"


@dataclass(frozen=True)
class Law:
    """Two expressions that have the same value for all values of their parameters."""

    parameters: str
    """The unknowns, as the parameters of a function in notation."""
    left: str
    right: str
    form: Form = Form.NORMAL
    definition: Definition | None = field(default=None, compare=False)
    """The rule that applies it, which must be able to determine its unknowns."""

    @staticmethod
    def parse(
        parameters: str, text: str, form: Form = Form.NORMAL, definition: Definition | None = None
    ) -> Law:
        left, arrow, right = (part.strip() for part in text.partition(ARROW))
        law = Law(parameters, left, right, form, definition)
        if not arrow:
            found = repr(text) if text else "no docstring"
            raise law._error(
                "the first paragraph of the docstring of a rule is its law, "
                f"left {ARROW} right, but found {found}"
            )
        return law

    def __str__(self) -> str:
        return f"{self.left} {ARROW} {self.right}"

    @cached_property
    def outline(self) -> tuple[str, ...]:
        """The patterns that the left-hand side applies, the last one first.

        They are derived from the text, so that most laws need not be parsed: a strategy tries many
        laws, and most of them match nothing.
        """
        if self.left.startswith("let "):
            return ("let",)
        names: list[str] = []
        for stage in reversed(_split_pipeline(self.left)):
            match = re.fullmatch(r"(\w+)(\(.*\))?", stage)
            if match is None or match[1] not in PATTERNS:
                break
            names.append(match[1])
        return tuple(names)

    def check(self) -> None:
        """Raise an error if the text is wrong, or if its rule cannot determine an unknown."""
        _ = self._checked_sides

    @cached_property
    def closed_sides(self) -> tuple[Term, Term]:
        """Both sides as functions of the parameters, polymorphic in data types and sizes."""
        self.check()
        return self._close_sides()

    @property
    def text(self) -> str:
        """The text that determines the sides of the law."""
        return f"{self.parameters} | {self} | {self.form.name}"

    @cached_property
    def sides(self) -> tuple[Term, Term]:
        """Both sides, with unknowns instead of the parameters."""
        return load_sides(self.text) or self.parse_sides()

    def parse_sides(self) -> tuple[Term, Term]:
        """Parse the sides from the text, and check them."""
        left, right = self._checked_sides
        if self.form is Form.NORMAL:
            return eta_expand_arguments(left), eta_expand_arguments(right)
        return left, right

    @cached_property
    def _checked_sides(self) -> tuple[Term, Term]:
        names, sides = self._instantiate_sides(UNKNOWN)
        left, right = (_replace_parameters(names, side) for side in sides)
        if left.type != right.type:
            closed = self._close_sides()
            raise self._error(
                f"both sides of a law must have the same type, but in {self} the left-hand side "
                f"has the type {format_type(closed[0].type)} and the right-hand side has the type "
                f"{format_type(closed[1].type)}",
                str(self),
            )
        if self.definition is not None:
            unknowns = Unknowns.of(left), Unknowns.of(right)
            check = UnknownsCheck(self.definition, self.parameters, str(self), *unknowns)
            check.run(name for name, _ in names)
        return left, right

    def _error(self, message: str, text: str = "") -> UserError:
        """Return an error, located at a text of the definition."""
        if self.definition is None:
            return UserError(message)
        return self.definition.error(message, text, 0, max(1, len(text)))

    def _close_sides(self) -> tuple[Term, Term]:
        names, sides = self._instantiate_sides("")
        return _wrap_in_lambdas(names, sides[0]), _wrap_in_lambdas(names, sides[1])

    def _instantiate_sides(self, mark: str) -> tuple[list[tuple[str, RiseType]], list[Term]]:
        """Return the parameters with their types, and both sides, with sizes and types marked."""
        term, types = self._parsed_law, {}
        while isinstance(term, DepLambda):
            types[term.binder] = variable(mark + term.name)
            term = term.body
        sizes = {name: Nat.var(mark + name) for name in term_names(term) if name not in types}
        term = substitute_names(term, sizes, types)
        parameters: list[tuple[str, RiseType]] = []
        while isinstance(term, Lambda):
            parameters.append((term.name, term.parameter))
            term = term.body
        return parameters, spine(term)[1]

    @cached_property
    def _parsed_law(self) -> Term:
        from riselang.notation.program import parse_term

        text = f"fun(({self.parameters}), ({self.left}, {self.right}))"
        for name in _TYPE_NAMES:
            if re.search(rf"\b{name}\b", self.parameters):
                text = f"depFun({name} : data, {text})"
        try:
            return parse_term(text, f"the law {self}")
        except UserError as error:
            raise self._relocate_error(error, text) from None

    def _relocate_error(self, error: UserError, text: str) -> UserError:
        """Translate the location of an error in the generated text to the text of the law."""
        if error.location is None:
            return error if self.definition is None else self._error(error.message)
        start = text.index("fun((") + len("fun((")
        column, source_text = error.location.column - 1 - start, self.parameters
        if column >= len(source_text):
            # "), (" follows the parameters, and a comma replaces the arrow between the sides.
            column, source_text = column - len(source_text) - len("), ("), str(self)
            if column > len(self.left):
                column += len(f" {ARROW}") - len(",")
        if not 0 <= column < len(source_text):
            return error if self.definition is None else self._error(error.message, str(self))
        length = error.location.length
        if self.definition is not None:
            return self.definition.error(error.message, source_text, column, length, *error.notes)
        location = SourceLocation("the law", 1, column + 1, length, source_text)
        return UserError(error.message, location, *error.notes)


def _split_pipeline(text: str) -> list[str]:
    """Split an expression at each `|>` that is not in parentheses."""
    stages, start, depth = [], 0, 0
    for match in re.finditer(r"[(\[{]|[)\]}]|\|>", text):
        if match[0] != "|>":
            depth += 1 if match[0] in "([{" else -1
        elif depth == 0:
            stages.append(text[start : match.start()].strip())
            start = match.end()
    return [*stages, text[start:].strip()]


def _wrap_in_lambdas(names: list[tuple[str, RiseType]], side: Term) -> Term:
    for name, type in reversed(names):
        side = Lambda(name, type, side)
    return side


def _replace_parameters(names: list[tuple[str, RiseType]], side: Term) -> Term:
    """Replace the parameters of a side with unknowns, from the inside out."""
    for name, type in reversed(names):
        side = instantiate(side, Free(UNKNOWN + name, type))
    return side
