"""`rise fmt`: a file in its usual layout, without looking at types."""

from __future__ import annotations

from collections.abc import Sequence

from riselang.errors import LimitationError
from riselang.notation.layout import layout
from riselang.notation.reader import read
from riselang.notation.source import Comment, Source
from riselang.notation.syntax import Span


def format_program(text: str, name: str = "<text>") -> str:
    """The text laid out anew; comments stay where they stand before a definition or at the end.

    Formatting the result again changes nothing.
    """
    source = Source(text, name)
    definitions, comments = read(source)
    blanked = source.blanked(comments)
    is_expression = not blanked.lstrip().startswith("def")
    starts = [0] if is_expression else [definition.start for definition in definitions]
    groups = _grouped(_extents(blanked, starts), comments, source)
    parts: list[str] = []
    for definition, group in zip(definitions, groups, strict=False):
        start = "" if is_expression else f"def {definition.name} = "
        parts.append("\n".join([*group, layout(definition.value, start)]))
    if groups[-1]:
        parts.append("\n".join(groups[-1]))
    return "\n\n".join(parts) + "\n"


def _extents(blanked: str, starts: Sequence[int]) -> list[Span]:
    """Where each definition starts and ends, without the space around it."""
    extents: list[Span] = []
    for start, following in zip(starts, [*starts[1:], len(blanked)], strict=True):
        body = blanked[start:following].rstrip()
        extents.append((start + len(body) - len(body.lstrip()), start + len(body)))
    return extents


def _grouped(
    extents: Sequence[Span], comments: Sequence[Comment], source: Source
) -> list[list[str]]:
    """The comments before each definition, and those after the last one."""
    groups: list[list[str]] = [[] for _ in range(len(extents) + 1)]
    position = 0
    for comment in comments:
        start = comment.span[0]
        while position < len(extents) and extents[position][1] <= start:
            position += 1
        if position < len(extents) and extents[position][0] < start:
            raise LimitationError(
                "a comment inside an expression cannot be kept; put it before the definition",
                source.location(comment.span),
            )
        groups[position].append(comment.text.rstrip())
    return groups
