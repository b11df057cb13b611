"""Editor support for texts in notation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from riselang.dialects.rise.binding import nat_variables
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.types import ArrayType, RiseType
from riselang.editor.answers import Extent, Hover, Suggestion
from riselang.editor.words import function_text, notation_words, pattern_text, word_at
from riselang.notation.analysis import Analysis, analyse, has_unknowns
from riselang.notation.context import show_type
from riselang.notation.formatting import format_program
from riselang.notation.names import Binder
from riselang.notation.operators import FUNCTIONS
from riselang.notation.syntax import Definition, DepFun, Name, Option, Span
from riselang.support.errors import RiseError
from riselang.term import build
from riselang.term.cost import bytes_of

_OWN = re.compile(r"(?<!\bdef )\b[^\W\d]\w*")
MOST_TYPES = 3
"""The number of types displayed for a function that is used at several types."""


@dataclass(frozen=True)
class NotationDocument:
    """A `.rise` file."""

    text: str
    name: str
    analysis: Analysis

    @staticmethod
    def of(text: str, name: str, before: NotationDocument | None = None) -> NotationDocument:
        known = None if before is None else before.analysis
        return NotationDocument(text, name, analyse(text, name, known))

    @property
    def problems(self) -> Sequence[RiseError]:
        return self.analysis.problems

    def hover(self, offset: int) -> Hover | None:
        syntax = self.analysis.name_at(offset)
        if syntax is None:
            return self._size(offset)
        if isinstance(syntax, Definition):
            text = self._definition(syntax)
        elif (binder := self.analysis.binder_of(syntax)) is not None:
            is_definition = isinstance(binder, Definition)
            text = self._definition(binder) if is_definition else self._binder(binder)
        else:
            assert isinstance(syntax, Name | Option)
            text = self._word(syntax)
        return None if text is None else Hover(text, syntax.span)

    def _binder(self, binder: Binder) -> str:
        if isinstance(binder, DepFun):
            return f"```rise\n{binder.name} : {binder.kind}\n```"
        return self._typed(binder.name, binder.span, build.Variable)

    def _definition(self, definition: Definition) -> str:
        checked = self.analysis.checked_definition(definition)
        if checked is not None and checked.term is not None:
            return f"```rise\n{definition.name} : {show_type(checked.term.type)}\n```"
        if checked is not None and checked.missing is not None and checked.missing.notes:
            return "\n\n".join(checked.missing.notes)
        return f"```rise\ndef {definition.name}\n```"

    def _word(self, syntax: Name | Option) -> str | None:
        name = syntax.text if isinstance(syntax, Name) else syntax.name
        if name in PATTERNS:
            uses = self.analysis.types_at(syntax.span, build.PatternUse)[:MOST_TYPES]
            here = [f"here `{show_type(type)}`" for type in uses]
            return "\n\n".join([pattern_text(PATTERNS[name]), *here, *self._results(syntax.span)])
        if name in FUNCTIONS:
            return "\n\n".join([function_text(FUNCTIONS[name]), *self._results(syntax.span)])
        return None

    def _results(self, span: Span) -> list[str]:
        types = self.analysis.types_at(span, build.Application, build.Operation)[:MOST_TYPES]
        return [f"gives `{show_type(type)}`{_extent(type)}" for type in types]

    def _typed(self, name: str, span: Span, kind: type[build.Node]) -> str:
        types = self.analysis.types_at(span, kind)[:MOST_TYPES]
        if not types:
            return f"```rise\n{name}\n```"
        lines = "\n".join(f"{name} : {show_type(type)}" for type in types)
        sizes = [_extent(type).removeprefix(", ") for type in types]
        return f"```rise\n{lines}\n```\n" + "; ".join(size for size in sizes if size)

    def _size(self, offset: int) -> Hover | None:
        """Return the hover for a size in a type."""
        found = word_at(self.text, offset)
        if found is None:
            return None
        word, extent = found
        for checked in self.analysis.checked:
            if checked.elaborator is None:
                continue
            refined = checked.elaborator.refined
            if word in refined:
                return Hover(f"the size `{word} = {refined[word]}`", extent)
            seen = checked.elaborator.seen
            if any(word in nat_variables(node.type) for _, node in seen):
                return Hover(f"the size `{word}`", extent)
        return None

    def definition(self, offset: int) -> Extent | None:
        syntax = self.analysis.name_at(offset)
        binder = None if syntax is None else self.analysis.binder_of(syntax)
        return None if binder is None else binder.span

    def suggestions(self, offset: int) -> Sequence[Suggestion]:
        own: dict[str, Suggestion] = {}
        for binder in self.analysis.names_before(offset):
            kind = "function" if isinstance(binder, Definition) else "variable"
            types = self.analysis.types_at(binder.span, build.Variable)
            detail = show_type(types[0]) if types else ""
            own[binder.name] = Suggestion(binder.name, kind, detail)
        typed = word_at(self.text, offset)
        known = {each.label for each in notation_words()} | {typed[0] if typed else ""}
        for word in _OWN.findall(self.analysis.written_around(offset)):
            if word not in known:  # a definition that is being edited often has syntax errors
                own.setdefault(word, Suggestion(word, "variable"))
        return [*own.values(), *(each for each in notation_words() if each.label not in own)]

    def formatted(self) -> str | None:
        try:
            return format_program(self.text, self.name)
        except RiseError:
            return None


def _extent(type: RiseType) -> str:
    """Return the size of an array in bytes as text, if its type is fully known."""
    if not isinstance(type, ArrayType) or has_unknowns(type):
        return ""
    return f", {bytes_of([type])} bytes"
