"""Programs on the ranks of MPI: `mpiexec` starts processes, and `rise run --ranks` does, too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from riselang.tools.ranks import COMMAND, find_mpiexec

MPIEXEC = find_mpiexec()
ROOT = Path(__file__).parents[2]


def can_start_processes() -> bool:
    """Whether `mpiexec` works: that of Open MPI, which PATH may contain, starts none as root."""
    command = [MPIEXEC or "", "-n", "1", sys.executable, "-c", ""]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


pytestmark = [
    pytest.mark.skipif(MPIEXEC is None, reason="needs riselang[mpi]"),
    pytest.mark.skipif(
        MPIEXEC is not None and not can_start_processes(), reason="mpiexec starts no processes"
    ),
]

KILLED = """import os, signal
import riselang as rl

@rl.jit
def f(x: rl.Array["N", rl.f32]):
    {}
    return x | rl.map(lambda e: e * 2.0)
"""


def call(command: list[str]) -> subprocess.CompletedProcess[str]:
    paths = [str(ROOT / "src"), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def rise(*arguments: str) -> subprocess.CompletedProcess[str]:
    return call([sys.executable, "-c", COMMAND, *arguments])


NIGHTLY = [pytest.param(count, marks=pytest.mark.nightly) for count in (1, 3, 4)]


@pytest.mark.rotating(8)
@pytest.mark.parametrize("count", [2, *NIGHTLY])
def test_all_ranks_have_the_bits_of_the_interpreter(count: int) -> None:
    assert MPIEXEC is not None
    script = str(ROOT / "tests" / "support" / "rank_programs.py")
    ended = call([MPIEXEC, "-n", str(count), sys.executable, script])
    assert ended.returncode == 0, ended.stderr
    lines = [f"rank {each} agrees" for each in range(count)]
    # The ends of lines of several ranks may be mixed.
    assert sorted(re.findall(r"rank \d+ agrees", ended.stdout)) == lines


@pytest.mark.nightly
def test_the_first_rank_prints_the_results() -> None:
    dot = str(ROOT / "examples" / "programs" / "dot.rise")
    ended = rise("run", "--ranks", "2", dot, "[1, 2, 3]", "ones")
    assert (ended.stdout, ended.returncode) == ("6.0\n", 0), ended.stderr


@pytest.mark.nightly
def test_an_error_of_all_ranks_is_printed_once() -> None:
    dot = str(ROOT / "examples" / "programs" / "dot.rise")
    ended = rise("run", "--ranks", "2", dot, "ones")
    assert ended.returncode == 1
    assert ended.stderr.strip() == "error: dot takes 2 inputs (x, y), but got 1"


@pytest.mark.rotating(6)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "os.getenv('PMI_RANK') == '1' and os.kill(os.getpid(), signal.SIGKILL)",
            "error: rank 1 was killed by the signal SIGKILL; the other ranks were stopped",
        ),
        pytest.param(
            "if os.getenv('PMI_RANK') == '1': raise rl.UserError('no')", "rank 1",
            marks=pytest.mark.nightly,
        ),
    ],
)  # fmt: skip
def test_a_rank_that_fails_ends_the_run(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "killed.py"
    file.write_text(KILLED.format(line))
    # The first rank to end is named; on a loaded machine, its end may be noticed after that of a
    # rank that was stopped because of it.
    errors: list[str] = []
    while message not in "".join(errors) and len(errors) < 3:
        ended = rise("run", "--ranks", "3", str(file), "ones", "--size", "N=12")
        assert ended.returncode == 1
        errors.append(ended.stderr)
        assert "rank" in errors[-1]
    assert message in errors[-1]
