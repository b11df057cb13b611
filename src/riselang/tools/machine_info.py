"""A description of this machine, and the versions of riselang and its dependencies."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

from riselang.support.cores import available_cores
from riselang.version import __version__

PACKAGES: Mapping[str, str] = {
    "numpy": "numpy",
    "xdsl": "xdsl",
    "MLIR": "torch-mlir",
    "llvmlite": "llvmlite",
}
"""The packages that riselang requires, by display name."""


def package_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def package_versions() -> dict[str, str]:
    """Return versions by name; `missing` for a package that is not installed."""
    versions = {name: package_version(package) or "missing" for name, package in PACKAGES.items()}
    return {"riselang": __version__, "Python": platform.python_version(), **versions}


@cache
def describe_machine() -> dict[str, str]:
    """Return the properties that identify a machine in benchmark reports."""
    return {
        "processor": cpu_name(),
        "cores": str(available_cores()),
        "system": f"{platform.system()} {platform.machine()}",
    }


def cpu_name() -> str:
    """Return the CPU's model name if the system reports it, else LLVM's name for it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    if names:
        return names[0]
    from riselang.native.llvm import codegen as llvm

    return llvm.host().cpu
