"""The language server, which answers editors over a pipe.

A text is analyzed on a separate thread when its author pauses, so that typing is never blocked;
requests are answered for the current version of a text.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from riselang.editor.answers import Extent, Suggestion
from riselang.editor.document import Document, open_document
from riselang.editor.positions import Positions
from riselang.support.errors import InternalError, RiseError
from riselang.version import __version__

PAUSE = 0.15
"""Seconds without a change before a text is analyzed."""
MOST_CHARACTERS = 1_000_000
"""Longer texts are generated rather than typed, and are not analyzed."""
AnswerT = TypeVar("AnswerT")
_KINDS = {
    "function": types.CompletionItemKind.Function,
    "operator": types.CompletionItemKind.Operator,
    "variable": types.CompletionItemKind.Variable,
    "type": types.CompletionItemKind.TypeParameter,
    "keyword": types.CompletionItemKind.Keyword,
}
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Looked:
    """One version of a text, and its document."""

    version: int | None
    positions: Positions
    document: Document

    def range(self, extent: Extent) -> types.Range:
        start, end = (types.Position(*self.positions.position(offset)) for offset in extent)
        return types.Range(start, end)

    def offset(self, position: types.Position) -> int:
        return self.positions.offset(position.line, position.character)


class RiseServer(LanguageServer):
    """The language server, with the analyses of the open texts."""

    def __init__(self) -> None:
        # Editors send whole texts: they are small, and editors disagree on what ends a line.
        super().__init__("rise", __version__, types.TextDocumentSyncKind.Full)
        self.looked: dict[str, Looked] = {}
        self.waiting: dict[str, asyncio.Task[None]] = {}
        self.working = asyncio.Lock()

    def look(self, uri: str) -> Looked | None:
        """Return the analysis of the current version of a text; None if it is not supported."""
        document = self.workspace.text_documents.get(uri)
        if document is None or len(document.source) > MOST_CHARACTERS:
            return None
        known = self.looked.get(uri)
        if known is not None and known.version == document.version:
            return known
        before = None if known is None else known.document
        looked = looked_at(document.source, uri, document.version, before)
        if looked is not None:
            self.looked[uri] = looked
        return looked

    def change(self, uri: str) -> None:
        """Schedule the analysis of a changed text, after a pause."""
        if (waiting := self.waiting.pop(uri, None)) is not None:
            waiting.cancel()
        self.waiting[uri] = asyncio.get_running_loop().create_task(self._after_pause(uri))

    async def _after_pause(self, uri: str) -> None:
        await asyncio.sleep(PAUSE)
        del self.waiting[uri]  # from here on it is not cancelled
        async with self.working:
            document = self.workspace.text_documents.get(uri)
            if document is None or len(document.source) > MOST_CHARACTERS or uri in self.waiting:
                return
            text, version = document.source, document.version
            known = self.looked.get(uri)
            if known is not None and known.version == version:  # a request analyzed it
                self.publish(uri, known)
                return
            before = None if known is None else known.document
            looked = await asyncio.to_thread(looked_at, text, uri, version, before)
        if looked is not None and self._is_current(uri, version):
            self.looked[uri] = looked
            self.publish(uri, looked)

    def _is_current(self, uri: str, version: int | None) -> bool:
        document = self.workspace.text_documents.get(uri)
        return document is not None and document.version == version

    def publish(self, uri: str, looked: Looked) -> None:
        found = [_diagnostic(problem, looked) for problem in looked.document.problems]
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, found, version=looked.version)
        )

    def forget(self, uri: str) -> None:
        """Discard a closed text, and clear its diagnostics."""
        if (waiting := self.waiting.pop(uri, None)) is not None:
            waiting.cancel()
        self.looked.pop(uri, None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def looked_at(
    text: str, uri: str, version: int | None, before: Document | None = None
) -> Looked | None:
    """Analyze a text. An internal error becomes a diagnostic, and does not stop the server."""
    name = to_fs_path(uri) or uri
    try:
        document = open_document(text, name, before)
    except Exception as error:
        _log.exception("while analyzing %s", name)
        document = _Unknown(InternalError(f"{type(error).__name__}: {error}"))
    return None if document is None else Looked(version, Positions(text), document)


class _Unknown:
    """A text whose analysis failed with an internal error."""

    def __init__(self, problem: RiseError):
        self.problems = [problem]

    def hover(self, offset: int) -> None:
        return None

    def definition(self, offset: int) -> None:
        return None

    def suggestions(self, offset: int) -> list[Suggestion]:
        return []

    def formatted(self) -> None:
        return None


def _diagnostic(problem: RiseError, looked: Looked) -> types.Diagnostic:
    message = "\n".join([problem.message, *(f"note: {note}" for note in problem.notes)])
    extent = looked.positions.extent(problem.location)
    return types.Diagnostic(
        looked.range(extent), message, severity=types.DiagnosticSeverity.Error, source="rise"
    )


def make_server() -> RiseServer:
    """Create a server, with handlers for all requests that it answers."""
    server = RiseServer()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.change(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.change(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        return answer(server, params, _hover)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> types.Location | None:
        return answer(server, params, _definition)

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions([".", "%", "!", "#"]))
    def completion(params: types.CompletionParams) -> list[types.CompletionItem] | None:
        return answer(server, params, _completion)

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        return answer(server, params, _formatting)

    return server


def answer(
    server: RiseServer, params: Any, reply: Callable[[Looked, Any], AnswerT]
) -> AnswerT | None:
    """Answer a request about a text; None if the text is not supported."""
    looked = server.look(params.text_document.uri)
    return None if looked is None else reply(looked, params)


def _hover(looked: Looked, params: types.HoverParams) -> types.Hover | None:
    found = looked.document.hover(looked.offset(params.position))
    if found is None:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, found.text)
    return types.Hover(content, looked.range(found.extent))


def _definition(looked: Looked, params: types.DefinitionParams) -> types.Location | None:
    found = looked.document.definition(looked.offset(params.position))
    return None if found is None else types.Location(params.text_document.uri, looked.range(found))


def _completion(looked: Looked, params: types.CompletionParams) -> list[types.CompletionItem]:
    found = looked.document.suggestions(looked.offset(params.position))
    return [
        types.CompletionItem(
            each.label,
            kind=_KINDS[each.kind],
            detail=each.detail or None,
            documentation=types.MarkupContent(types.MarkupKind.Markdown, each.documentation),
        )
        for each in found
    ]


def _formatting(
    looked: Looked, params: types.DocumentFormattingParams
) -> list[types.TextEdit] | None:
    text, formatted = looked.positions.text, looked.document.formatted()
    if formatted is None or formatted == text:
        return None
    return [types.TextEdit(looked.range((0, len(text))), formatted)]
