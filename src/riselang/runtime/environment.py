"""The environment that compiled code depends on: the compiler, its dependencies and the machine.

The compiler is identified by the contents of its files, not by their sizes and times: in
reproducible builds, all files of all versions have the same time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec

from riselang import start_time
from riselang.native.llvm.target import Target, tuning
from riselang.runtime.sealing import check_json_type
from riselang.runtime.stored_facts import read_fact, store_fact
from riselang.support.machine import boot_identity, cpu_description

PACKAGES = ("xdsl", "torch_mlir", "llvmlite")
"""The packages that machine code depends on."""
_IGNORED_FOLDERS = ("__pycache__",)


def fingerprint(*source: object) -> str:
    """Return the cache key of a source with its options, in this environment."""
    hashed = hashlib.sha256(f"{environment_text()}\n{tuning(host_target())}".encode())
    for part in source:
        text = str(part).encode()
        hashed.update(b"%d:" % len(text) + text)
    return hashed.hexdigest()


@cache
def environment_text() -> str:
    """Return a text that identifies the environment of this process."""
    target = host_target()
    return "\n".join([_compiler_text(), target.triple, target.cpu, target.features])


@cache
def _compiler_text() -> str:
    """Return a text that identifies the compiler and the packages that it uses."""
    parts = [f"{name} {hash_package(name)}" for name in PACKAGES]
    compiler = hash_compiler(os.path.dirname(start_time.__file__), start_time.START_TIME)
    return "\n".join([*parts, compiler])


@cache
def host_target() -> Target:
    """Return this machine as a target, as LLVM detects it.

    Importing LLVM takes longer than loading a kernel, so the target is stored in the kernel cache.
    It is found by the description of the CPU, and by the current boot of the system: a later boot
    may be on another CPU that Linux describes in the same way.
    """
    boot, cpu = boot_identity(), cpu_description()
    key = ("target", boot, cpu, _compiler_text())
    if boot and cpu:
        try:
            return Target(*(check_json_type(each, str) for each in read_fact(*key) or ()))
        except (TypeError, ValueError):
            pass  # It is missing or damaged.
    from riselang.native.llvm import codegen

    target = codegen.host()
    if boot and cpu:
        store_fact([target.triple, target.cpu, target.features], *key)
    return target


def hash_compiler(folder: str, start_time: int) -> str:
    """Return a hash of this package's files, which this process has imported since `start_time`.

    If a file has changed since then or cannot be read, it is unknown which code this process runs;
    then the hash is random, so no other process uses its cache entries.
    """
    content = hash_folder(folder, unchanged_since=start_time)
    return os.urandom(16).hex() if content is None else content


def hash_folder(folder: str, unchanged_since: int | None = None) -> str | None:
    """Return a hash of the names and contents of all files in a folder.

    None if it has no files, or if one has changed since a time in nanoseconds.
    """
    files = list(_files_below(folder))
    hashed = hashlib.sha256()
    for path in files:
        try:
            data, modified = _read(path)
        except OSError:
            return None
        if unchanged_since is not None and modified > unchanged_since:
            return None
        name = os.fsencode(path[len(folder) :])
        hashed.update(b"%d:%s%d:%s" % (len(name), name, len(data), data))
    return hashed.hexdigest() if files else None


def _read(path: str) -> tuple[bytes, int]:
    """Return a file's content and its ctime, which archives and build tools cannot set."""
    # Creating the objects of `open` takes as long as reading and hashing a source file.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(handle)
        data = os.read(handle, status.st_size + 1)
        while len(data) < status.st_size and (chunk := os.read(handle, status.st_size)):
            data += chunk
        return data, status.st_ctime_ns
    finally:
        os.close(handle)


def _files_below(folder: str) -> Iterator[str]:
    """Yield the files below a folder in order, without bytecode."""
    for directory, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _IGNORED_FOLDERS)
        for name in sorted(files):
            yield os.path.join(directory, name)


def hash_package(name: str) -> str:
    """Return a hash of a package: of its wheel's RECORD, else of all its files."""
    spec = find_spec(name)
    directories = list(spec.submodule_search_locations or ()) if spec is not None else []
    hashed = [_hash_wheel_record(directory) or hash_folder(directory) for directory in directories]
    return " ".join(each or "unknown" for each in hashed) or "missing"


def _hash_wheel_record(directory: str) -> str | None:
    """Return a hash of the file hashes in the RECORD of a package's wheel.

    None if the package was not installed from a wheel into this folder.
    """
    site, name = os.path.split(directory)
    # Only files of the package: scripts contain the environment's path, and bytecode has no hash.
    pattern = re.compile(rb"^%s/.*,sha256=.*$" % re.escape(name.encode()), re.MULTILINE)
    lines: list[bytes] = []
    for info in _dist_info_folders(site, f"{name}-"):
        with contextlib.suppress(OSError):
            lines += pattern.findall(_read(os.path.join(site, info, "RECORD"))[0])
    return hashlib.sha256(b"\n".join(sorted(lines))).hexdigest() if lines else None


def _dist_info_folders(folder: str, start: str) -> Sequence[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return ()
    return sorted(each for each in names if each.startswith(start) and each.endswith(".dist-info"))
