"""`rise run --ranks 4`: start ranks with mpiexec, and report the rank that failed.

The command runs itself on each rank. A rank writes what happened to it to a file of a temporary
directory, and the first process prints the error of the rank that failed first.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from riselang.ranks.transport import load_mpi
from riselang.support.config import NUM_THREADS
from riselang.support.cores import available_cores
from riselang.support.errors import RiseError, UserError
from riselang.support.io import write_file
from riselang.tools.options import compiler_choices

STATUS = "RISE_RANK_STATUS"
"""The environment variable with the directory of the files of the ranks."""
COMMAND = "from rise_commands import rise; rise()"
_BANNER = "\n====="
_EXIT_CODE = re.compile(r"EXIT CODE: (?P<code>\d+)")


def parse_ranks(text: str) -> tuple[int, ...]:
    """Parse a number of ranks, or the sizes of a mesh: 4 or 2x2."""
    sizes = text.split("x")
    if not all(size.isdecimal() and int(size) for size in sizes):
        raise argparse.ArgumentTypeError(
            f"expected a number of ranks or the sizes of a mesh, as in 4 or 2x2, but found {text!r}"
        )
    return tuple(map(int, sizes))


def run_on_ranks(options: argparse.Namespace) -> None:
    """Run a program on ranks; print its results on the first one."""
    if STATUS in os.environ:
        _run_rank(options)
        return
    if options.file == "-":
        raise UserError("--ranks needs a file: the ranks cannot all read the standard input")
    mpiexec = find_mpiexec()
    if mpiexec is None:
        print(
            'MPI is not installed (pip install "riselang[mpi]"); the ranks are emulated in one '
            "process",
            file=sys.stderr,
        )
        _call(options)
        return
    _start(mpiexec, options)


def find_mpiexec() -> str | None:
    """Return the command that starts ranks; None if MPI is not installed."""
    if find_spec("mpi4py") is None:
        return None
    return shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")


def _start(mpiexec: str, options: argparse.Namespace) -> None:
    count = 1
    for size in options.ranks:
        count *= size
    threads = max(1, available_cores() // count)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as status:
        started = subprocess.run(
            [mpiexec, "-n", str(count), sys.executable, "-c", COMMAND, *sys.argv[1:]],
            env={NUM_THREADS.variable: str(threads), **os.environ, STATUS: status},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        # On failure, mpiexec describes it in its output, after that of the program.
        print(started.stdout.partition(_BANNER)[0], end="")
        if started.returncode != 0:
            output = started.stdout + started.stderr
            raise UserError(_describe_failure(Path(status), output, count))
        print(started.stderr, end="", file=sys.stderr)


def _describe_failure(status: Path, output: str, count: int) -> str:
    """Describe why ranks ended: an error that all have, an error of one, or a signal."""
    errors = {rank: status / f"{rank}.error" for rank in range(count)}
    texts = {rank: file.read_text() for rank, file in errors.items() if file.exists()}
    if texts:
        rank, text = next(iter(texts.items()))
        return text if rank == 0 and set(texts.values()) == {text} else f"rank {rank}: {text}"
    found = _EXIT_CODE.search(output)
    if found is None:
        return f"the ranks could not be started:\n{output.strip()}"
    ends = [
        (int(file.read_text()), rank)
        for rank in range(count)
        if (file := status / f"{rank}.end").exists()
    ]
    name = f"rank {min(ends)[1]}" if ends else "a rank"
    return f"{name} {_describe_exit(int(found['code']))}; the other ranks were stopped"


def _describe_exit(code: int) -> str:
    try:
        return f"was killed by the signal {signal.Signals(code).name}"
    except ValueError:
        return f"ended with the exit code {code}"


def _run_rank(options: argparse.Namespace) -> None:
    """Run the program on the rank of this process."""
    rank, directory = int(os.environ["PMI_RANK"]), Path(os.environ[STATUS])
    _record_end(directory / f"{rank}.end")
    communicator = load_mpi().COMM_WORLD
    if rank:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        _call(options)
    except Exception as error:
        is_expected = isinstance(error, RiseError)
        text = str(error) if is_expected else f"{type(error).__name__}: {error}"
        write_file(directory / f"{rank}.error", text.removeprefix("error: "))
        # Usually, all ranks have the same error, which is then printed without a rank.
        deadline = time.monotonic() + 0.5
        while not (directory / "0.error").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        communicator.Abort(1)


def _record_end(file: Path) -> None:
    """Start a process that writes the time at which this one ends.

    If a rank ends, mpiexec ends the others; so the first one to end is the one that failed.
    """
    reader, _ = os.pipe()
    if os.fork():
        os.close(reader)
        return
    os.setsid()
    os.closerange(0, reader)
    os.closerange(reader + 1, os.sysconf("SC_OPEN_MAX"))
    os.read(reader, 1)
    with suppress(OSError):
        file.write_text(str(time.monotonic_ns()))
    os._exit(0)


def _call(options: argparse.Namespace) -> None:
    from riselang.api.ranks import ROOT, distribute
    from riselang.tools.calls import exact_text, kernel_inputs
    from riselang.tools.source_files import KernelFile, read_source

    source = read_source(options.file, compiler_choices(options), options.backend)
    if not isinstance(source, KernelFile):
        raise UserError("--ranks accepts .rise and .py files, but not MLIR")
    kernel = source.kernel(options.function)
    arrays, _ = kernel_inputs(kernel, options.inputs, options.size)
    result: Any = distribute(kernel, ranks=options.ranks, results=ROOT)(*arrays)
    if result is not None:
        print(exact_text(result))
