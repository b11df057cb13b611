"""Every setting, its `RISE_*` variable, its default and what it does."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

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
CACHE = Setting("cache", "RISE_CACHE", "1", "whether compiled kernels are kept on disk: 1 or 0")
CACHE_DIR = Setting(
    "cache_dir", "RISE_CACHE_DIR", "", "where they are kept; default: the user's cache folder"
)
CACHE_SIZE = Setting(
    "cache_size", "RISE_CACHE_SIZE", "1024", "how many MiB of them are kept, those last used"
)
LOG_COMPILES = Setting(
    "log_compiles", "RISE_LOG_COMPILES", "0", "say on stderr what is compiled or found: 1 or 0"
)
SETTINGS = (NUM_THREADS, FLOAT, CACHE, CACHE_DIR, CACHE_SIZE, LOG_COMPILES)

FLOAT_PERMISSIONS = ("strict", "contract", "relaxed")


def num_threads() -> int:
    return _natural(NUM_THREADS) or (os.cpu_count() or 1)


def cache() -> bool:
    return _switch(CACHE)


def cache_folder() -> Path:
    """Where compiled kernels are kept."""
    if given := CACHE_DIR.value():
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or _home(), "riselang", "cache")
    if sys.platform == "darwin":
        return Path(_home(), "Library", "Caches", "riselang")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path(_home(), ".cache"), "riselang")


def cache_limit() -> int:
    """How many bytes of kernels are kept."""
    return _natural(CACHE_SIZE) << 20


def log_compiles() -> bool:
    return _switch(LOG_COMPILES)


def _home() -> str:
    return os.path.expanduser("~")


def _natural(setting: Setting) -> int:
    text = setting.value()
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UserError(f"{setting.variable} must be a natural number, but is {text!r}")
    return int(text)


def _switch(setting: Setting) -> bool:
    text = setting.value()
    if text not in ("0", "1"):
        raise UserError(f"{setting.variable} must be 0 or 1, but is {text!r}")
    return text == "1"


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
