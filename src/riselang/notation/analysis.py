"""Analysis of a text in notation while it is edited: all its errors, names and types.

A definition with a syntax error is left out, and the others are analyzed without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from riselang.dialects.rise.type_binding import nat_variables, type_variables
from riselang.dialects.rise.types import RiseType
from riselang.notation.context import show_type
from riselang.notation.definition_checking import (
    CheckedDefinition,
    check_definitions,
    used_definitions,
)
from riselang.notation.name_resolution import Binder, NameResolution, resolve_names
from riselang.notation.reader import parse_definitions
from riselang.notation.source import Source
from riselang.notation.syntax import (
    Definition,
    DepFun,
    Fun,
    Let,
    Name,
    Option,
    Parameter,
    Span,
    Syntax,
    children,
)
from riselang.support.errors import RiseError
from riselang.support.recursion import with_deep_stack
from riselang.term import build

MAX_BROKEN_DEFINITIONS = 20
"""The number of definitions with syntax errors after which the remaining text is not analyzed."""
_DEFINITION_START = re.compile(r"^[^\S\n]*def(?!\w)", re.MULTILINE)
_DEFINED_NAME = re.compile(r"\bdef\s+(\w+)")
_NOT_SPACE = re.compile(r"\S")


@dataclass(frozen=True)
class Analysis:
    """The result of analyzing a text."""

    source: Source
    definitions: Sequence[Definition]
    """The definitions without syntax errors."""
    resolution: NameResolution
    results: Sequence[CheckedDefinition]
    problems: Sequence[RiseError]
    """All errors, in the order of the text."""

    def name_at(self, offset: int) -> Name | Option | Binder | None:
        """Return the name at an offset, whether it is used or bound there."""
        for definition in self.definitions:
            for syntax in _names(definition):
                start, end = syntax.span
                if start <= offset <= end:
                    return syntax
        return None

    def binder_of(self, syntax: Syntax) -> Binder | None:
        """Return the binder of a name; the binder of a binder is itself."""
        if isinstance(syntax, Name):
            return self.resolution.bindings.get(syntax)
        return syntax if isinstance(syntax, Parameter | Let | Definition | DepFun) else None

    def types_at(self, span: Span, *kinds: type[build.Node]) -> list[RiseType]:
        """Return the types of the nodes at a span; an inlined function has one for each use."""
        types: dict[str, RiseType] = {}
        for checked in self.results:
            if checked.elaborator is None:
                continue
            for location, node in checked.elaborator.recorded_nodes:
                if location == span and isinstance(node, kinds):
                    type = checked.elaborator.resolve(node.type)
                    types.setdefault(show_type(type), type)
        determined_types = [type for type in types.values() if not has_unknowns(type)]
        return determined_types or list(types.values())

    def result_of(self, definition: Definition) -> CheckedDefinition | None:
        return next((each for each in self.results if each.syntax is definition), None)

    def names_in_scope(self, offset: int) -> list[Binder]:
        """Return the names in scope at an offset: earlier definitions, parameters and lets."""
        definitions_above = [each for each in self.definitions if (each.start or 0) <= offset]
        if not definitions_above:
            return []
        inner = [
            name for name in _names(definitions_above[-1]) if isinstance(name, Parameter | Let)
        ]
        return [*definitions_above[:-1], *(name for name in inner if name.span[0] < offset)]

    def definition_text(self, offset: int) -> str:
        """Return the text of the definition at an offset, which may have syntax errors."""
        starts = [match.start() for match in _DEFINITION_START.finditer(self.source.text)]
        earlier_starts = [start for start in starts if start <= offset]
        later_starts = [start for start in starts if start > offset]
        return self.source.text[
            earlier_starts[-1] if earlier_starts else 0 : later_starts[0] if later_starts else None
        ]


def has_unknowns(type: RiseType) -> bool:
    """Whether a type contains unification variables."""
    return any(name.startswith("?") for name in (*nat_variables(type), *type_variables(type)))


@with_deep_stack
def analyze(text: str, name: str = "<text>", previous: Analysis | None = None) -> Analysis:
    """Analyze a text; `previous` is the analysis of its previous version, which is reused."""
    source = Source(text, name)
    definitions, problems, lost = _parse_readable(source)
    resolved = resolve_names(definitions, source)
    reusable = (
        {} if previous is None else _reusable_results(definitions, source, resolved, previous)
    )
    checked = list(check_definitions(definitions, source, resolved, reusable))
    for definition in checked:
        problems += [problem for problem in definition.problems if _error_word(problem) not in lost]
    return Analysis(source, definitions, resolved, checked, sorted(problems, key=_line_and_column))


def _reusable_results(
    definitions: Sequence[Definition], source: Source, resolved: NameResolution, previous: Analysis
) -> Mapping[Definition, CheckedDefinition]:
    """Return the results for definitions above a change, which refer only to earlier ones.

    A definition is checked again if it was used before and is unused now, or the reverse: a
    polymorphic helper that is used need not have a type.
    """
    if previous.source.name != source.name:
        return {}
    prefix_length = _common_prefix_length(source.text, previous.source.text)
    used_now, used_before = used_definitions(resolved), used_definitions(previous.resolution)
    reusable: dict[Definition, CheckedDefinition] = {}
    for definition, following, checked in zip(
        definitions, definitions[1:], previous.results, strict=False
    ):
        is_above = (following.start or 0) + len("def ") <= prefix_length
        if not is_above or checked.syntax.span != definition.span:
            break
        if (definition in used_now) == (checked.syntax in used_before):
            reusable[definition] = checked
    return reusable


def _common_prefix_length(text: str, other: str) -> int:
    pairs = enumerate(zip(text, other, strict=False))
    differing = (location for location, (left, right) in pairs if left != right)
    return next(differing, min(len(text), len(other)))


def _parse_readable(source: Source) -> tuple[list[Definition], list[RiseError], set[str]]:
    """Parse the definitions: return those without errors, the errors, and the other names."""
    text, problems, lost = source.text, list[RiseError](), set[str]()
    starts = [match.start() for match in _DEFINITION_START.finditer(text)]
    while True:
        try:
            return parse_definitions(Source(text, source.name))[0], problems, lost
        except RiseError as error:
            if not problems or _line_and_column(error) != _line_and_column(problems[-1]):
                problems.append(error)
            start, end = _broken_span(error, text, starts)
            if len(problems) >= MAX_BROKEN_DEFINITIONS or not text[start:end].strip():
                return [], problems, lost
            lost.update(_DEFINED_NAME.findall(text[start:end]))
            text = text[:start] + _NOT_SPACE.sub(" ", text[start:end]) + text[end:]
            if not text.strip():
                return [], problems, lost


def _broken_span(error: RiseError, text: str, starts: Sequence[int]) -> Span:
    """Return the span of the definition that an error belongs to.

    A token that is missing at the end of a definition is reported where the next one starts.
    """
    borders = [0, *starts, len(text)]
    offset = _error_offset(error, text)
    later_borders = [end for end in borders[1:] if end >= offset or end == len(text)]
    is_start = offset in {_keyword_offset(text, start) for start in starts}
    end = _definition_start(offset, starts) if is_start else later_borders[0]
    earlier = [start for start in borders if start < end and text[start:end].strip()]
    return (earlier[-1] if earlier else 0), end


def _keyword_offset(text: str, start: int) -> int:
    """Return the offset of the keyword `def` in the line that it starts."""
    return text.find("def", start)


def _definition_start(offset: int, starts: Sequence[int]) -> int:
    return max(start for start in starts if start <= offset)


def _error_offset(error: RiseError, text: str) -> int:
    location = error.location
    if location is None:
        return 0
    lines = text.split("\n")
    line_start = sum(len(line) + 1 for line in lines[: location.line - 1])
    return min(len(text), line_start + location.column - 1)


def _error_word(error: RiseError) -> str:
    """Return the text that an error points at."""
    location = error.location
    if location is None or location.text is None:
        return ""
    return location.text[location.column - 1 :][: location.length]


def _line_and_column(error: RiseError) -> tuple[int, int]:
    return (error.location.line, error.location.column) if error.location else (0, 0)


def _names(definition: Definition) -> Iterator[Name | Option | Binder]:
    """Return every name in a definition, bound or used."""
    yield definition
    stack: list[Syntax] = [definition.value]
    while stack:
        syntax = stack.pop()
        if isinstance(syntax, Fun):
            yield from syntax.parameters
        elif isinstance(syntax, Name | Option | Let | DepFun):
            yield syntax
        stack.extend(children(syntax))
