"""`rise fmt`: format a file, without looking at types."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from riselang.notation.layout import layout
from riselang.notation.reader import parse_definitions
from riselang.notation.source import Comment, Source
from riselang.notation.syntax import Definition, Span
from riselang.notation.writer import token_offsets
from riselang.support.recursion import with_deep_stack


@with_deep_stack
def format_program(text: str, name: str = "<text>") -> str:
    """Format a program, with all its comments; formatting is idempotent.

    A comment stays before the token that follows it. After the last token of a definition it stays
    on the same line.
    """
    source = Source(text, name)
    definitions, comments = parse_definitions(source)
    blanked = source.blank_comments(comments)
    parts = [
        _CommentedDefinition(
            definition, extent, [extent[0] + offset for offset in token_offsets(body)]
        )
        for definition, extent in zip(definitions, _extents(blanked, definitions), strict=True)
        for body in (blanked[slice(*extent)],)
    ]
    last = _attach_comments(comments, parts, text)
    texts = [part.text() for part in parts]
    if last:
        texts.append("\n".join(_comment_lines(last)))
    return "\n\n".join(texts) + "\n"


@dataclass
class _CommentedDefinition:
    """A definition, the comments before its tokens (by token number), and those after it."""

    definition: Definition
    extent: Span
    offsets: Sequence[int]
    before: dict[int, list[Comment]] = field(default_factory=dict[int, list[Comment]])
    trailing: list[Comment] = field(default_factory=list[Comment])

    def text(self) -> str:
        definition = self.definition
        start = "" if definition.start is None else f"def {definition.name} = "
        return " ".join(
            [layout(definition.value, start, self.before), *(c.text for c in self.trailing)]
        )


def _extents(blanked: str, definitions: Sequence[Definition]) -> list[Span]:
    """Return the span of each definition, without the space around it."""
    starts = [definition.start or 0 for definition in definitions]
    extents: list[Span] = []
    for start, following in zip(starts, [*starts[1:], len(blanked)], strict=True):
        body = blanked[start:following].rstrip()
        extents.append((start + len(body) - len(body.lstrip()), start + len(body)))
    return extents


def _attach_comments(
    comments: Sequence[Comment], parts: Sequence[_CommentedDefinition], text: str
) -> list[Comment]:
    """Attach each comment to its token; return those at the end of the file."""
    number, last = 0, list[Comment]()
    for comment in comments:
        start = comment.span[0]
        while number < len(parts) and parts[number].offsets[-1] < start:
            if _is_trailing(comment, parts[number], text):
                break
            # A comment before the last parenthesis of a definition does not belong to the next.
            is_inside = start < parts[number].extent[1]
            comment = replace(comment, before_blank=comment.before_blank or is_inside)
            number += 1
        if number == len(parts):
            last.append(comment)
        elif parts[number].offsets[-1] < start:
            parts[number].trailing.append(comment)
        else:
            _attach_comment(comment, parts[number], text)
    return last


def _attach_comment(comment: Comment, part: _CommentedDefinition, text: str) -> None:
    token = bisect_left(part.offsets, comment.span[0])
    offset = part.offsets[token]
    if text.startswith("//", offset) and not comment.is_block:
        token += 2  # at the start of a line, a division would be a comment
    is_first = token == 0
    comment = replace(comment, before_blank=is_first and comment.before_blank)
    part.before.setdefault(token, []).append(comment)


def _is_trailing(comment: Comment, part: _CommentedDefinition, text: str) -> bool:
    """Whether a comment follows on the last line of a definition; `//` is a division there."""
    end = part.trailing[-1].span[1] if part.trailing else part.extent[1]
    between = text[end : comment.span[0]]
    return comment.is_block and "\n" not in between


def _comment_lines(comments: Sequence[Comment]) -> list[str]:
    """Return comments on separate lines, with the empty lines between them."""
    *earlier, final = comments
    lines: list[str] = []
    for comment in earlier:
        lines += [comment.text, ""] if comment.before_blank else [comment.text]
    return [*lines, final.text]
