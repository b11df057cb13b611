"""`rise explore --serve`: serve the page on localhost, and rebuild it when a file changes.

The main thread watches the files and makes the page; other threads answer requests. An error in the
program is shown over the previous page until it is fixed.
"""

from __future__ import annotations

import argparse
import json
import linecache
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riselang.support.errors import RiseError, UserError
from riselang.tools.explore_sources import strategy_option

if TYPE_CHECKING:
    from riselang.explorer.page import Page

POLL_SECONDS = 0.3
"""Seconds between checks of the files."""
ADDRESS = "127.0.0.1"
_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.IGNORECASE | re.ASCII)
MISDIRECTED = (
    HTTPStatus.MISDIRECTED_REQUEST,
    "text/plain",
    f"this page is only served at http://{ADDRESS}\n".encode(),
)
"""The answer to a request for another host."""
WAITING_PAGE = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="1">'
    "<title>rise explore</title><pre>{}</pre>"
)
"""The page that is shown until the first one is made."""
Make = Callable[[argparse.Namespace, str], "Page"]


@dataclass
class PageState:
    """The page that is served now."""

    version: str = ""
    page: bytes = b""
    error: str | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def update(self, version: str, page: bytes) -> None:
        with self.lock:
            self.version, self.page, self.error = version, page, None

    def set_error(self, error: str) -> None:
        with self.lock:
            self.error = error

    def respond(self, path: str) -> tuple[HTTPStatus, str, bytes]:
        with self.lock:
            if path == "/version":
                status = {"version": self.version, "error": self.error}
                return HTTPStatus.OK, "application/json", json.dumps(status).encode()
            if path != "/":
                return HTTPStatus.NOT_FOUND, "text/plain", b"there is one page, at /\n"
            return HTTPStatus.OK, "text/html; charset=utf-8", self.page or self._waiting_page()

    def _waiting_page(self) -> bytes:
        return WAITING_PAGE.format(escape(self.error or "the page is being made ...")).encode()


def serve_page(options: argparse.Namespace, make: Make) -> None:
    """Serve until Ctrl-C."""
    if options.file == "-":
        raise UserError("--serve needs a file to watch, but found standard input")
    state = PageState()
    answering = make_server(options.port, state)
    thread = threading.Thread(target=answering.serve_forever, kwargs={"poll_interval": 0.1})
    thread.start()
    try:
        print(f"http://{ADDRESS}:{answering.server_address[1]}/  (Ctrl-C ends it)", flush=True)
        _watch(options, make, state)
    finally:
        answering.shutdown()
        thread.join()
        answering.server_close()


def make_server(port: int, state: PageState) -> ThreadingHTTPServer:
    """Make the server that answers at a port with the current page."""
    try:
        server = ThreadingHTTPServer((ADDRESS, port), _handler(state))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(
            f"port {port} cannot be used: {reason}; --port 0 selects a free one"
        ) from None
    server.daemon_threads = True
    return server


def is_own_host(hosts: Sequence[str]) -> bool:
    """Return whether a request names this machine as its host, with any port, as for forwarding.

    This prevents DNS rebinding: a site can point its own host name here, and read the page.
    """
    return len(hosts) == 1 and _HOST.fullmatch(hosts[0]) is not None


def _handler(state: PageState) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, kind, content = MISDIRECTED
            if is_own_host(self.headers.get_all("Host") or []):
                status, kind, content = state.respond(self.path.partition("?")[0])
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            return

    return Handler


def _watch(options: argparse.Namespace, make: Make, state: PageState) -> None:
    """Make the page, and rebuild it whenever a file changes."""
    previous_stamps: tuple[object, ...] | None = None
    version = 0
    while True:
        now = _file_stamps(_files(options))
        if now != previous_stamps:
            previous_stamps, version = now, version + 1
            _rebuild(options, make, state, str(version))
        time.sleep(POLL_SECONDS)


def _rebuild(options: argparse.Namespace, make: Make, state: PageState, version: str) -> None:
    linecache.checkcache()
    began = time.perf_counter()
    try:
        page = make(options, version).html.encode()
    except RiseError as error:
        state.set_error(str(error))
        print(error, file=sys.stderr, flush=True)
        return
    state.update(version, page)
    print(f"made in {time.perf_counter() - began:.1f} s", flush=True)


def _files(options: argparse.Namespace) -> list[Path]:
    """Return the files of the program and of its strategy."""
    strategy = strategy_option(options)
    names = [options.file, *([strategy.partition(".py:")[0]] if strategy else [])]
    names += [f"{strategy.partition('.py:')[0]}.py"] if strategy and ".py:" in strategy else []
    return [Path(name) for name in names if len(name) < 4096 and "\n" not in name]


def _file_stamps(paths: Sequence[Path]) -> tuple[object, ...]:
    """Return a value that changes when a file is changed, created or removed."""
    return tuple(_file_stamp(path) for path in paths)


def _file_stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
