"""Load shared libraries that `rise compile --emit shared` wrote."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from riselang.runtime.artifact import functions_from_json, make_dynamic_shapes
from riselang.runtime.executable import Executable
from riselang.support.errors import UserError
from riselang.term.nodes import Term

DESCRIPTION = "rise_description"
"""The symbol of the JSON text that describes the functions."""


class SharedCode:
    """The machine code of a shared library."""

    def __init__(self, library: ctypes.CDLL):
        self._library = library

    def address(self, symbol: str) -> int:
        """Return the address of a function; 0 if there is none of this name."""
        function = getattr(self._library, symbol, None)
        return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


def load_shared(
    path: str | Path, terms: Callable[[str, str], Sequence[Term]]
) -> dict[str, Executable]:
    """Return the functions by name; `terms` parses a function's programs in a module text."""
    library = _open_library(path)
    facts = _read_description(library, path)
    functions = functions_from_json(facts["functions"])
    code = SharedCode(library)
    return {
        each.name: Executable(
            code,
            each.name,
            each.parameters,
            make_dynamic_shapes(each, lambda name: terms(facts["text"], name)),
            each.checks,
        )
        for each in functions
    }


def _open_library(path: str | Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(Path(path).absolute()))
    except OSError as error:
        raise UserError(f"{path} cannot be loaded: {error}") from None


def _read_description(library: ctypes.CDLL, path: str | Path) -> Any:
    try:
        text = ctypes.c_char.in_dll(library, DESCRIPTION)
    except ValueError:
        raise UserError(
            f"{path} is not a library of RISE functions: it has no symbol {DESCRIPTION}; make one "
            "with 'rise compile --emit shared'"
        ) from None
    return json.loads(ctypes.string_at(ctypes.addressof(text)))
