"""Documents that answer an editor's requests, one class for each file extension."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Protocol

from riselang.editor.answers import Completion, Extent, Hover
from riselang.support.errors import RiseError


class Document(Protocol):
    """An analyzed text."""

    @property
    def problems(self) -> Sequence[RiseError]:
        """All errors in the text."""
        ...

    def hover(self, offset: int) -> Hover | None: ...

    def definition(self, offset: int) -> Extent | None:
        """Return the extent of the definition of the name at an offset."""
        ...

    def completions(self, offset: int) -> Sequence[Completion]: ...

    def format(self) -> str | None:
        """Return the formatted text; None if it has syntax errors or its kind has no formatter."""
        ...


def _open_notation(text: str, name: str, previous: Document | None) -> Document:
    from riselang.editor.notation_document import NotationDocument

    previous_notation = previous if isinstance(previous, NotationDocument) else None
    return NotationDocument.of(text, name, previous_notation)


def _open_module(text: str, name: str, previous: Document | None) -> Document:
    from riselang.editor.module_document import ModuleDocument

    return ModuleDocument.of(text, name)


def _open_strategy(text: str, name: str, previous: Document | None) -> Document:
    from riselang.editor.strategy_document import StrategyDocument

    return StrategyDocument.of(text, name)


OPENERS: Mapping[str, Callable[[str, str, Document | None], Document]] = {
    ".rise": _open_notation,
    ".mlir": _open_module,
    ".strategy": _open_strategy,
}
"""The function that analyzes a text, by file extension."""


def open_document(text: str, name: str, previous: Document | None = None) -> Document | None:
    """Analyze a text; return None if its file extension is not supported.

    `previous` is the document of the previous version, whose results are reused.
    """
    make = OPENERS.get(PurePosixPath(name).suffix)
    return None if make is None else make(text, name, previous)
