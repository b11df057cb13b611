"""A real language server in a process of its own, and an editor that talks to it."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

LONGEST = 600.0
"""After so many seconds a server that does not answer is taken for dead."""
CAPABILITIES = types.ClientCapabilities()


class Editor:
    """One text that is open in an editor."""

    def __init__(self, client: LanguageClient, uri: str, text: str):
        self.client = client
        self.uri = uri
        self.text = text
        self.version = 0
        self.found: dict[int, list[types.Diagnostic]] = {}
        self.arrived = asyncio.Event()

    @property
    def document(self) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri)

    def open(self, language: str = "rise") -> None:
        item = types.TextDocumentItem(self.uri, language, self.version, self.text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def close(self) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(self.document))

    def type(self, text: str) -> None:
        """The text is this one now."""
        self.text, self.version = text, self.version + 1
        change = types.TextDocumentContentChangeWholeDocument(text)
        identifier = types.VersionedTextDocumentIdentifier(self.version, self.uri)
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(identifier, [change])
        )

    async def diagnostics(self) -> list[types.Diagnostic]:
        """What is wrong with the text as it is now."""
        while self.version not in self.found:
            self.arrived.clear()
            await asyncio.wait_for(self.arrived.wait(), LONGEST)
        return self.found[self.version]

    def position(self, word: str, number: int = 1) -> types.Position:
        """Where a word stands for the n-th time."""
        offset = -1
        for _ in range(number):
            offset = self.text.index(word, offset + 1)
        line = self.text.count("\n", 0, offset)
        return types.Position(line, offset - (self.text.rfind("\n", 0, offset) + 1))

    async def hover(self, word: str, number: int = 1) -> str | None:
        asked = types.HoverParams(self.document, self.position(word, number))
        found = await self.client.text_document_hover_async(asked)
        if found is None:
            return None
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value

    async def definition(self, word: str, number: int = 1) -> str | None:
        """The line and the text that a name leads to."""
        asked = types.DefinitionParams(self.document, self.position(word, number))
        found = await self.client.text_document_definition_async(asked)
        if found is None:
            return None
        assert isinstance(found, types.Location)
        start, end = found.range.start, found.range.end
        line = self.text.split("\n")[start.line]
        return f"{start.line + 1}: {line[start.character : end.character]}"

    async def suggestions(self, word: str, number: int = 1) -> dict[str, types.CompletionItem]:
        asked = types.CompletionParams(self.document, self.position(word, number))
        found = await self.client.text_document_completion_async(asked)
        assert isinstance(found, list)
        return {item.label: item for item in found}

    async def formatted(self) -> str | None:
        options = types.FormattingOptions(2, True)
        asked = types.DocumentFormattingParams(self.document, options)
        edits = await self.client.text_document_formatting_async(asked)
        if not edits:
            return None
        (edit,) = edits
        last = self.text.split("\n")
        assert edit.range == types.Range(
            types.Position(0, 0), types.Position(len(last) - 1, len(last[-1]))
        )
        return edit.new_text


class Server:
    """A language server in a process of its own; any number of texts are open in it."""

    def __init__(self) -> None:
        self.client = LanguageClient("tests", "1")
        self.editors: dict[str, Editor] = {}
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self._wait(self._start())

    def edit(self, name: str, text: str, use: Callable[[Editor], Awaitable[None]]) -> None:
        """Open a text in an editor, and use it."""
        self._wait(self._edit(name, text, use))

    def close(self) -> None:
        self._wait(self._stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(LONGEST)

    def _wait(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self.loop).result(LONGEST)

    async def _start(self) -> None:
        def published(params: types.PublishDiagnosticsParams) -> None:
            if params.uri in self.editors and params.version is not None:
                editor = self.editors[params.uri]
                editor.found[params.version] = list(params.diagnostics)
                editor.arrived.set()

        self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(published)
        command = (sys.executable, "-m", "riselang.tools.rise", "lsp", "--stdio")
        await self.client.start_io(*command, env=dict(os.environ))
        asked = types.InitializeParams(CAPABILITIES, process_id=os.getpid())
        await self.client.initialize_async(asked)
        self.client.initialized(types.InitializedParams())

    async def _edit(self, name: str, text: str, use: Callable[[Editor], Awaitable[None]]) -> None:
        uri = Path("/somewhere", name).as_uri()
        editor = self.editors[uri] = Editor(self.client, uri, text)
        editor.open(name.rpartition(".")[2])
        await use(editor)
        editor.close()

    async def _stop(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()
