"""What each kind of text answers, by the ending of its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Protocol

from riselang.editor.answers import Extent, Hover, Suggestion
from riselang.support.errors import RiseError


class Document(Protocol):
    """A text that was looked at."""

    @property
    def problems(self) -> Sequence[RiseError]:
        """Everything that is wrong with it."""
        ...

    def hover(self, offset: int) -> Hover | None: ...

    def definition(self, offset: int) -> Extent | None:
        """Where the name that stands there is introduced."""
        ...

    def suggestions(self, offset: int) -> Sequence[Suggestion]: ...

    def formatted(self) -> str | None:
        """The text in its usual layout; None where it has none, or cannot be read."""
        ...


def _notation(text: str, name: str, before: Document | None) -> Document:
    from riselang.editor.notation import NotationDocument

    known = before if isinstance(before, NotationDocument) else None
    return NotationDocument.of(text, name, known)


def _module(text: str, name: str, before: Document | None) -> Document:
    from riselang.editor.modules import ModuleDocument

    return ModuleDocument.of(text, name)


def _strategy(text: str, name: str, before: Document | None) -> Document:
    from riselang.editor.strategies import StrategyDocument

    return StrategyDocument.of(text, name)


KINDS: Mapping[str, Callable[[str, str, Document | None], Document]] = {
    ".rise": _notation,
    ".mlir": _module,
    ".strategy": _strategy,
}
"""What makes a document of a text, by the ending of its file."""


def open_document(text: str, name: str, before: Document | None = None) -> Document | None:
    """Look at a text; None for a kind of file that is not ours.

    `before` is the same file as it was before a change; what is known of it is used again.
    """
    make = KINDS.get(PurePosixPath(name).suffix)
    return None if make is None else make(text, name, before)
