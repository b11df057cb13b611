"""Editor support for texts in notation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.type_binding import nat_variables
from riselang.dialects.rise.types import ArrayType, RiseType
from riselang.editor.answers import Completion, Extent, Hover
from riselang.editor.vocabulary import (
    describe_function,
    describe_pattern,
    notation_completions,
    word_at,
)
from riselang.notation.analysis import Analysis, analyze, has_unknowns
from riselang.notation.context import show_type
from riselang.notation.formatting import format_program
from riselang.notation.name_resolution import Binder
from riselang.notation.operators import FUNCTIONS
from riselang.notation.syntax import Definition, DepFun, Name, Option, Span
from riselang.support.errors import RiseError
from riselang.term import build
from riselang.term.cost import byte_size

_OWN = re.compile(r"(?<!\bdef )\b[^\W\d]\w*")
MAX_TYPES = 3
"""The number of types displayed for a function that is used at several types."""


@dataclass(frozen=True)
class NotationDocument:
    """A `.rise` file."""

    text: str
    name: str
    analysis: Analysis

    @staticmethod
    def of(text: str, name: str, previous: NotationDocument | None = None) -> NotationDocument:
        previous_analysis = None if previous is None else previous.analysis
        return NotationDocument(text, name, analyze(text, name, previous_analysis))

    @property
    def problems(self) -> Sequence[RiseError]:
        return self.analysis.problems

    def hover(self, offset: int) -> Hover | None:
        syntax = self.analysis.name_at(offset)
        if syntax is None:
            return self._hover_size(offset)
        if isinstance(syntax, Definition):
            text = self._describe_definition(syntax)
        elif (binder := self.analysis.binder_of(syntax)) is not None:
            is_definition = isinstance(binder, Definition)
            text = (
                self._describe_definition(binder)
                if is_definition
                else self._describe_binder(binder)
            )
        else:
            assert isinstance(syntax, Name | Option)
            text = self._describe_word(syntax)
        return None if text is None else Hover(text, syntax.span)

    def _describe_binder(self, binder: Binder) -> str:
        if isinstance(binder, DepFun):
            return f"```rise\n{binder.name} : {binder.kind}\n```"
        return self._describe_types(binder.name, binder.span, build.Variable)

    def _describe_definition(self, definition: Definition) -> str:
        checked = self.analysis.result_of(definition)
        if checked is not None and checked.term is not None:
            return f"```rise\n{definition.name} : {show_type(checked.term.type)}\n```"
        if checked is not None and checked.undetermined is not None and checked.undetermined.notes:
            return "\n\n".join(checked.undetermined.notes)
        return f"```rise\ndef {definition.name}\n```"

    def _describe_word(self, syntax: Name | Option) -> str | None:
        name = syntax.text if isinstance(syntax, Name) else syntax.name
        if name in PATTERNS:
            uses = self.analysis.types_at(syntax.span, build.PatternUse)[:MAX_TYPES]
            use_texts = [f"here `{show_type(type)}`" for type in uses]
            return "\n\n".join(
                [describe_pattern(PATTERNS[name]), *use_texts, *self._describe_results(syntax.span)]
            )
        if name in FUNCTIONS:
            return "\n\n".join(
                [describe_function(FUNCTIONS[name]), *self._describe_results(syntax.span)]
            )
        return None

    def _describe_results(self, span: Span) -> list[str]:
        types = self.analysis.types_at(span, build.Application, build.Operation)[:MAX_TYPES]
        return [f"gives `{show_type(type)}`{_byte_size_text(type)}" for type in types]

    def _describe_types(self, name: str, span: Span, kind: type[build.Node]) -> str:
        types = self.analysis.types_at(span, kind)[:MAX_TYPES]
        if not types:
            return f"```rise\n{name}\n```"
        lines = "\n".join(f"{name} : {show_type(type)}" for type in types)
        sizes = [_byte_size_text(type).removeprefix(", ") for type in types]
        return f"```rise\n{lines}\n```\n" + "; ".join(size for size in sizes if size)

    def _hover_size(self, offset: int) -> Hover | None:
        """Return the hover for a size in a type."""
        match = word_at(self.text, offset)
        if match is None:
            return None
        word, extent = match
        for checked in self.analysis.results:
            if checked.elaborator is None:
                continue
            refined = checked.elaborator.size_refinements
            if word in refined:
                return Hover(f"the size `{word} = {refined[word]}`", extent)
            recorded_nodes = checked.elaborator.recorded_nodes
            if any(word in nat_variables(node.type) for _, node in recorded_nodes):
                return Hover(f"the size `{word}`", extent)
        return None

    def definition(self, offset: int) -> Extent | None:
        syntax = self.analysis.name_at(offset)
        binder = None if syntax is None else self.analysis.binder_of(syntax)
        return None if binder is None else binder.span

    def completions(self, offset: int) -> Sequence[Completion]:
        completions: dict[str, Completion] = {}
        for binder in self.analysis.names_in_scope(offset):
            kind = "function" if isinstance(binder, Definition) else "variable"
            types = self.analysis.types_at(binder.span, build.Variable)
            detail = show_type(types[0]) if types else ""
            completions[binder.name] = Completion(binder.name, kind, detail)
        typed_word = word_at(self.text, offset)
        known_words = {each.label for each in notation_completions()} | {
            typed_word[0] if typed_word else ""
        }
        for word in _OWN.findall(self.analysis.definition_text(offset)):
            if word not in known_words:  # a definition that is being edited often has syntax errors
                completions.setdefault(word, Completion(word, "variable"))
        return [
            *completions.values(),
            *(each for each in notation_completions() if each.label not in completions),
        ]

    def format(self) -> str | None:
        try:
            return format_program(self.text, self.name)
        except RiseError:
            return None


def _byte_size_text(type: RiseType) -> str:
    """Return the size of an array in bytes as text, if its type is fully known."""
    if not isinstance(type, ArrayType) or has_unknowns(type):
        return ""
    return f", {byte_size([type])} bytes"
