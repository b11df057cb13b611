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

from riselang.editor.answers import Completion, Extent
from riselang.editor.document import Document, open_document
from riselang.editor.positions import Positions
from riselang.support.errors import InternalError, RiseError
from riselang.version import __version__

DEBOUNCE_SECONDS = 0.15
"""Seconds without a change before a text is analyzed."""
MAX_CHARACTERS = 1_000_000
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
class AnalyzedText:
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
        self.analyses: dict[str, AnalyzedText] = {}
        self.pending: dict[str, asyncio.Task[None]] = {}
        self.analysis_lock = asyncio.Lock()

    def analyze(self, uri: str) -> AnalyzedText | None:
        """Return the analysis of the current version of a text; None if it is not supported."""
        document = self.workspace.text_documents.get(uri)
        if document is None or len(document.source) > MAX_CHARACTERS:
            return None
        known = self.analyses.get(uri)
        if known is not None and known.version == document.version:
            return known
        previous = None if known is None else known.document
        analyzed = analyze_text(document.source, uri, document.version, previous)
        if analyzed is not None:
            self.analyses[uri] = analyzed
        return analyzed

    def schedule_analysis(self, uri: str) -> None:
        """Schedule the analysis of a changed text, after a pause."""
        if (timer := self.pending.pop(uri, None)) is not None:
            timer.cancel()
        self.pending[uri] = asyncio.get_running_loop().create_task(self._analyze_after_pause(uri))

    async def _analyze_after_pause(self, uri: str) -> None:
        await asyncio.sleep(DEBOUNCE_SECONDS)
        del self.pending[uri]  # from here on it is not cancelled
        async with self.analysis_lock:
            document = self.workspace.text_documents.get(uri)
            if document is None or len(document.source) > MAX_CHARACTERS or uri in self.pending:
                return
            text, version = document.source, document.version
            known = self.analyses.get(uri)
            if known is not None and known.version == version:  # a request analyzed it
                self.publish(uri, known)
                return
            before = None if known is None else known.document
            analyzed = await asyncio.to_thread(analyze_text, text, uri, version, before)
        if analyzed is not None and self._is_current(uri, version):
            self.analyses[uri] = analyzed
            self.publish(uri, analyzed)

    def _is_current(self, uri: str, version: int | None) -> bool:
        document = self.workspace.text_documents.get(uri)
        return document is not None and document.version == version

    def publish(self, uri: str, analyzed: AnalyzedText) -> None:
        diagnostics = [_diagnostic(problem, analyzed) for problem in analyzed.document.problems]
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, diagnostics, version=analyzed.version)
        )

    def forget(self, uri: str) -> None:
        """Discard a closed text, and clear its diagnostics."""
        if (timer := self.pending.pop(uri, None)) is not None:
            timer.cancel()
        self.analyses.pop(uri, None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def analyze_text(
    text: str, uri: str, version: int | None, previous: Document | None = None
) -> AnalyzedText | None:
    """Analyze a text. An internal error becomes a diagnostic, and does not stop the server."""
    name = to_fs_path(uri) or uri
    try:
        document = open_document(text, name, previous)
    except Exception as error:
        _log.exception("while analyzing %s", name)
        document = _FailedDocument(InternalError(f"{type(error).__name__}: {error}"))
    return None if document is None else AnalyzedText(version, Positions(text), document)


class _FailedDocument:
    """A text whose analysis failed with an internal error."""

    def __init__(self, problem: RiseError):
        self.problems = [problem]

    def hover(self, offset: int) -> None:
        return None

    def definition(self, offset: int) -> None:
        return None

    def completions(self, offset: int) -> list[Completion]:
        return []

    def format(self) -> None:
        return None


def _diagnostic(problem: RiseError, analyzed: AnalyzedText) -> types.Diagnostic:
    message = "\n".join([problem.message, *(f"note: {note}" for note in problem.notes)])
    extent = analyzed.positions.extent(problem.location)
    return types.Diagnostic(
        analyzed.range(extent), message, severity=types.DiagnosticSeverity.Error, source="rise"
    )


def make_server() -> RiseServer:
    """Create a server, with handlers for all requests that it answers."""
    server = RiseServer()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def on_open(params: types.DidOpenTextDocumentParams) -> None:
        server.schedule_analysis(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def on_change(params: types.DidChangeTextDocumentParams) -> None:
        server.schedule_analysis(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def on_close(params: types.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        return answer_request(server, params, _hover)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> types.Location | None:
        return answer_request(server, params, _definition)

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions([".", "%", "!", "#"]))
    def completion(params: types.CompletionParams) -> list[types.CompletionItem] | None:
        return answer_request(server, params, _completion)

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        return answer_request(server, params, _formatting)

    return server


def answer_request(
    server: RiseServer, params: Any, reply: Callable[[AnalyzedText, Any], AnswerT]
) -> AnswerT | None:
    """Answer a request about a text; None if the text is not supported."""
    analyzed = server.analyze(params.text_document.uri)
    return None if analyzed is None else reply(analyzed, params)


def _hover(analyzed: AnalyzedText, params: types.HoverParams) -> types.Hover | None:
    hover = analyzed.document.hover(analyzed.offset(params.position))
    if hover is None:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, hover.text)
    return types.Hover(content, analyzed.range(hover.extent))


def _definition(analyzed: AnalyzedText, params: types.DefinitionParams) -> types.Location | None:
    extent = analyzed.document.definition(analyzed.offset(params.position))
    return (
        None if extent is None else types.Location(params.text_document.uri, analyzed.range(extent))
    )


def _completion(
    analyzed: AnalyzedText, params: types.CompletionParams
) -> list[types.CompletionItem]:
    completions = analyzed.document.completions(analyzed.offset(params.position))
    return [
        types.CompletionItem(
            each.label,
            kind=_KINDS[each.kind],
            detail=each.detail or None,
            documentation=types.MarkupContent(types.MarkupKind.Markdown, each.documentation),
        )
        for each in completions
    ]


def _formatting(
    analyzed: AnalyzedText, params: types.DocumentFormattingParams
) -> list[types.TextEdit] | None:
    text, formatted = analyzed.positions.text, analyzed.document.format()
    if formatted is None or formatted == text:
        return None
    return [types.TextEdit(analyzed.range((0, len(text))), formatted)]
