"""Files as text."""

from __future__ import annotations

from riselang.errors import SourceLocation, UserError


def decode(data: bytes, name: str) -> str:
    """The text of a file, which is UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        line = before.count("\n") + 1
        column = len(before) - (before.rfind("\n") + 1) + 1
        raise UserError(
            f"byte 0x{data[error.start]:02x} is not UTF-8 text", SourceLocation(name, line, column)
        ) from None
