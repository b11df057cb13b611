"""Files that are written whole or not at all, whatever happens in between."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from riselang.errors import UserError


def write_file(path: str | os.PathLike[str], content: bytes | str) -> None:
    """A file with this content, or what was there before: never a part of it.

    It is written beside its place and then moved there. What is no plain file, such as a pipe, is
    written to; a link stays one.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        target = Path(os.path.realpath(path))
        mode = _mode(target)
        if mode is None:
            with open(target, "wb") as file:
                file.write(data)
        else:
            _replace(target, data, mode)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from None


def _mode(path: Path) -> int | None:
    """The permissions that the file has or gets; None for what is no plain file."""
    try:
        found = path.stat().st_mode
    except FileNotFoundError:
        return 0o666 & ~_mask()
    return stat.S_IMODE(found) if stat.S_ISREG(found) and os.access(path, os.W_OK) else None


def _replace(path: Path, data: bytes, mode: int) -> None:
    handle, partial = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(partial, mode)
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def _mask() -> int:
    """What this process takes from the permissions of new files."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
