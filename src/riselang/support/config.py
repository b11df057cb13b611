"""Every setting, with its `RISE_*` environment variable, its default and a summary."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from riselang.pipelines import GPU, LOOPS
from riselang.support.cores import available_cores
from riselang.support.errors import UserError

DEFAULT_LOOPS = "affine"
"""The loops that a program's patterns become unless they specify it."""


@dataclass(frozen=True)
class Setting:
    """A setting; an argument of a call overrides the environment variable."""

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
    "number of threads for parallel loops; 0 means one for each core that the process may use",
)
FLOAT = Setting(
    "float",
    "RISE_FLOAT",
    "contract",
    "what the compiler may do to float arithmetic: strict, contract or relaxed",
)
EFFORT = Setting(
    "effort",
    "RISE_EFFORT",
    "default",
    "how much compile time to spend on faster code: fast, default or max",
)
DEBUG_INFO = Setting(
    "debug_info",
    "RISE_DEBUG_INFO",
    "0",
    "whether compiled code has line tables for debuggers and profilers: 0 or 1",
)
JOBS = Setting("jobs", "RISE_JOBS", "0", "number of compiler processes; 0 means one for each core")
BLAS = Setting(
    "blas", "RISE_BLAS", "openblas", 'the library for library="blas": openblas, mkl or a path'
)
CACHE = Setting("cache", "RISE_CACHE", "1", "whether compiled kernels are cached on disk: 1 or 0")
CACHE_DIR = Setting(
    "cache_dir", "RISE_CACHE_DIR", "", "where to cache kernels; default: the user's cache folder"
)
CACHE_SIZE = Setting(
    "cache_size", "RISE_CACHE_SIZE", "1024", "maximum size of the kernel cache in MiB"
)
TUNING_DATABASE = Setting(
    "tuning_database",
    "RISE_TUNING_DATABASE",
    "",
    "the file with tuned strategies; default: tuning.sqlite in the folder of the kernel cache",
)
GPU_TARGET = Setting(
    "gpu_target",
    "RISE_GPU_TARGET",
    "",
    'the GPU architecture for loops="gpu", such as sm_80; default: that of this machine\'s GPU',
)
TEMPORARY_POOL = Setting(
    "temporary_pool_bytes",
    "RISE_TEMPORARY_POOL",
    "128",
    "maximum MiB of temporary buffers that compiled code keeps allocated between calls",
)
LOG_COMPILES = Setting(
    "log_compiles", "RISE_LOG_COMPILES", "0", "log compilations and cache hits on stderr: 1 or 0"
)
PROGRESS = Setting(
    "progress",
    "RISE_PROGRESS",
    "auto",
    "whether to show progress on stderr after 2 s: auto (on terminals and in notebooks), 1 or 0",
)
DEBUG = Setting(
    "debug",
    "RISE_DEBUG",
    "",
    "1 shows full tracebacks of all errors in Python, and of internal errors in rise",
)
CHECK = Setting(
    "check",
    "RISE_CHECK",
    "",
    "nan checks operations on floats, and reports the first operation that returns NaN or infinity",
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
    TUNING_DATABASE,
    GPU_TARGET,
    TEMPORARY_POOL,
    LOG_COMPILES,
    PROGRESS,
    DEBUG,
    CHECK,
)

FLOAT_PERMISSIONS = ("strict", "contract", "relaxed")
LIBRARIES = ("none", "blas")
EFFORTS = ("fast", "default", "max")
"""Plain loops and few LLVM passes; the usual LLVM passes; all LLVM optimizations."""


def num_threads() -> int:
    return _natural_value(NUM_THREADS) or available_cores()


def jobs() -> int:
    return _natural_value(JOBS) or available_cores()


def is_cache_enabled() -> bool:
    return _switch_value(CACHE)


def cache_folder() -> Path:
    """Return the folder of the kernel cache."""
    if folder := CACHE_DIR.value():
        return Path(folder)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or _home(), "riselang", "cache")
    if sys.platform == "darwin":
        return Path(_home(), "Library", "Caches", "riselang")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path(_home(), ".cache"), "riselang")


