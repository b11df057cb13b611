"""The checks of `rise doctor`. To add one, write a function and add it to `CHECKS`."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from typing import Any

from riselang.support import config
from riselang.support.cores import available_cores
from riselang.support.counts import format_count
from riselang.support.errors import RiseError, UserError
from riselang.support.machine import cache_sizes, read_measurement
from riselang.support.spelling import closest_name
from riselang.tools.doctor_findings import Check, Finding, State, format_caches
from riselang.tools.machine_info import PACKAGES, cpu_name, package_version
from riselang.version import __version__

INSTALL = "install riselang again: pip install --upgrade --force-reinstall riselang"
PROBE = "probe"
"""The key of a cache entry that `rise doctor` writes and removes."""
BLAS_PATH = f"set {config.BLAS.variable} to the path of a library with the CBLAS interface"


def packages() -> Iterator[Finding]:
    """Check the versions of the packages that riselang requires."""
    yield Finding("riselang", State.OK, __version__)
    yield Finding("Python", State.OK, platform.python_version())
    wanted = _pinned_versions()
    for name, package in PACKAGES.items():
        version = package_version(package)
        if version is None:
            yield Finding(name, State.BROKEN, f"{package} is not installed", INSTALL)
        elif wanted.get(package, version) != version:
            detail = f"{package} is {version}, but {wanted[package]} is needed"
            yield Finding(name, State.BROKEN, detail, INSTALL)
        else:
            yield Finding(name, State.OK, version)


def _pinned_versions() -> Mapping[str, str]:
    """Return the versions of the packages that riselang pins."""
    try:
        required = metadata.requires("riselang") or []
    except metadata.PackageNotFoundError:  # not installed, but run from source
        return {}
    found = (re.fullmatch(r"([\w-]+)==([\w.]+)", text) for text in required)
    return {match[1]: match[2] for match in found if match is not None}


def llvm_library() -> Iterator[Finding]:
    from riselang.native.llvm import codegen as llvm

    yield Finding("LLVM", State.OK, llvm.version())


def machine() -> Iterator[Finding]:
    """Report the CPU, and the features that LLVM uses."""
    from riselang.native.llvm import codegen as llvm

    host = llvm.host()
    used = [text[1:] for text in host.features.split(",") if text.startswith("+")]
    names = dict.fromkeys((cpu_name(), host.cpu, host.triple))  # each once
    yield Finding("CPU", State.OK, ", ".join(names))
    yield Finding("features", State.OK, " ".join(used) or "none")
    origin = "the system" if read_measurement() is None else "`rise doctor --measure`"
    caches = format_caches(cache_sizes())
    yield Finding("caches", State.OK, f"{caches}, according to {origin}")


def threads() -> Iterator[Finding]:
    asked = config.num_threads()
    detail = f"{asked} on {format_count(available_cores(), 'core')}"
    if asked > available_cores():
        advice = f"set {config.NUM_THREADS.variable} to at most {available_cores()}"
        yield Finding("threads", State.NOTE, f"{detail}: more threads than cores", advice)
    else:
        yield Finding("threads", State.OK, detail)


def blas() -> Iterator[Finding]:
    """Report the library for `library="blas"`, and the one that NumPy uses."""
    import numpy as np

    from riselang.native.llvm import shared_libraries as libraries

    built: Any = np.show_config(mode="dicts")
    found = built["Build Dependencies"]["blas"]
    yield Finding("NumPy BLAS", State.OK, f"{found['name']} {found['version']}")
    path = libraries.find_blas()
    if path is None:
        detail = f'{config.BLAS.value()}, which library="blas" needs, is not found'
        yield Finding("BLAS", State.NOTE, detail, f"pip install 'riselang[blas]', or {BLAS_PATH}")
    else:
        yield Finding("BLAS", State.OK, path)


def gpu() -> Iterator[Finding]:
    """Report the GPU that `loops="gpu"` uses."""
    from riselang.native import cuda

    try:
        yield Finding("GPU", State.OK, cuda.driver().name)
    except RiseError as error:
        detail = f'none for loops="gpu": {error.message.partition(";")[0]}'
        yield Finding("GPU", State.OK, detail)


def kernel_cache() -> Iterator[Finding]:
    """Check that the folder of the kernel cache can be written."""
    from riselang.runtime.cache import KernelCache

    kept = KernelCache(config.cache_folder(), config.cache_limit())
    if not config.is_cache_enabled():
        yield Finding("kernel cache", State.NOTE, "off", f"unset {config.CACHE.variable}")
        return
    entries = kept.entries()
    size = sum(entry.size for entry in entries)
    detail = f"{format_count(len(entries), 'entry', 'entries')}, {size:,} bytes in {kept.folder}"
    if kept.write(PROBE, b"") and kept.read(PROBE) is not None and kept.remove(PROBE):
        yield Finding("kernel cache", State.OK, detail)
    else:
        advice = f"set {config.CACHE_DIR.variable} to a folder that you own and can write to"
        yield Finding("kernel cache", State.NOTE, f"{detail}, which cannot be written", advice)


def settings() -> Iterator[Finding]:
    """Report every setting with the origin of its value, and unknown `RISE_*` variables."""
    for setting in config.SETTINGS:
        is_given = bool(os.environ.get(setting.variable))
        origin = "environment" if is_given else "default"
        detail = f"{setting.value() or '(empty)'}, from the {origin}: {setting.summary}"
        problem = _setting_problem(setting)
        if problem:
            advice = f"unset {setting.variable}, or set it to a valid value"
            yield Finding(setting.variable, State.BROKEN, problem, advice)
        else:
            yield Finding(setting.variable, State.OK, detail)
    known = [setting.variable for setting in config.SETTINGS]
    for variable in sorted(os.environ):
        if variable.startswith("RISE_") and variable not in known:
            suggestion = closest_name(variable, known)
            advice = f"did you mean {suggestion}?" if suggestion else f"known: {', '.join(known)}"
            yield Finding(variable, State.NOTE, "no setting has this name", advice)


_READERS: Mapping[config.Setting, Callable[[], object]] = {
    config.NUM_THREADS: config.num_threads,
    config.FLOAT: lambda: config.default_options("affine"),
    config.DEBUG_INFO: lambda: config.default_options("affine"),
    config.JOBS: config.jobs,
    config.CACHE: config.is_cache_enabled,
    config.CACHE_SIZE: config.cache_limit,
    config.LOG_COMPILES: config.log_compiles,
}
"""The functions that read a setting and reject invalid values."""


def _setting_problem(setting: config.Setting) -> str | None:
    try:
        _READERS.get(setting, setting.value)()
    except UserError as error:
        return error.message
    return None


CHECKS: tuple[Check, ...] = (
    packages, llvm_library, machine, threads, blas, gpu, kernel_cache, settings,
)  # fmt: skip
