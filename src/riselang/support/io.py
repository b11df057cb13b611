"""Files: decode text, and write atomically."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from riselang.support.errors import SourceLocation, UserError


def decode_text(data: bytes, name: str) -> str:
    """Decode the UTF-8 text of a file."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        valid_text = data[: error.start].decode()
        line = valid_text.count("\n") + 1
        column = len(valid_text) - (valid_text.rfind("\n") + 1) + 1
        raise UserError(
            f"byte 0x{data[error.start]:02x} is not UTF-8 text", SourceLocation(name, line, column)
        ) from None


def write_file(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write a file atomically: it has the new content or the old one, never a part.

    The content is written to a temporary file in the same folder, which is then renamed. A file
    that is not regular, such as a pipe, is written directly; a link remains a link.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        target = Path(os.path.realpath(path))
        mode = _file_mode(target)
        if mode is None:
            _replace_file(target, data, None)
        elif stat.S_ISREG(mode) and os.access(target, os.W_OK):
            _replace_file(target, data, stat.S_IMODE(mode))
        else:
            with open(target, "wb") as file:
                file.write(data)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from None


def _file_mode(path: Path) -> int | None:
    """Return the type and the permissions of a file; None if it does not exist."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _replace_file(path: Path, data: bytes, mode: int | None) -> None:
    """Replace a file; `mode` has its permissions, or None for those of a new file."""
    partial = path.parent / f".{path.name[:40]}.{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(partial, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if mode is not None:
            os.chmod(partial, mode)
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise
