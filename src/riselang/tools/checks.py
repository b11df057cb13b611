"""What `rise doctor` looks at. One more check is one more function, and its name in `CHECKS`."""

from __future__ import annotations

import difflib
import os
import platform
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from typing import Any

from riselang.support import config
from riselang.support.errors import RiseError, UserError
from riselang.support.machine import available_cores
from riselang.tools.findings import Check, Finding, State
from riselang.tools.machine import PACKAGES, package_version, processor
from riselang.version import __version__

INSTALL = "install riselang again: pip install --upgrade --force-reinstall riselang"
PROBE = "probe"
"""The key of an entry that the doctor writes and removes."""
BLAS_PATH = f"set {config.BLAS.variable} to the path of one with the CBLAS interface"
THREADS = "pip install 'riselang[threads]', or on ARM: pip install --no-deps pyomp"


def packages() -> Iterator[Finding]:
    """Versions, and whether they are those that riselang was made for."""
    yield Finding("riselang", State.OK, __version__)
    yield Finding("Python", State.OK, platform.python_version())
    wanted = _pinned()
    for name, package in PACKAGES.items():
        version = package_version(package)
        if version is None:
            yield Finding(name, State.BROKEN, f"{package} is not installed", INSTALL)
        elif wanted.get(package, version) != version:
            detail = f"{package} is {version}, but {wanted[package]} is needed"
            yield Finding(name, State.BROKEN, detail, INSTALL)
        else:
            yield Finding(name, State.OK, version)


def _pinned() -> Mapping[str, str]:
    """The packages that riselang needs in just one version."""
    try:
        required = metadata.requires("riselang") or []
    except metadata.PackageNotFoundError:  # run from its sources
        return {}
    found = (re.fullmatch(r"([\w-]+)==([\w.]+)", text) for text in required)
    return {match[1]: match[2] for match in found if match is not None}


def llvm_library() -> Iterator[Finding]:
    from riselang.native.llvm import codegen as llvm

    yield Finding("LLVM", State.OK, llvm.version())


def machine() -> Iterator[Finding]:
    """The processor, and what of it LLVM uses."""
    from riselang.native.llvm import codegen as llvm

    host = llvm.host()
    used = [text[1:] for text in host.features.split(",") if text.startswith("+")]
    names = dict.fromkeys((processor(), host.cpu, host.triple))  # each once
    yield Finding("processor", State.OK, ", ".join(names))
    yield Finding("features", State.OK, " ".join(used) or "none")


def threads() -> Iterator[Finding]:
    asked = config.num_threads()
    detail = f"{asked} on {available_cores()} cores"
    if asked > available_cores():
        advice = f"set {config.NUM_THREADS.variable} to at most {available_cores()}"
        yield Finding("threads", State.NOTE, f"{detail}: they take turns", advice)
    else:
        yield Finding("threads", State.OK, detail)


def openmp() -> Iterator[Finding]:
    from riselang.native.llvm import shared_libraries as libraries

    path = libraries.openmp()
    if path is None:
        detail = "no runtime with LLVM's entry points; mapPar runs on one thread"
        yield Finding("OpenMP", State.NOTE, detail, THREADS)
    else:
        yield Finding("OpenMP", State.OK, path)


def blas() -> Iterator[Finding]:
    """The library for `library="blas"`, and the one that numpy multiplies matrices with."""
    import numpy as np

    from riselang.native.llvm import shared_libraries as libraries

    built: Any = np.show_config(mode="dicts")
    found = built["Build Dependencies"]["blas"]
    yield Finding("BLAS of numpy", State.OK, f"{found['name']} {found['version']}")
    path = libraries.blas()
    if path is None:
        detail = f'{config.BLAS.value()} is not found, which library="blas" asks for'
        yield Finding("BLAS", State.NOTE, detail, f"pip install 'riselang[blas]', or {BLAS_PATH}")
    else:
        yield Finding("BLAS", State.OK, path)


def gpu() -> Iterator[Finding]:
    """What `loops="gpu"` runs on."""
    from riselang.native import cuda

    try:
        yield Finding("GPU", State.OK, cuda.driver().name)
    except RiseError as error:
        detail = f'none for loops="gpu": {error.message.partition(";")[0]}'
        yield Finding("GPU", State.OK, detail)


def kernel_cache() -> Iterator[Finding]:
    """Where compiled kernels are kept, and whether they can be."""
    from riselang.runtime.cache import KernelCache

    kept = KernelCache(config.cache_folder(), config.cache_limit())
    if not config.cache():
        yield Finding("kernel cache", State.NOTE, "off", f"unset {config.CACHE.variable}")
        return
    entries = kept.entries()
    size = sum(entry.size for entry in entries)
    detail = f"{len(entries)} entries, {size:,} bytes in {kept.folder}"
    if kept.write(PROBE, b"") and kept.read(PROBE) is not None and kept.remove(PROBE):
        yield Finding("kernel cache", State.OK, detail)
    else:
        advice = f"set {config.CACHE_DIR.variable} to a folder of yours that can be written"
        yield Finding("kernel cache", State.NOTE, f"{detail}, which cannot be written", advice)


def settings() -> Iterator[Finding]:
    """Every setting and where its value comes from; and variables that are none."""
    for setting in config.SETTINGS:
        is_given = bool(os.environ.get(setting.variable))
        origin = "environment" if is_given else "default"
        detail = f"{setting.value() or '(empty)'}, from the {origin}: {setting.summary}"
        problem = _problem(setting)
        if problem:
            advice = f"unset {setting.variable}, or give it another value"
            yield Finding(setting.variable, State.BROKEN, problem, advice)
        else:
            yield Finding(setting.variable, State.OK, detail)
    known = [setting.variable for setting in config.SETTINGS]
    for variable in sorted(os.environ):
        if variable.startswith("RISE_") and variable not in known:
            close = difflib.get_close_matches(variable, known, 1)
            advice = f"do you mean {close[0]}?" if close else f"there are {', '.join(known)}"
            yield Finding(variable, State.NOTE, "no setting has this name", advice)


_READERS: Mapping[config.Setting, Callable[[], object]] = {
    config.NUM_THREADS: config.num_threads,
    config.FLOAT: lambda: config.default_options("affine"),
    config.DEBUG_INFO: lambda: config.default_options("affine"),
    config.JOBS: config.jobs,
    config.CACHE: config.cache,
    config.CACHE_SIZE: config.cache_limit,
    config.LOG_COMPILES: config.log_compiles,
}
"""What reads a setting, and refuses values that it cannot have."""


def _problem(setting: config.Setting) -> str | None:
    try:
        _READERS.get(setting, setting.value)()
    except UserError as error:
        return error.message
    return None


CHECKS: tuple[Check, ...] = (
    packages, llvm_library, machine, threads, openmp, blas, gpu, kernel_cache, settings,
)  # fmt: skip
