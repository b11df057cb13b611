"""The answers to an editor's requests."""

from __future__ import annotations

from dataclasses import dataclass

Extent = tuple[int, int]
"""Start and end offsets, in characters from the start of the text."""


@dataclass(frozen=True)
class Hover:
    """The description of a word; `text` is Markdown."""

    text: str
    extent: Extent


@dataclass(frozen=True)
class Completion:
    """A completion item; `kind` is a kind of the protocol, such as `function` or `keyword`."""

    label: str
    kind: str
    detail: str = ""
    documentation: str = ""
