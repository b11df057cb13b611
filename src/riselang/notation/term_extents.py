"""Printed terms, with the extent of each subterm in the text.

The location of a pattern is its name, that of a scalar operation its symbol or name; any other
subterm has an extent from its first to its last character.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from riselang.notation import syntax
from riselang.notation.layout import Point, SyntaxExtents, layout
from riselang.notation.printer import TermPrinter, explicit_size_names
from riselang.notation.syntax import Syntax
from riselang.term.deep_recursion import recursive
from riselang.term.nodes import Lambda, Literal, Pattern, Scalar, Term

Extent = tuple[Point, Point]
"""The first point, and the point after the last."""


@dataclass(frozen=True)
class Word:
    """A pattern or an operation, as one word or symbol of a text."""

    line: int
    column: int
    length: int
    term: Term


@dataclass(frozen=True)
class TermText:
    """The text of a term, with the extents of its subterms."""

    text: str
    words: tuple[Word, ...]
    """In the order of the text."""
    _extents: dict[int, Extent] = field(repr=False)

    def extent(self, term: Term) -> Extent | None:
        """Return the extent of a subterm (by identity), or None if it is not printed separately."""
        return self._extents.get(id(term))


@recursive
def format_with_extents(term: Term) -> TermText:
    """Print a term as `show_term` does, and record the extents of its subterms."""
    printer = _RecordingPrinter()
    printer.names.used |= explicit_size_names(term)
    syntax_extents = SyntaxExtents()
    text = layout(printer.top(term), syntax_extents=syntax_extents)
    extents = {
        id(part): syntax_extents.parts[node]
        for node, part in printer.terms.items()
        if node in syntax_extents.parts
    }  # fmt: skip
    return TermText(text, tuple(_words(printer.heads, syntax_extents)), extents)


def _words(heads: dict[Syntax, Term], syntax_extents: SyntaxExtents) -> list[Word]:
    words: list[Word] = []
    for node, term in heads.items():
        extents = (
            syntax_extents.operators if isinstance(node, syntax.Binary) else syntax_extents.parts
        )
        if node in extents:
            (line, column), (_, end) = extents[node]
            words.append(Word(line, column, end - column, term))
    return sorted(words, key=lambda word: (word.line, word.column))


class _RecordingPrinter(TermPrinter):
    """Records the subterm that each syntax node was made from."""

    def __init__(self) -> None:
        super().__init__()
        self.terms: dict[Syntax, Term] = {}
        """Whole subterms."""
        self.heads: dict[Syntax, Term] = {}
        """Names and symbols."""

    def syntax(self, term: Term) -> Syntax:
        made = super().syntax(term)
        self.terms[made] = term
        if isinstance(term, Literal):
            self.heads[made] = term
        return made

    def top(self, term: Term) -> Syntax:
        made = super().top(term)
        self.terms[made] = term
        return made

    def argument(self, term: Term, annotated: frozenset[int] = frozenset()) -> Syntax:
        made = super().argument(term, annotated)
        self.terms.setdefault(made, term)
        if isinstance(made, syntax.Name) and isinstance(term, Lambda):
            self.heads.setdefault(made, _lambda_body(term))
        return made

    def pattern(self, term: Pattern) -> Syntax:
        made = super().pattern(term)
        self.heads[made.function if isinstance(made, syntax.Call) else made] = term
        return made

    def scalar(self, term: Scalar) -> Syntax:
        made = super().scalar(term)
        self.heads[made.function if isinstance(made, syntax.Call) else made] = term
        return made


def _lambda_body(term: Term) -> Term:
    """Return the body of nested lambdas, for an operator that is printed as a function."""
    while isinstance(term, Lambda):
        term = term.body
    return term
