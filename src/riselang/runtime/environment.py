"""What compiled code depends on besides its source: the compiler, its parts and the machine."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from riselang import config
from riselang.native import llvm

PARTS = ("xdsl", "torch-mlir", "llvmlite")


def fingerprint(*source: object) -> str:
    """The key of what is compiled from a source with its options, in this environment."""
    hashed = hashlib.sha256(environment().encode())
    for part in source:
        text = str(part).encode()
        hashed.update(b"%d:" % len(text) + text)
    return hashed.hexdigest()


@cache
def environment() -> str:
    """One text for all that code of this process depends on."""
    target = llvm.host()
    parts = [f"{name} {_version(name)}" for name in PARTS]
    return "\n".join([*parts, target.triple, target.cpu, target.features, *_sources()])


def _version(name: str) -> str:
    """The version of a package, by the folder that says so; importlib takes long to find out."""
    start = f"{name.replace('-', '_')}-"
    for folder in sys.path:
        for entry in _entries(folder):
            if entry.startswith(start) and entry.endswith(_INFO):
                return entry[len(start) : -len(_INFO)]
    return _version_by_metadata(name)


_INFO = ".dist-info"


@cache
def _entries(folder: str) -> tuple[str, ...]:
    try:
        return tuple(each for each in os.listdir(folder or ".") if each.endswith(_INFO))
    except OSError:
        return ()


def _version_by_metadata(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def _sources() -> Iterator[str]:
    """The files of this package: whoever works on the compiler must not get yesterday's code."""
    root = Path(config.__file__).parent
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            if name.endswith((".py", ".lark", ".json")):
                status = os.stat(os.path.join(folder, name))
                yield f"{folder[len(str(root)) :]}/{name} {status.st_size} {status.st_mtime_ns}"
