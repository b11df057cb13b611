"""Read files that are named on the command line."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import Any

from riselang.support.errors import RiseError, UserError
from riselang.support.profiling import time_span


def read_bytes(path: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None


@contextmanager
def _script_import_path(path: str) -> Generator[None]:
    """Make the file's folder importable, as for a script."""
    previous_path = sys.path.copy()
    sys.path.insert(0, str(Path(path).absolute().parent))
    try:
        yield
    finally:
        sys.path[:] = previous_path


def run_python(path: str) -> dict[str, Any]:
    """Run a Python file, and return its global names."""
    read_bytes(path)
    try:
        with time_span("read"), _script_import_path(path):
            return runpy.run_path(path, run_name="riselang_file")
    except RiseError:
        raise
    except SyntaxError as error:
        raise UserError(f"{path}:{error.lineno or 1}:{error.offset or 1}: {error.msg}") from None
    except Exception as error:  # the user's file may raise anything
        lines = [line.lineno for line in extract_tb(error.__traceback__) if line.filename == path]
        place = f"{path}:{lines[-1]}" if lines else path
        raise UserError(f"{place} cannot be run: {type(error).__name__}: {error}") from error
