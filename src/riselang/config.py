"""Every setting, its `RISE_*` variable, its default and what it does."""

from __future__ import annotations

import os
from dataclasses import dataclass

from riselang.errors import UserError
from riselang.pipelines import LOOPS


@dataclass(frozen=True)
class Setting:
    """One setting; a value given in a call wins over the environment variable."""

    name: str
    variable: str
    default: str
    summary: str

    def value(self) -> str:
        return os.environ.get(self.variable, "") or self.default


NUM_THREADS = Setting(
    "num_threads", "RISE_NUM_THREADS", "0", "threads of mapPar; 0 means one for each core"
)
FLOAT = Setting(
    "float",
    "RISE_FLOAT",
    "contract",
    "what may be done to float arithmetic: strict, contract or relaxed",
)
DEBUG = Setting(
    "debug", "RISE_DEBUG", "", "whether rise shows the traceback of an internal error: 1"
)
SETTINGS = (NUM_THREADS, FLOAT, DEBUG)

FLOAT_PERMISSIONS = ("strict", "contract", "relaxed")


def num_threads() -> int:
    text = NUM_THREADS.value()
    if not text.isdecimal():
        raise UserError(f"{NUM_THREADS.variable} must be a natural number, but is {text!r}")
    return int(text) or (os.cpu_count() or 1)


def float_permission(given: str | None) -> str:
    """The permission a program runs under."""
    permission = given or FLOAT.value()
    if permission not in FLOAT_PERMISSIONS:
        raise UserError(
            f"float must be one of {', '.join(FLOAT_PERMISSIONS)}, but is {permission!r}"
        )
    return permission


def loops(given: str | None, default: str) -> str:
    """What patterns become that do not say it."""
    if given not in (None, *LOOPS):
        raise UserError(f"loops must be one of {', '.join(LOOPS)}, but is {given!r}")
    return given or default
