"""`rise lsp`: the language server that editors start."""

from __future__ import annotations

import argparse
import logging
import sys

from riselang.support.errors import UserError


def add_lsp_options(command: argparse.ArgumentParser) -> None:
    # Editors pass it to every server; this one supports no other transport.
    command.add_argument(
        "--stdio", action="store_true", help="use standard input and output (the default)"
    )


def run_language_server(options: argparse.Namespace) -> None:
    """Serve an editor on standard input and output until it exits."""
    try:
        from riselang.editor.server import make_server
    except ModuleNotFoundError as error:
        raise UserError(
            f"the language server needs {error.name}; pip install 'riselang[editor]'"
        ) from None
    # Standard output is for the protocol; editors show standard error as a log.
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR)
    make_server().start_io()
