"""Every setting, its `RISE_*` variable, its default and what it does."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from riselang.pipelines import GPU, LOOPS
from riselang.support.errors import UserError
from riselang.support.machine import available_cores


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
    "num_threads",
    "RISE_NUM_THREADS",
    "0",
    "threads of mapPar; 0 means one for each core that the process may use",
)
FLOAT = Setting(
    "float",
    "RISE_FLOAT",
    "contract",
    "what may be done to float arithmetic: strict, contract or relaxed",
)
EFFORT = Setting(
    "effort",
    "RISE_EFFORT",
    "default",
    "how much time the compiler takes for faster code: fast, default or max",
)
DEBUG_INFO = Setting(
    "debug_info",
    "RISE_DEBUG_INFO",
    "0",
    "whether compiled code tells debuggers and profilers the lines it came from: 0 or 1",
)
JOBS = Setting(
    "jobs", "RISE_JOBS", "0", "processes that compile a module; 0 means one for each core"
)
BLAS = Setting(
    "blas", "RISE_BLAS", "openblas", 'the library for library="blas": openblas, mkl or a path'
)
CACHE = Setting("cache", "RISE_CACHE", "1", "whether compiled kernels are kept on disk: 1 or 0")
CACHE_DIR = Setting(
    "cache_dir", "RISE_CACHE_DIR", "", "where they are kept; default: the user's cache folder"
)
CACHE_SIZE = Setting(
    "cache_size", "RISE_CACHE_SIZE", "1024", "how many MiB of them are kept, those last used"
)
KEPT_MEMORY = Setting(
    "kept_memory",
    "RISE_KEPT_MEMORY",
    "64",
    "how many MiB of temporaries compiled code keeps between calls",
)
LOG_COMPILES = Setting(
    "log_compiles", "RISE_LOG_COMPILES", "0", "say on stderr what is compiled or found: 1 or 0"
)
PROGRESS = Setting(
    "progress",
    "RISE_PROGRESS",
    "auto",
    "whether what takes over 2 s is named on stderr: auto (on terminals, in notebooks), 1 or 0",
)
DEBUG = Setting(
    "debug",
    "RISE_DEBUG",
    "",
    "whether rise shows tracebacks of internal errors, and Python those of all errors whole: 1",
)
SETTINGS = (
    NUM_THREADS,
    FLOAT,
    EFFORT,
    DEBUG_INFO,
    JOBS,
    BLAS,
    CACHE,
    CACHE_DIR,
    CACHE_SIZE,
    KEPT_MEMORY,
    LOG_COMPILES,
    PROGRESS,
    DEBUG,
)

FLOAT_PERMISSIONS = ("strict", "contract", "relaxed")
LIBRARIES = ("none", "blas")
EFFORTS = ("fast", "default", "max")
"""Plain loops and little of LLVM; what pays; all that LLVM can do."""


def num_threads() -> int:
    return _natural(NUM_THREADS) or available_cores()


def jobs() -> int:
    return _natural(JOBS) or available_cores()


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


def kept_memory() -> int:
    """How many bytes of temporaries are kept."""
    return _natural(KEPT_MEMORY) << 20


def log_compiles() -> bool:
    return _switch(LOG_COMPILES)


def progress() -> str:
    """Whether progress is shown: auto, 1 or 0."""
    text = PROGRESS.value()
    if text not in ("auto", "0", "1"):
        raise UserError(f"{PROGRESS.variable} must be auto, 0 or 1, but is {text!r}")
    return text


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


@dataclass(frozen=True)
class Options:
    """How a program becomes code."""

    loops: str = "scf"
    """What patterns become that do not say it."""
    float: str = "strict"
    """What may be done to float arithmetic."""
    debug_info: bool = False
    """Whether code says which lines it comes from."""
    library: str = "none"
    """Whose routines take the place of loops."""
    contracted: bool = False
    """Whether what `float` permits to contract has been contracted: it is decided once."""
    effort: str = "default"
    """How much time the compiler takes for faster code."""

    def changed(
        self,
        *,
        loops: str | None = None,
        float: str | None = None,
        debug_info: bool | None = None,
        library: str | None = None,
        contracted: bool | None = None,
        effort: str | None = None,
    ) -> Options:
        """With what is given and not None in the place of what was there.

        A library adds in an order of its own, so to ask for one is to permit that; and it is
        affine loops that become calls of it.
        """
        if library == "blas":
            float = float or "relaxed"
            loops = loops or ("affine" if self.loops == "scf" else None)
        given = {
            "loops": loops, "float": float, "debug_info": debug_info, "library": library,
            "contracted": contracted, "effort": effort,
        }  # fmt: skip
        changed = replace(
            self, **{name: value for name, value in given.items() if value is not None}
        )
        changed.check()
        return changed

    def check(self) -> None:
        """Refuses what is no choice."""
        for name, value, choices in (
            ("loops", self.loops, LOOPS),
            ("float", self.float, FLOAT_PERMISSIONS),
            ("debug_info", self.debug_info, (False, True)),
            ("library", self.library, LIBRARIES),
            ("contracted", self.contracted, (False, True)),
            ("effort", self.effort, EFFORTS),
        ):
            if value not in choices:
                known = ", ".join(map(str, choices))
                raise UserError(f"{name} must be one of {known}, but is {value!r}")
        if self.library == "blas" and self.loops in ("scf", GPU):
            raise UserError(
                f'library="blas" needs loops="affine" or "polyhedral", but it is "{self.loops}"'
            )
        if self.library == "blas" and self.float != "relaxed":
            raise UserError(
                f'library="blas" needs float="relaxed", but it is {self.float!r}: BLAS routines '
                "add in an order of their own"
            )


def default_options(loops: str) -> Options:
    """What the environment says; `loops` is for those who say nothing."""
    options = Options(loops, FLOAT.value(), _switch(DEBUG_INFO), effort=EFFORT.value())
    options.check()
    return options
