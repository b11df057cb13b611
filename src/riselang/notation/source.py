"""A source text in notation: its lines, its comments, and errors that point into it."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from riselang.notation.syntax import Span
from riselang.support.errors import SourceLocation, UserError

# A piece of text that decides where comments are: the start of a comment, the end of a line, or
# other characters; a string contains no comments. After the end of an operand, `//` is a division.
_PIECE = re.compile(r'"(?:\\.|[^"\\])*"|/\*|//|\n|[^\s/"]+|/|"', re.DOTALL)
_ENDS_OPERAND = re.compile(r'[\w)\]"]\Z')
_NOT_BLANK = re.compile(r"[^\s]")
DIVISION_NOTE = (
    "after an operand '//' is integer division; put the comment on a separate line, "
    "or write /* ... */"
)


@dataclass(frozen=True)
class Comment:
    """A comment with its delimiters."""

    text: str
    span: Span
    before_blank: bool = False
    """Whether an empty line follows."""

    @property
    def is_block(self) -> bool:
        """Whether it has an explicit end, so that code may follow on its line."""
        return self.text.startswith("/*")


class Source:
    """A source text and the name of its file."""

    def __init__(self, text: str, name: str):
        self.text = text
        self.name = name
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._lines = text.split("\n")

    def location(self, span: Span) -> SourceLocation:
        start, end = span
        line = bisect_right(self._starts, start) - 1
        return SourceLocation(
            self.name,
            line + 1,
            start - self._starts[line] + 1,
            max(1, end - start),
            self._lines[line].rstrip("\r"),
        )

    def error(self, message: str, span: Span, *notes: str) -> UserError:
        return UserError(message, self.location(span), *notes)

    @property
    def end(self) -> Span:
        """The span of the last character that is not space."""
        end = len(self.text.rstrip())
        return max(0, end - 1) if self.text.strip() else 0, end

    def line_has_division(self, position: int) -> bool:
        """Whether the line of `position` contains `//`, to explain an error there."""
        line = bisect_right(self._starts, position) - 1
        return "//" in self._lines[line]

    def find_comments(self) -> list[Comment]:
        """Return the comments, in order; raise an error for one that does not end."""
        comments: list[Comment] = []
        position, after_operand = 0, False
        while match := _PIECE.search(self.text, position):
            start, piece = match.start(), match[0]
            position = match.end()
            if piece == "/*":
                position = self._block_end(start)
            elif piece == "//" and not after_operand:
                line_end = self.text.find("\n", start)
                position = line_end if line_end >= 0 else len(self.text)
            else:
                after_operand = bool(_ENDS_OPERAND.search(piece))
                continue
            comments.append(self._make_comment(start, position))
        return comments

    def _make_comment(self, start: int, end: int) -> Comment:
        before_blank = re.match(r"[^\S\n]*\n[^\S\n]*\n", self.text[end:]) is not None
        return Comment(self.text[start:end].rstrip(), (start, end), before_blank)

    def _block_end(self, start: int) -> int:
        end = self.text.find("*/", start + 2)
        if end < 0:
            raise self.error("this comment does not end; expected '*/'", (start, start + 2))
        return end + 2

    def blank_comments(self, comments: list[Comment]) -> str:
        """Return the text with comments replaced by spaces, so that positions do not change."""
        pieces: list[str] = []
        position = 0
        for comment in comments:
            start, end = comment.span
            pieces += [self.text[position:start], _NOT_BLANK.sub(" ", self.text[start:end])]
            position = end
        return "".join([*pieces, self.text[position:]])
