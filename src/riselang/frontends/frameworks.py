"""Imports of frameworks; errors say how to install them."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from riselang.support.errors import UserError


def import_framework(name: str, extra: str, what: str) -> Any:
    """Import a module of a framework; raises an error that says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise _missing_framework(extra, what, f"cannot be imported ({error})") from None


def require_framework(name: str, extra: str, what: str) -> None:
    """Check that a framework module is installed, without importing it."""
    if importlib.util.find_spec(name) is None:
        raise _missing_framework(extra, what, "is not installed")


def _missing_framework(extra: str, what: str, reason: str) -> UserError:
    return UserError(
        f"{what} needs {extra}, which {reason}; install it with pip install 'riselang[{extra}]'"
    )
