"""What an editor is told of a text."""

from __future__ import annotations

from dataclasses import dataclass

Extent = tuple[int, int]
"""From where to where, in characters from the start of the text."""


@dataclass(frozen=True)
class Hover:
    """What is known of a word; `text` is Markdown."""

    text: str
    extent: Extent


@dataclass(frozen=True)
class Suggestion:
    """Something that may be written; `kind` is a word of the protocol, `function` or `keyword`."""

    label: str
    kind: str
    detail: str = ""
    documentation: str = ""