def cache_limit() -> int:
    """Return the maximum size of the kernel cache in bytes."""
    return _natural_value(CACHE_SIZE) << 20


def tuning_database() -> Path:
    """Return the file with tuned strategies."""
    path = TUNING_DATABASE.value()
    return Path(path) if path else cache_folder() / "tuning.sqlite"


def temporary_pool_bytes() -> int:
    """Return the maximum bytes of temporary buffers that stay allocated between calls."""
    return _natural_value(TEMPORARY_POOL) << 20


def log_compiles() -> bool:
    return _switch_value(LOG_COMPILES)


def progress_mode() -> str:
    """Return whether to show progress: auto, 1 or 0."""
    text = PROGRESS.value()
    if text not in ("auto", "0", "1"):
        raise UserError(f"{PROGRESS.variable} must be auto, 0 or 1, but is {text!r}")
    return text


def _home() -> str:
    return os.path.expanduser("~")


def _natural_value(setting: Setting) -> int:
    text = setting.value()
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UserError(f"{setting.variable} must be a natural number, but is {text!r}")
    return int(text)


def _switch_value(setting: Setting) -> bool:
    text = setting.value()
    if text not in ("0", "1"):
        raise UserError(f"{setting.variable} must be 0 or 1, but is {text!r}")
    return text == "1"


@dataclass(frozen=True)
class Options:
    """Options of the compiler."""

    loops: str = "scf"
    """The code that patterns become unless they specify it."""
    float: str = "strict"
    """The float permission."""
    debug_info: bool = False
    """Whether the code has line tables."""
    library: str = "none"
    """The library whose routines replace loops."""
    contracted: bool = False
    """Whether the contractions that `float` permits are already done: they are done once."""
    effort: str = "default"
    """How much compile time to spend on faster code."""
    checks_floats: bool = False
    """Whether operations report results that are NaN or infinite."""

    def with_changes(
        self,
        *,
        loops: str | None = None,
        float: str | None = None,
        debug_info: bool | None = None,
        library: str | None = None,
        contracted: bool | None = None,
        effort: str | None = None,
        device: str | None = None,
    ) -> Options:
        """Return options with the values that are not None replaced.

        A device is another way to select loops: "cuda" or "cuda:0" is a GPU. A library chooses its
        own order of summation, so requesting one permits reassociation; and only affine loops
        become library calls.
        """
        if device is not None:
            loops = loops_of_device(device, loops)
        if library == "blas":
            float = float or "relaxed"
            loops = loops or ("affine" if self.loops == "scf" else None)
        changes = {
            "loops": loops, "float": float, "debug_info": debug_info, "library": library,
            "contracted": contracted, "effort": effort,
        }  # fmt: skip
        options = replace(
            self, **{name: value for name, value in changes.items() if value is not None}
        )
        options.check()
        return options

    def check(self) -> None:
        """Raise an error for an invalid value or combination."""
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
                "choose their own order of summation"
            )


def loops_of_device(device: str, loops: str | None) -> str | None:
    """Return the loops for a device."""
    if device not in DEVICES:
        known = ", ".join(DEVICES)
        hint = ""
        if device.startswith("cuda:"):
            hint = "; to use another GPU, set CUDA_VISIBLE_DEVICES to its number"
        raise UserError(f"device must be one of {known}, but is {device!r}{hint}")
    is_gpu = device != "cpu"
    if loops is not None and (loops == GPU) != is_gpu:
        raise UserError(f"device={device!r} and loops={loops!r} exclude each other; pass one")
    return GPU if is_gpu else loops


DEVICES = ("cpu", "cuda", "cuda:0")


def default_options(loops: str) -> Options:
    """Return the options that the environment selects; `loops` is the default of `loops`."""
    options = Options(loops, FLOAT.value(), _switch_value(DEBUG_INFO), effort=EFFORT.value())
    options.check()
    return options
