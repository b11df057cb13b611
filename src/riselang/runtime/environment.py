"""What compiled code depends on besides its source: the compiler, its parts and the machine.

The compiler is known by the content of its files, not by their sizes and times: in images and
stores that are built reproducibly, all files of all versions have the same time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec

from riselang import started
from riselang.native.llvm import codegen as llvm

PARTS = ("xdsl", "torch_mlir", "llvmlite")
"""The packages that machine code depends on."""
_NOT_CONTENT = ("__pycache__",)


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
    parts = [f"{name} {part_content(name)}" for name in PARTS]
    compiler = compiler_content(os.path.dirname(started.__file__), started.STARTED)
    return "\n".join([*parts, target.triple, target.cpu, target.features, compiler])


def compiler_content(folder: str, started: int) -> str:
    """A hash of this package's files, which were read into this process after `started`.

    What a process runs that was started before the files were changed, or whose files cannot be
    read, is not known: its code is for no other process.
    """
    content = folder_content(folder, unchanged_since=started)
    return os.urandom(16).hex() if content is None else content


def folder_content(folder: str, unchanged_since: int | None = None) -> str | None:
    """A hash of the names and contents of all files in a folder.

    None where it has none, or where one has changed since a time, in nanoseconds.
    """
    files = list(_files(folder))
    hashed = hashlib.sha256()
    for path in files:
        try:
            data, changed = _read(path)
        except OSError:
            return None
        if unchanged_since is not None and changed > unchanged_since:
            return None
        name = os.fsencode(path[len(folder) :])
        hashed.update(b"%d:%s%d:%s" % (len(name), name, len(data), data))
    return hashed.hexdigest() if files else None


def _read(path: str) -> tuple[bytes, int]:
    """The content of a file, and the last change to its inode, which no archive or build sets."""
    # Without the objects that `open` makes, which take as long as to read and hash a source file.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(handle)
        data = os.read(handle, status.st_size + 1)
        while len(data) < status.st_size and (more := os.read(handle, status.st_size)):
            data += more
        return data, status.st_ctime_ns
    finally:
        os.close(handle)


def _files(folder: str) -> Iterator[str]:
    """The files below a folder, in order, without bytecode."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _NOT_CONTENT)
        for name in sorted(files):
            yield os.path.join(place, name)


def part_content(name: str) -> str:
    """A hash of a package: of what its wheel recorded, else of all its files."""
    spec = find_spec(name)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    hashed = [_recorded(place) or folder_content(place) for place in places]
    return " ".join(each or "unknown" for each in hashed) or "missing"


def _recorded(place: str) -> str | None:
    """A hash of what the wheel of a package says of its files: a hash of each.

    None for a package that was not installed from a wheel into this folder.
    """
    site, name = os.path.split(place)
    # Scripts have the path of the environment in them, and bytecode has no hash.
    pattern = re.compile(rb"^%s/.*,sha256=.*$" % re.escape(name.encode()), re.MULTILINE)
    lines: list[bytes] = []
    for info in _infos(site, f"{name}-"):
        with contextlib.suppress(OSError):
            lines += pattern.findall(_read(os.path.join(site, info, "RECORD"))[0])
    return hashlib.sha256(b"\n".join(sorted(lines))).hexdigest() if lines else None


def _infos(folder: str, start: str) -> Sequence[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return ()
    return sorted(each for each in names if each.startswith(start) and each.endswith(".dist-info"))
