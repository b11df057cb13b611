"""What machine this is, and the versions of what does the work."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

from riselang.support.machine import available_cores
from riselang.version import __version__

PACKAGES: Mapping[str, str] = {
    "numpy": "numpy",
    "xdsl": "xdsl",
    "MLIR": "torch-mlir",
    "llvmlite": "llvmlite",
}
"""Packages that riselang cannot do without, by what we call them."""


def package_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def versions() -> dict[str, str]:
    """Versions by name; `missing` for a package that is not installed."""
    found = {name: package_version(package) or "missing" for name, package in PACKAGES.items()}
    return {"riselang": __version__, "Python": platform.python_version(), **found}


@cache
def machine() -> dict[str, str]:
    """A machine is the same for a benchmark if all of this is."""
    return {
        "processor": processor(),
        "cores": str(available_cores()),
        "system": f"{platform.system()} {platform.machine()}",
    }


def processor() -> str:
    """The processor by the name that its maker gives, where the system tells, else as LLVM says."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    if names:
        return names[0]
    from riselang.native.llvm import codegen as llvm

    return llvm.host().cpu
