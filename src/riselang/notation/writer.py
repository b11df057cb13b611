"""Writing text token by token, with comments in between.

A comment belongs to the token after it. Formatting changes spaces, parentheses and commas, but no
other tokens, so tokens are counted without those, and their numbers do not change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from riselang.notation.source import Comment

# `=>` is printed as a comma. Each character of a symbol counts, whatever the spaces around it.
_TOKEN = re.compile(r'=>|(?P<counted>"(?:\\.|[^"\\])*"|\w+|[^\w\s(),])')


def token_offsets(text: str) -> list[int]:
    """Return the offsets of the tokens of a text that formatting preserves."""
    return [match.start() for match in _TOKEN.finditer(text) if match["counted"]]


class Writer:
    """Collects pieces of text, and tracks the line and column after them."""

    def __init__(self, comments: Mapping[int, Sequence[Comment]]):
        self.pieces: list[str] = []
        self.column = 0
        self.line = 0
        self.indent = 0
        """The indentation of the current line."""
        self._line_is_empty = True
        self._comments = comments
        self._token = 0

    def put(self, text: str) -> None:
        position = 0
        for start in token_offsets(text) if self._comments else ():
            if comments := self._comments.get(self._token):
                self._put(text[position:start])
                position = start
                self._put_comments(comments)
            self._token += 1
        self._put(text[position:])

    def newline(self, indent: int) -> None:
        while self.pieces and not self.pieces[-1].strip(" "):
            self.pieces.pop()
        if self.pieces:
            self.pieces[-1] = self.pieces[-1].rstrip(" ")
        self.pieces.append("\n" + " " * indent)
        self.line += 1
        self.column = self.indent = indent
        self._line_is_empty = True

    def _put(self, text: str) -> None:
        if text:
            self.pieces.append(text)
            self._line_is_empty = False
            self.line += text.count("\n")
            line = text.rpartition("\n")[2]
            self.column = len(line) + (self.column if line == text else 0)

    def _put_comments(self, comments: Sequence[Comment]) -> None:
        """Write comments on separate lines; a block comment also between two tokens of a line."""
        parentheses = self._take_parentheses()
        self._put_each(comments)
        self._put(parentheses)

    def _take_parentheses(self) -> str:
        """Remove the parentheses that were just opened, to write them after the comments."""
        count = 0
        while self.pieces and self.pieces[-1] == "(" and self._opens_group():
            self.pieces.pop()
            count += 1
        self.column -= count
        self._line_is_empty = not self.pieces or self.pieces[-1].startswith("\n")
        return "(" * count

    def _opens_group(self) -> bool:
        before = self.pieces[-2] if len(self.pieces) > 1 else " "
        return before == "(" or before[-1].isspace()

    def _put_each(self, comments: Sequence[Comment]) -> None:
        for comment in comments:
            if not self._line_is_empty and comment.is_block:
                spaced = self.pieces[-1].endswith((" ", "("))
                self._put(f"{'' if spaced else ' '}{comment.text} ")
                continue
            if not self._line_is_empty:
                self.newline(self.indent + 2)
            self._put(comment.text)
            self.newline(self.indent)
            if comment.before_blank:
                self.newline(self.indent)
