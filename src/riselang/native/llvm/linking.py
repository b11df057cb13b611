"""Links an object file to a shared library, with any C compiler that is found."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from riselang.support.errors import UserError


def find_c_compiler() -> list[str] | None:
    """Return the command of a C compiler: `CC`, the system's, or that of the wheel `ziglang`."""
    if command := os.environ.get("CC"):
        return shlex.split(command)
    for name in ("cc", "gcc", "clang"):
        if path := shutil.which(name):
            return [path]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    return None


def link_shared_library(code: bytes, libraries: Sequence[str] = ()) -> bytes:
    """Link an object file with libraries to a shared library, and return its contents."""
    compiler = find_c_compiler()
    if compiler is None:
        raise UserError(
            "linking a shared library needs a C compiler, and none is found; install one, set "
            "CC, or pip install ziglang"
        )
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "kernels.o"), Path(folder, "kernels.so")
        source.write_bytes(code)
        paths = [part for path in libraries for part in _link_options(path)]
        command = [*compiler, "-shared", "-o", str(target), str(source), *paths]
        _run_command([*command, "-lm", "-pthread"])
        return target.read_bytes()


def _link_options(library: str) -> list[str]:
    """Return the options for a library, which is a path or a name that the linker finds."""
    if os.sep not in library:
        return [f"-l:{library}"]
    return [library, f"-Wl,-rpath,{Path(library).parent}"]


def _run_command(command: Sequence[str]) -> None:
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise UserError(f"{command[0]} cannot be run: {error.strerror}") from None
    if process.returncode != 0:
        reason = (process.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise UserError(f"{shlex.join(command[:2])} cannot link the library: {reason}")
