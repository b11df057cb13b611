"""`rise lsp`: what an editor starts to check texts while they are written."""

from __future__ import annotations

import argparse
import logging
import sys

from riselang.support.errors import UserError


def lsp_options(command: argparse.ArgumentParser) -> None:
    # Editors pass it to every server; it is the only way this one talks.
    command.add_argument("--stdio", action="store_true", help="talk on standard input and output")


def serve(options: argparse.Namespace) -> None:
    """Answer an editor on standard input and output until it says good-bye."""
    try:
        from riselang.editor.server import make_server
    except ModuleNotFoundError as error:
        raise UserError(
            f"the language server needs {error.name}; pip install 'riselang[editor]'"
        ) from None
    # Standard output is the editor's; what is logged goes where it is shown as such.
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR)
    make_server().start_io()
